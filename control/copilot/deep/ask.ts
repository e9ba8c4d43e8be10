import { DateTime } from 'luxon'
import type { Static } from 'typebox'
import { factsOf } from '../../assistants/offline/knowledge.ts'
import { knowledgeAnswer } from '../../assistants/offline/knowledge-answer.ts'
import { partsOf } from '../../assistants/offline/question.ts'
import { isProblem, type Problem } from '../../http/errors.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import type { Passage, Path } from '../fast/state.ts'
import type { answerSchema } from '../sessions/command-schema.ts'
import { type CommandParts, redactedText, usableSession } from '../sessions/commands.ts'
import { passagesOn } from '../sessions/knowledge.ts'
import { apply, sessionMs, settingsOfSession } from '../sessions/records.ts'
import { type ModelParts, phrasedAnswer } from './answer.ts'

type CopilotAnswer = Static<typeof answerSchema>

export interface AskParts extends CommandParts, ModelParts {
  search: PassageSearch
}

interface Found {
  question: string
  answer: string | null
  path: Path
  passages: Passage[]
}

/**
 * Answers an agent's question from the profile's documents, with the sources, also on the desktop. A model phrases the answer, if there is
 * one. It is asked between two transactions, so that no transaction waits for it.
 */
export async function ask(
  parts: AskParts,
  tenant: Tenant,
  id: string,
  asked: string,
  transaction: <T>(run: (trx: Trx) => Promise<T>) => Promise<T>,
): Promise<CopilotAnswer | Problem> {
  const found = await find(parts, tenant, id, asked)
  if (isProblem(found)) return found
  return transaction(trx => tell(parts, trx, tenant, id, found))
}

async function find(parts: AskParts, tenant: Tenant, id: string, asked: string): Promise<Found | Problem> {
  const { db } = parts.store
  const row = await usableSession(db, tenant, id)
  if (isProblem(row)) return row
  const settings = settingsOfSession(row)
  const question = await redactedText(db, tenant, asked)
  const passages = await passagesOn(parts.search, db, tenant, settings, question, 1)
  const about = { sessionId: id, tenant, nowMs: sessionMs(db, row, parts.now()) }
  const phrased = await phrasedAnswer(parts, about, settings, question, passages)
  const answer = phrased ?? answerFrom(question, passages, parts.now())
  return { question, answer, path: phrased === null ? 'fast' : 'deep', passages }
}

async function tell(
  parts: AskParts,
  trx: Trx,
  tenant: Tenant,
  id: string,
  { question, answer, path, passages }: Found,
): Promise<CopilotAnswer | Problem> {
  // A card payment may have begun meanwhile, or the call may be over.
  const row = await usableSession(trx, tenant, id)
  if (isProblem(row)) return row
  const sources = passages.map(source => ({
    document_id: source.documentId,
    passage_id: source.id,
    text: source.text,
    score: source.score,
  }))
  const body = { question, answer, sources }
  await apply(parts, trx, row, [{ kind: 'asked', atMs: sessionMs(trx, row, parts.now()), path, body }])
  const { livemode } = tenant
  return { object: 'copilot_answer', livemode, session_id: id, question, answer, path, sources }
}

/** The sentences that answer the question; if none is found, the passage with most of its words. */
function answerFrom(question: string, passages: readonly Passage[], now: Date): string | null {
  const [best] = passages
  if (best === undefined) return null
  const facts = factsOf(passages.map(({ text }) => text))
  for (const part of partsOf(question)) {
    const found = knowledgeAnswer(part, facts, DateTime.fromJSDate(now, { zone: 'utc' }))
    if (found !== null) return found
  }
  return best.score >= 0.5 ? best.text : null
}
