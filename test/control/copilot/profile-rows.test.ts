import { readFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import * as assert from 'uvu/assert'
import { closingWords } from '../../../control/copilot/deep/closing.ts'
import { linesOf, questionOf } from '../../../control/copilot/deep/question.ts'
import { reduce } from '../../../control/copilot/fast/reduce.ts'
import { newState, type Outgoing, type Party } from '../../../control/copilot/fast/state.ts'
import { type ProfileSettings, settingsSchema } from '../../../control/copilot/schema.ts'
import { lookUp } from '../../../control/copilot/sessions/knowledge.ts'
import { toSession } from '../../../control/copilot/sessions/session-schema.ts'
import { summaryOf } from '../../../control/copilot/sessions/summary.ts'
import type { CopilotSessionRow } from '../../../control/copilot/tables.ts'
import type { ChatModel } from '../../../control/models/model.ts'
import { suite } from '../../harness.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/profile-rows')

const base: ProfileSettings = {
  ...structuredClone(PROFILE),
  ...{ goal: 'Sell', tone: 'warm', company: 'Acme', product: 'Phones' },
  kb: { document_ids: [], links: [{ label: 'Prices', url: 'https://example.com' }], min_score: 0.5 },
}
base.compliance.required_disclosures.push({
  ...{ key: 'price', label: 'Price', text: 'It is ten a month', phrases: ['ten dollars'], within_seconds: 60 },
})

/** Who says what, for so long [s], or nobody anything. */
const CALL: [Party | 'nobody', string, number][] = [
  ['agent', 'Thank you for calling, how can I help you today?', 3],
  ['customer', 'this call is terrible and awful, I want to cancel my contract and speak to your manager', 5],
  ['customer', 'That is much too expensive for us', 4],
  ['customer', 'I would get it cheaper elsewhere', 4],
  ['customer', 'My wife and I have to talk first', 3],
  ['agent', 'We guarantee it. We guarantee it. And your account number, and the plan?', 5],
  ['customer', 'the fancy one, and call me at 020 7946 0018', 4],
  ['agent', 'Which shade of paint for your carpet?', 2],
  ['customer', 'dark blue please', 2],
  ['agent', Array.from({ length: 400 }, (_, i) => `word${i}`).join(' '), 100],
  ['nobody', '', 130],
  ['agent', Array.from({ length: 25 }, (_, i) => `slow${i}`).join(' '), 60],
  ['agent', 'It is ten dollars. Have a nice day', 5],
]
base.objections.push({
  ...{ key: 'think', label: 'Has to ask', examples: ['I have to talk to my husband first'], triggers: [] },
  ...{ response: 'Do.', follow_up: '', kb_query: '' },
})
base.fields.push({
  ...{ key: 'colour', label: 'Colour', type: 'text', hint: 'paint shade of the carpet', options: [] },
  ...{ pattern: '', required: false },
})

const listener = (seen: string[]): ChatModel => ({
  name: 'listener',
  async *chat({ instructions }) {
    seen.push(instructions)
    yield { kind: 'text', text: '{}' }
  },
})

/** What a session with this profile tells, shows and looks up in this call, and what it asks a model. */
async function outcomeOf(settings: ProfileSettings): Promise<{ fast: string; deep: string }> {
  let [state, atMs] = [newState('2026-11-22T10:00:00.000Z'), 0]
  const told: Outgoing[] = []
  const asked: unknown[] = []
  const find = async (_db: unknown, _tenant: unknown, query: string, options: object) => {
    asked.push([query, options])
    return []
  }
  const take = (input: Parameters<typeof reduce>[2]): void => {
    const { state: next, messages, notices } = reduce(state, settings, input)
    state = next
    told.push(...messages, ...(notices as never[]))
  }
  take({ kind: 'tick', atMs, isQuiet: true })
  for (const [i, [party, text, seconds]] of CALL.entries()) {
    const fromMs = atMs
    for (let s = 0; s < seconds; s++) {
      atMs += 1000
      if (party === 'nobody') take({ kind: 'tick', atMs, isQuiet: false })
    }
    if (party === 'nobody') continue
    const passages = [{ id: 'kbp_1', documentId: 'kbd_1', text: 'It is so.', score: 0.6 }]
    const said = { kind: 'said', atMs, id: `u${i}`, party, text, isFinal: true, fromMs, toMs: atMs, passages } as const
    await lookUp({ find } as never, {} as never, {} as never, settings, said)
    take(said)
  }
  const row = { id: 'cops_1', settings: JSON.stringify(settings), created: state.startedAt, livemode: 1, script: null }
  const session = { ...row, state: JSON.stringify(state) } as unknown as CopilotSessionRow
  const prompts: string[] = []
  const options = { signal: new AbortController().signal, paid: () => {} }
  await closingWords([listener(prompts)], settings, linesOf(state), options)
  const question = questionOf(settings, state, linesOf(state), [])
  return {
    fast: JSON.stringify([told, asked, summaryOf(session, state), toSession(session).links]),
    deep: JSON.stringify([question.instructions, prompts]),
  }
}

