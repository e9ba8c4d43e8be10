import Type, { type Static } from 'typebox'
import { cutTo } from '../../../media/protocol.ts'
import { input, nullable } from '../../kernel/schema.ts'
import { type AskOptions, ask } from '../../models/ask.ts'
import { type ChatModel, isModelFailure, type ModelFailure } from '../../models/model.ts'
import type { Disposition } from '../../organisation/quality.ts'
import { evidenceOf } from '../analysis/compliance.ts'
import type { Conversation } from '../analysis/conversation.ts'
import { CALL_IS_DATA, linesNamed, promptOf } from '../analysis/prompt.ts'
import { MAX_TEXT, type SummaryContent } from './schema.ts'

/** Long, since the call has ended and nobody waits for it [ms]. */
const TIMEOUT_MS = 90_000
const MAX_ITEMS = 10

const nullableText = (description: string) => nullable(Type.String({ description }))
const written = input({
  reason: nullableText('Why the customer called, in one sentence.'),
  outcome: nullableText('What came of it, in one sentence.'),
  next_steps: Type.Array(Type.String(), { description: 'Who does what, by when.' }),
  topics: Type.Array(Type.String(), { description: 'What it was about: one to three words each, in lower case.' }),
  fields: Type.Array(input({ key: Type.String(), value: Type.String() }), {
    description: 'Details that the customer has given.',
  }),
  disposition: Type.Union([Type.String(), Type.Null()], { description: 'The key of how it ended.' }),
  lines: Type.Array(Type.Integer(), { description: 'Numbers of the lines that this is taken from.' }),
})

/** A summary by a model. Anything beyond the request is dropped: unknown keys, lines that do not exist. */
export async function writtenSummary(
  models: readonly ChatModel[],
  conversation: Conversation,
  given: {
    dispositions: readonly Disposition[]
    extracted: SummaryContent
    signal: AbortSignal
    paid: AskOptions['paid'] & object
  },
): Promise<SummaryContent | ModelFailure> {
  const answer = await ask(
    models,
    {
      name: 'call_summary',
      schema: written,
      instructions: instructionsOf(conversation, given.dispositions),
      messages: [{ role: 'customer', text: promptOf(conversation) }],
    },
    { signal: given.signal, timeoutMs: TIMEOUT_MS, paid: given.paid },
  )
  if (isModelFailure(answer)) return answer
  if (answer.value === null) return { failure: 'bad_answer', message: 'the model does not keep to the schema' }
  return contentOf(answer.value, conversation, given)
}

function instructionsOf({ profile, language }: Conversation, dispositions: readonly Disposition[]): string {
  const keys = (items: readonly { key: string; label: string }[]): string =>
    items.map(({ key, label }) => `${key}: ${label}`).join('\n')
  const fields = profile?.settings.fields ?? []
  return [
    'You sum up a call between a customer and an agent for those who work on it later. Only what was said counts; what was not said is null, or not in the list.',
    CALL_IS_DATA,
    dispositions.length === 0 ? 'The disposition is null.' : `Dispositions, by key:\n${keys(dispositions)}`,
    fields.length === 0 ? 'There are no fields.' : `Fields, by key:\n${keys(fields)}`,
    `Write in ${new Intl.DisplayNames(['en'], { type: 'language' }).of(language ?? 'en')}.`,
  ].join('\n')
}

function contentOf(
  value: Static<typeof written>,
  conversation: Conversation,
  { dispositions, extracted }: { dispositions: readonly Disposition[]; extracted: SummaryContent },
): SummaryContent {
  const short = (text: string | null): string | null => cutTo(text?.trim() ?? '', MAX_TEXT) || null
  const texts = (list: readonly string[]): string[] => list.flatMap(item => short(item) ?? []).slice(0, MAX_ITEMS)
  const known = new Set((conversation.profile?.settings.fields ?? []).map(({ key }) => key))
  const fields = value.fields.filter(({ key, value: text }) => known.has(key) && text.trim() !== '')
  const topics = texts(value.topics).map(topic => cutTo(topic.toLowerCase(), 60))
  return {
    made_by: 'model',
    reason: short(value.reason),
    outcome: short(value.outcome),
    next_steps: texts(value.next_steps),
    fields: Object.fromEntries(fields.map(({ key, value: text }) => [key, cutTo(text.trim(), MAX_TEXT)])),
    disposition: dispositions.some(({ key }) => key === value.disposition) ? value.disposition : extracted.disposition,
    topics: topics.length === 0 ? extracted.topics : [...new Set(topics)],
    evidence: linesNamed(conversation, value.lines).slice(0, MAX_ITEMS).map(evidenceOf),
  }
}
