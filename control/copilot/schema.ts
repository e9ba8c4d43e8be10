import Type, { type Static } from 'typebox'
import { apiObject, input, nullable, objectName, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { criterionSchema } from '../organisation/rubric.ts'

/** Fields of list items have defaults, so that stored items are complete: lists are replaced, never merged. */
const text = (maxLength: number, description = '') =>
  Type.String({ maxLength, default: '', ...(description && { description }) })
const texts = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 500 }), { maxItems: 200, default: [], description })
const flag = (fallback: boolean) => Type.Boolean({ default: fallback })
const key = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$', description: 'Unique in its list.' })
const label = objectName()
const severity = oneOf(['info', 'warning', 'critical'], { default: 'warning' })
const list = <T extends Type.TSchema>(item: T, description: string) => Type.Array(item, { maxItems: 200, description })

const check = input({ key, label, ask: text(1000), phrases: texts('Said: done.'), required: flag(false) })
const stage = input({ key, label, goal: text(2000), checklist: Type.Array(check, { maxItems: 100, default: [] }) })
const objection = input({
  key,
  label,
  examples: texts('How customers say it.'),
  triggers: texts('Words that indicate it.'),
  response: text(4000),
  follow_up: text(2000),
  kb_query: text(500),
})
const field = input({
  key,
  label,
  type: oneOf(['text', 'number', 'date', 'time', 'boolean', 'choice', 'phone', 'email', 'money', 'name', 'address'], {
    default: 'text',
  }),
  hint: text(1000),
  options: Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100, default: [] }),
  pattern: text(500),
  required: flag(false),
})
const disclosure = input({
  key,
  label,
  text: text(2000, 'What must be said.'),
  phrases: texts('Saying any of them counts; empty: the text itself.'),
  within_seconds: Type.Number({
    minimum: 0,
    maximum: 3600,
    default: 60,
    description: 'If it is not said by then, the agent is reminded. Half a minute later it is missed.',
  }),
})
const forbidden = input({
  phrase: Type.String({ minLength: 1, maxLength: 500 }),
  instead: text(1000),
  reason: text(1000),
  severity,
})
const alert = input({
  key,
  kind: oneOf(
    [
      'phrase',
      'sentiment',
      'silence',
      'monologue',
      'talk_ratio',
      'compliance',
      'missed_disclosure',
      'forbidden_phrase',
      'customer_asks_for_supervisor',
    ],
    { description: '`compliance`: `missed_disclosure` and `forbidden_phrase`.' },
  ),
  label,
  message: text(1000),
  notify_supervisor: flag(false),
  phrases: texts(
    'For kind `phrase`: said by either side. For `customer_asks_for_supervisor`: in addition to the usual words.',
  ),
  severity,
  threshold: Type.Number({
    minimum: 0,
    maximum: 10_000,
    default: 0,
    description:
      "Seconds for `silence` and `monologue`; a share for `talk_ratio`; severity from 0 to 1 for `sentiment`; a count for the others. 0: the coaching's own value, 0.5 for `sentiment`, otherwise 1.",
  }),
})
const link = input({ label, url: Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 2000 }) })

const ratio = (description: string) => Type.Number({ minimum: 0, maximum: 1, description })
const amount = (description: string) => Type.Number({ minimum: 0, maximum: 10_000, description })

const kb = {
  document_ids: Type.Array(Type.String({ maxLength: 200 }), {
    maxItems: 1000,
    uniqueItems: true,
    description: 'Documents that the profile may use; empty: all.',
  }),
  links: list(link, 'Reference links shown to the agent.'),
  min_score: ratio('Minimum confidence for a knowledge card to be shown without a request.'),
}
const compliance = {
  required_disclosures: list(disclosure, 'What the agent must say.'),
  forbidden_phrases: list(forbidden, 'What the agent must not say.'),
}
const coaching = {
  talk_ratio_max: ratio("The agent's share of talk time above which to nudge."),
  monologue_seconds_max: amount('Continuous agent speech before an "ask a question" nudge.'),
  silence_seconds_max: amount('Dead air before a nudge.'),
  wpm_max: amount('Words per minute above which to nudge.'),
  wpm_min: amount('Words per minute below which to nudge.'),
}
const script = {
  flow_id: nullable(
    Type.String({ maxLength: 200, description: 'Agent-script flow driving the call; null: the `stages`.' }),
  ),
  version: Type.Union([Type.Literal('published'), Type.Integer({ minimum: 1, maximum: 2_147_483_647 })]),
}
const model = {
  model: Type.String({ minLength: 1, maxLength: 200 }),
  fallback_model: Type.String({ maxLength: 200 }),
  temperature: Type.Number({ minimum: 0, maximum: 2 }),
  api: oneOf(['chat', 'responses']),
  priority: Type.Boolean({ description: 'Priority processing: steadier, lower latency, higher token price.' }),
  max_calls_per_minute: Type.Integer({ minimum: 0, maximum: 600, description: 'Model calls per minute per call.' }),
  speculative: Type.Boolean({ description: 'Start on stable interim text before the utterance is final.' }),
  deep_path: Type.Boolean({ description: 'False: fast path only (no model calls).' }),
  objection_similarity: ratio('Meaning-based objection match threshold (cosine).'),
}

const plain = {
  goal: Type.String({ maxLength: 4000, description: 'What the call should achieve.' }),
  tone: Type.String({ maxLength: 1000, description: 'How the agent should sound.' }),
  company: Type.String({ maxLength: 1000, description: 'Who the agent represents.' }),
  product: Type.String({ maxLength: 4000 }),
  language: Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$', description: 'For example `he`, `en`.' }),
  stages: list(stage, 'Call stages, each with a checklist; used when no `script` flow is set.'),
  objections: list(objection, 'Objection library.'),
  fields: list(field, 'Details that the copilot extracts from the conversation.'),
  alerts: list(alert, 'When to alert.'),
  qa_rubric: list(criterionSchema, "What calls are evaluated against; empty: the organisation's rubric."),
}

const settings = {
  ...plain,
  kb: Type.Object(kb),
  compliance: Type.Object(compliance),
  coaching: Type.Object(coaching),
  script: Type.Object(script),
  model: Type.Object(model),
}

/** All settings of a profile except its name and version. */
export const settingsSchema = Type.Object(settings)
export type ProfileSettings = Static<typeof settingsSchema>

/** Specification, "CopilotProfile". */
export const copilotProfileSchema = apiObject('copilot_profile', {
  name: Type.String(),
  version: Type.Integer({ description: 'Incremented by every change.' }),
  template_id: nullable(Type.String({ description: 'Template that it was created from.' })),
  ...settings,
  created: timestamp(),
  updated: timestamp(),
})
export type CopilotProfile = Static<typeof copilotProfileSchema>

const parts = {
  ...plain,
  kb: partialInput(kb),
  compliance: partialInput(compliance),
  coaching: partialInput(coaching),
  script: partialInput(script),
  model: partialInput(model),
}
export const createBody = input({
  name: objectName(),
  template_id: Type.Optional(
    Type.String({
      maxLength: 200,
      description: "Fields that are not sent come from this template. A list you send replaces the template's.",
    }),
  ),
  ...partialInput(parts).properties,
})
export const changeBody = partialInput({ name: objectName(), ...parts })
