import { DateTime } from 'luxon'
import { asksByType, mentions } from '../fields/mention.ts'
import { fieldValue } from '../fields/values.ts'
import type { ProfileSettings } from '../schema.ts'
import { type Word, wordsOf } from '../words/fold.ts'
import { anySaid, findPhrase, phraseOf } from '../words/phrases.ts'
import { asksForSupervisor } from '../words/supervisor.ts'
import { objectionsIn } from './objections.ts'
import { count, disclosureSlot, fieldSlot, itemSlot, keyOf, kindOf, onceSlot, uncount } from './slots.ts'
import type { CopilotState, Party, SaidInput } from './state.ts'

/** What an utterance claims: values by slot, and further data for them. */
export interface Claims {
  values: Map<string, string>
  more: Map<string, Record<string, unknown>>
}

/** An objection is not shown again within this time [ms]. */
const OBJECTION_REST_MS = 120_000
/** Maximum time between a question and its answer [ms]. */
export const ASKED_MS = 30_000

/** What an utterance claims, by the profile. @param said the utterance so far */
export function hear(state: CopilotState, profile: ProfileSettings, said: SaidInput): Claims {
  const words = wordsOf(said.text)
  const values = new Map([[`transcript:${said.id}`, JSON.stringify([said.text, said.isFinal])]])
  const claims: Claims = { values, more: new Map() }
  if (said.party === 'other' || said.isAside) return claims
  hearItems(profile, words, said, values)
  hearAlerts(state, profile, words, said, values)
  if (said.party === 'agent') hearCompliance(profile, words, said, values)
  else hearCustomer(state, profile, words, said, claims)
  return claims
}

/** An item is done once one of its phrases was said; without phrases, once the agent has asked its `ask`. */
function hearItems({ stages }: ProfileSettings, words: readonly Word[], { party }: SaidInput, to: Map<string, string>) {
  for (const stage of stages) {
    for (const { key, phrases, ask } of stage.checklist) {
      const wanted = phrases.length > 0 ? phrases : party === 'agent' && ask !== '' ? [ask] : []
      if (anySaid(words, wanted) !== null) to.set(itemSlot(stage.key, key), 'done')
    }
  }
}

function hearCompliance(
  { compliance }: ProfileSettings,
  words: readonly Word[],
  { id }: SaidInput,
  to: Map<string, string>,
): void {
  for (const { key, phrases, text } of compliance.required_disclosures) {
    const wanted = phrases.length > 0 ? phrases : text === '' ? [] : [text]
    if (anySaid(words, wanted) !== null) to.set(disclosureSlot(key), 'said')
  }
  for (const [index, { phrase }] of compliance.forbidden_phrases.entries()) {
    if (findPhrase(words, phraseOf(phrase)) !== null) to.set(onceSlot('forbidden', String(index), id), 'said')
  }
}

/** Alerts of kind `phrase`, whoever says it. They are counted by alert, so that it comes once the count reaches the threshold. */
function hearAlerts(
  state: CopilotState,
  { alerts, compliance }: ProfileSettings,
  words: readonly Word[],
  { id, party }: SaidInput,
  to: Map<string, string>,
): void {
  const isForbidden =
    party === 'agent' && compliance.forbidden_phrases.some(({ phrase }) => findPhrase(words, phraseOf(phrase)) !== null)
  for (const alert of alerts) {
    const { key, kind, phrases, threshold } = alert
    const isHeard =
      kind === 'phrase'
        ? anySaid(words, phrases) !== null
        : kind === 'customer_asks_for_supervisor'
          ? party === 'customer' && asksForSupervisor(words, phrases)
          : (kind === 'forbidden_phrase' || kind === 'compliance') && isForbidden
    uncount(state, key, id)
    if (isHeard && count(state, alert, id) >= Math.max(1, threshold)) to.set(onceSlot('alert', key, id), kind)
  }
}

function hearCustomer(
  state: CopilotState,
  profile: ProfileSettings,
  words: readonly Word[],
  said: SaidInput,
  { values, more }: Claims,
): void {
  hearObjections(state, profile, words, said, { values, more })
  const today = DateTime.fromISO(state.startedAt, { zone: 'utc' })
  const asked = state.nowMs - state.asked.atMs <= ASKED_MS ? state.asked.keys : []
  for (const field of profile.fields) {
    const isOnly = isOnlyOfType(profile, field)
    const isAnswer = asked.includes(field.key)
    const isAsked = isAnswer || mentions(words, field)
    const { text } = said
    const value = fieldValue(field, { text, words, language: profile.language, today, isAsked, isAnswer, isOnly })
    if (value !== null) values.set(fieldSlot(field.key), value)
  }
  for (const passage of said.passages ?? []) {
    const name = onceSlot('card', passage.id, said.id)
    const isNew = !state.shown.includes(passage.id) || state.slots[name] !== undefined
    if (passage.score < profile.kb.min_score || !isNew) continue
    values.set(name, 'found')
    more.set(name, { document_id: passage.documentId, text: passage.text, score: passage.score })
    if (!state.shown.includes(passage.id)) state.shown.push(passage.id)
  }
}

export function hearObjections(
  state: CopilotState,
  profile: ProfileSettings,
  words: readonly Word[],
  { id, text, meant, onObjection }: Pick<SaidInput, 'id' | 'text' | 'meant' | 'onObjection'>,
  { values, more }: Claims,
): void {
  for (const { key, similarity } of objectionsIn(profile, text, words, meant)) {
    const name = onceSlot('objection', key, id)
    if (isAnswered(state, key, name)) continue
    values.set(name, 'heard')
    more.set(name, { similarity, passages: onObjection?.[key] ?? state.slots[name]?.more?.passages ?? [] })
  }
}

const isAnswered = (state: CopilotState, key: string, name: string): boolean =>
  Object.entries(state.slots).some(
    ([other, slot]) =>
      other !== name &&
      kindOf(other) === 'objection' &&
      keyOf(other) === key &&
      (slot.told !== null || slot.person !== null) &&
      state.nowMs - slot.atMs < OBJECTION_REST_MS,
  )

/** Keys of the fields that the agent asks for in this text. */
export const askedIn = ({ fields }: ProfileSettings, party: Party, text: string): string[] => {
  if (party !== 'agent') return []
  const words = wordsOf(text)
  const named = fields.filter(field => mentions(words, field))
  const meant = fields.filter(
    field =>
      isOnlyOfType({ fields }, field) && asksByType(words, field) && !named.some(({ type }) => type === field.type),
  )
  return [...named, ...meant].map(({ key }) => key)
}

/** Whether the field is the only one of its type, so that an answer need not name it. */
const isOnlyOfType = (
  { fields }: Pick<ProfileSettings, 'fields'>,
  { type }: ProfileSettings['fields'][number],
): boolean => fields.filter(field => field.type === type).length === 1
