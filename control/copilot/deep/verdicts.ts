import { fieldSlot, kindOf } from '../fast/slots.ts'
import type { CopilotState, Verdict } from '../fast/state.ts'
import { accepts } from '../fields/values.ts'
import type { ProfileSettings } from '../schema.ts'
import { wordsOf } from '../words/fold.ts'
import { anySaid } from '../words/phrases.ts'
import type { Judgement, Line } from './question.ts'

/**
 * What is accepted of a model's judgement: existing items and fields, proven by quotes of what was really said, and an answer to an
 * objection that is shown, without forbidden phrases. So whatever a customer may make the model say is refused, or quotes the customer.
 */
export function verdictsOf(
  { items, fields, objection }: Judgement,
  settings: ProfileSettings,
  state: CopilotState,
  lines: readonly Line[],
): Verdict[] {
  const verdicts: Verdict[] = []
  for (const { key, done, quote } of items) {
    const said = done ? lines.filter(({ party }) => party === 'agent') : lines
    const isItem = settings.stages.some(stage => stage.checklist.some(item => `${stage.key}/${item.key}` === key))
    if (isItem && isSaid(quote, said)) verdicts.push({ slot: `item:${key}`, value: done ? 'done' : null })
  }
  const customers = lines.filter(({ party }) => party === 'customer')
  for (const { key, value, quote } of fields) {
    const field = settings.fields.find(one => one.key === key)
    if (field === undefined || value === '' || !accepts(field, value) || !isSaid(quote, customers)) continue
    verdicts.push({ slot: fieldSlot(key), value })
  }
  const name = shownObjection(state, objection.key)
  if (name !== null && objection.answer !== '' && isAllowed(settings, objection.answer)) {
    const more = { ...state.slots[name]?.more, answer: objection.answer }
    verdicts.push({ slot: name, value: 'answered', more })
  }
  return verdicts
}

/** Whether an answer contains no phrase that agents must not say. */
export function isAllowed({ compliance }: Pick<ProfileSettings, 'compliance'>, answer: string): boolean {
  const phrases = compliance.forbidden_phrases.map(({ phrase }) => phrase)
  return anySaid(wordsOf(answer), phrases) === null
}

/** The slot of this objection whose message is the newest that is shown; null: none. */
function shownObjection(state: CopilotState, key: string): string | null {
  if (key === '') return null
  const names = Object.entries(state.slots)
    .filter(([name, { told }]) => kindOf(name) === 'objection' && name.startsWith(`objection:${key}@`) && told !== null)
    .map(([name]) => name)
  return names.at(-1) ?? null
}

/** Whether one of the lines contains these words in sequence. */
export function isSaid(quote: string, lines: readonly Line[]): boolean {
  const wanted = plain(quote)
  return wanted !== '' && lines.some(({ text }) => ` ${plain(text)} `.includes(` ${wanted} `))
}

const plain = (text: string): string =>
  wordsOf(text)
    .map(word => word.text)
    .join(' ')
