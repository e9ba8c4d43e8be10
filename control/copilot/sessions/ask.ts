import { DateTime } from 'luxon'
import type { Static } from 'typebox'
import { factsOf } from '../../assistants/offline/knowledge.ts'
import { knowledgeAnswer } from '../../assistants/offline/knowledge-answer.ts'
import { partsOf } from '../../assistants/offline/question.ts'
import { isProblem, type Problem } from '../../http/errors.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import type { Passage } from '../fast/state.ts'
import type { answerSchema } from './command-schema.ts'
import { type CommandParts, redactedText, usableSession } from './commands.ts'
import { passagesOn } from './knowledge.ts'
import { apply, sessionMs, settingsOfSession } from './records.ts'

export type CopilotAnswer = Static<typeof answerSchema>

/** What the profile's documents say to a question of the agent's, with its source; the desktop is told as well. */
export async function ask(
  parts: CommandParts & { search: PassageSearch },
  trx: Trx,
  tenant: Tenant,
  id: string,
  asked: string,
): Promise<CopilotAnswer | Problem> {
  const row = await usableSession(trx, tenant, id)
  if (isProblem(row)) return row
  const settings = settingsOfSession(row)
  const question = await redactedText(trx, tenant, asked)
  const passages = await passagesOn(parts.search, trx, tenant, settings, question, 1)
  const answer = answerFrom(question, passages, parts.now())
  const sources = passages.map(source => ({
    document_id: source.documentId,
    passage_id: source.id,
    text: source.text,
    score: source.score,
  }))
  const body = { question, answer, sources }
  await apply(parts, trx, row, [{ kind: 'asked', atMs: sessionMs(row, parts.now()), path: 'fast', body }])
  const { livemode } = tenant
  return { object: 'copilot_answer', livemode, session_id: id, question, answer, path: 'fast', sources }
}

/** The sentences that answer it; where none is known to, the passage that has most of its words. */
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