type Change = (settings: ProfileSettings) => void

/** Another value of each row: something else must come of it. */
const CHANGES: Record<string, Change> = {
  goal: of => {
    of.goal = 'Help'
  },
  tone: of => {
    of.tone = 'brief'
  },
  company: of => {
    of.company = 'Other'
  },
  product: of => {
    of.product = 'Cars'
  },
  language: of => {
    of.language = 'he'
  },
  'stages[].key': of => {
    of.stages[0]!.key = 'first'
  },
  'stages[].label': of => {
    of.stages[0]!.label = 'First'
  },
  'stages[].goal': of => {
    of.stages[0]!.goal = 'Else'
  },
  'stages[].checklist[].key': of => {
    of.stages[0]!.checklist[0]!.key = 'hello'
  },
  'stages[].checklist[].label': of => {
    of.stages[0]!.checklist[0]!.label = 'Hello'
  },
  'stages[].checklist[].ask': of => {
    of.stages[1]!.checklist[0]!.ask = 'What is the colour of your car?'
  },
  'stages[].checklist[].phrases': of => {
    of.stages[0]!.checklist[0]!.phrases = ['good morning']
  },
  'stages[].checklist[].required': of => {
    of.stages[2]!.checklist[0]!.required = true
  },
  'objections[].key': of => {
    of.objections[0]!.key = 'money'
  },
  'objections[].label': of => {
    of.objections[0]!.label = 'Money'
  },
  'objections[].examples': of => {
    of.objections[0]!.examples = []
  },
  'objections[].triggers': of => {
    of.objections[0]!.triggers = []
  },
  'objections[].response': of => {
    of.objections[0]!.response = 'No.'
  },
  'objections[].follow_up': of => {
    of.objections[0]!.follow_up = 'And?'
  },
  'objections[].kb_query': of => {
    of.objections[0]!.kb_query = 'discount'
  },
  'fields[].key': of => {
    of.fields[0]!.key = 'number'
  },
  'fields[].label': of => {
    of.fields[0]!.label = 'Telephone'
  },
  'fields[].type': of => {
    of.fields[0]!.type = 'email'
  },
  'fields[].hint': of => {
    of.fields.at(-1)!.hint = ''
  },
  'fields[].options': of => {
    of.fields[4]!.options = ['the fancy one', 'basic']
  },
  'fields[].pattern': of => {
    of.fields.at(-1)!.pattern = '[0-9]+'
  },
  'fields[].required': of => {
    of.fields[1]!.required = true
  },
  'alerts[].key': of => {
    of.alerts[0]!.key = 'leaves'
  },
  'alerts[].kind': of => {
    of.alerts[0]!.kind = 'silence'
  },
  'alerts[].label': of => {
    of.alerts[0]!.label = 'Leaves'
  },
  'alerts[].message': of => {
    of.alerts[0]!.message = 'Stay'
  },
  'alerts[].notify_supervisor': of => {
    of.alerts[0]!.notify_supervisor = false
  },
  'alerts[].phrases': of => {
    of.alerts[0]!.phrases = ['close my account']
  },
  'alerts[].severity': of => {
    of.alerts[0]!.severity = 'info'
  },
  'alerts[].threshold': of => {
    of.alerts[0]!.threshold = 2
  },
  'kb.links[].label': of => {
    of.kb.links[0]!.label = 'List'
  },
  'kb.links[].url': of => {
    of.kb.links[0]!.url = 'https://example.org'
  },
  'kb.document_ids': of => {
    of.kb.document_ids = ['kbd_2']
  },
  'kb.min_score': of => {
    of.kb.min_score = 0.7
  },
  'compliance.required_disclosures[].key': of => {
    of.compliance.required_disclosures[0]!.key = 'tape'
  },
  'compliance.required_disclosures[].label': of => {
    of.compliance.required_disclosures[0]!.label = 'Tape'
  },
  'compliance.required_disclosures[].text': of => {
    of.compliance.required_disclosures[0]!.text = 'We guarantee it'
  },
  'compliance.required_disclosures[].phrases': of => {
    of.compliance.required_disclosures[1]!.phrases = ['one hundred']
  },
  'compliance.required_disclosures[].within_seconds': of => {
    of.compliance.required_disclosures[0]!.within_seconds = 10
  },
  'compliance.forbidden_phrases[].phrase': of => {
    of.compliance.forbidden_phrases[0]!.phrase = 'account number'
  },
  'compliance.forbidden_phrases[].instead': of => {
    of.compliance.forbidden_phrases[0]!.instead = 'we hope'
  },
  'compliance.forbidden_phrases[].reason': of => {
    of.compliance.forbidden_phrases[0]!.reason = 'Law'
  },
  'compliance.forbidden_phrases[].severity': of => {
    of.compliance.forbidden_phrases[0]!.severity = 'info'
  },
  'coaching.talk_ratio_max': of => {
    of.coaching.talk_ratio_max = 1
  },
  'coaching.monologue_seconds_max': of => {
    of.coaching.monologue_seconds_max = 200
  },
  'coaching.silence_seconds_max': of => {
    of.coaching.silence_seconds_max = 50
  },
  'coaching.wpm_max': of => {
    of.coaching.wpm_max = 400
  },
  'coaching.wpm_min': of => {
    of.coaching.wpm_min = 1
  },
  'model.objection_similarity': of => {
    of.model.objection_similarity = 1
  },
}

/** Rows that only a model understands. */
const FOR_MODELS = ['goal', 'tone', 'company', 'product']

/** Rows that say who is asked, and by what a call is led or judged: the tests of that, which speak of the row. */
const ELSEWHERE: Record<string, string> = {
  'script.flow_id': 'control/copilot/sessions.test.ts',
  'script.version': 'control/copilot/sessions.test.ts',
  'model.model': 'control/copilot/deep-path.test.ts',
  'model.fallback_model': 'control/copilot/deep-path.test.ts',
  'model.temperature': 'control/copilot/deep-path.test.ts',
  'model.api': 'control/copilot/deep-path.test.ts',
  'model.priority': 'control/copilot/deep-path.test.ts',
  'model.max_calls_per_minute': 'control/copilot/deep-path.test.ts',
  'model.speculative': 'control/copilot/deep-path.test.ts',
  'model.deep_path': 'control/copilot/deep-path.test.ts',
  qa_rubric: 'control/quality/evaluation.test.ts',
}

/** Every row of a schema, as its table in the specification has it. */
function rowsOf(schema: TSchema, path = ''): string[] {
  const { properties, items } = schema as { properties?: Record<string, TSchema>; items?: TSchema }
  if (path === 'qa_rubric') return [path]
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, one]) => rowsOf(one, path === '' ? name : `${path}.${name}`))
  const hasRows = items !== undefined && 'properties' in items
  return hasRows ? rowsOf(items, `${path}[]`) : [path]
}

test('every row of a profile has a test of what it does', () => {
  assert.equal([...Object.keys(CHANGES), ...Object.keys(ELSEWHERE)].sort(), rowsOf(settingsSchema).sort())
  for (const [row, file] of Object.entries(ELSEWHERE)) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
    assert.match(text, new RegExp(`\\b${row.split('.').at(-1)}\\b`), `${row} in ${file}`)
  }
})

const asItIs = outcomeOf(base)
for (const [row, change] of Object.entries(CHANGES)) {
  test(`${row}: with another value something else comes of the same call`, async () => {
    const changed = structuredClone(base)
    change(changed)
    const path = FOR_MODELS.includes(row) ? 'deep' : 'fast'
    assert.not.equal((await outcomeOf(changed))[path], (await asItIs)[path])
  })
}

test.run()
