import { jsonCopy } from '../../kernel/json-copy.ts'
import type { ProfileSettings } from '../schema.ts'
import { wordsOf } from '../words/fold.ts'
import { sentimentOf } from '../words/sentiment.ts'
import { look } from './clock.ts'
import { isTurn } from './figures.ts'
import { askedIn, type Claims, hear, hearObjections } from './hear.ts'
import { settle, type Telling } from './settle.ts'
import { claim, fieldSlot, itemSlot, kindOf, onceSlot, reclaim, seal, slotOf, uncount } from './slots.ts'
import { chooseStage } from './stages.ts'
import type { CopilotInput, CopilotState, Notice, Outcome, Outgoing, SaidInput } from './state.ts'

/** Weight of the last words in the customer's sentiment. */
const LAST_WORDS = 0.4
const CALM = 0.9

/**
 * The copilot's fast path: from the state and an input to the new state and the messages. Pure: no clock and no I/O, the same input gives
 * the same output, and the given state is not changed.
 */
export function reduce(before: CopilotState, profile: ProfileSettings, input: CopilotInput): Outcome {
  const state = jsonCopy(before)
  state.nowMs = Math.max(state.nowMs, input.atMs)
  const extra: Outgoing[] = []
  apply(state, profile, input, extra)
  look(state, profile)
  seal(state)
  const { messages, notices } = settle(state, profile, tellingOf(input))
  return { state, messages: [...extra, ...messages], notices: notices as Notice[] }
}

function tellingOf(input: CopilotInput): Telling {
  switch (input.kind) {
    case 'said':
      return {
        path: 'fast',
        utterances: [input.id],
        wordsEndMs: input.again === undefined ? input.toMs : input.again.becauseMs,
      }
    case 'unsaid':
      return { path: 'fast', utterances: [input.id], wordsEndMs: null }
    case 'meant':
      return { path: 'fast', utterances: [input.id], wordsEndMs: input.toMs }
    case 'asked':
      return { path: input.path, utterances: [], wordsEndMs: null }
    case 'judged':
      return { path: 'deep', utterances: input.utterances, wordsEndMs: input.wordsEndMs }
    default:
      return { path: 'fast', utterances: [], wordsEndMs: null }
  }
}

function apply(state: CopilotState, profile: ProfileSettings, input: CopilotInput, told: Outgoing[]): void {
  switch (input.kind) {
    case 'said':
      said(state, profile, input)
      return
    case 'unsaid':
      reclaim(state, input.id, new Map())
      for (const key of Object.keys(state.counts)) uncount(state, key, input.id)
      state.spans = state.spans.filter(({ id }) => id !== input.id)
      return
    case 'meant':
      meant(state, profile, input)
      return
    case 'tick':
      if (input.isQuiet) state.voiceMs = state.nowMs
      return
    case 'check':
      slotOf(state, `item:${input.item}`).person = { value: input.done ? 'done' : null }
      return
    case 'field':
      setField(state, input.key, input.value)
      return
    case 'stage':
      chooseStage(state, profile, input.key)
      return
    case 'dismiss':
      dismiss(state, input.seq)
      return
    case 'judged':
      judge(state, profile, input)
      return
    case 'asked':
      claim(
        state,
        onceSlot('answer', 'card', `q${state.seq + 1}`),
        { value: 'asked', by: 'time', utterances: [] },
        input.body,
      )
      return
    case 'told':
      told.push(outgoing(state, input))
      return
    case 'end':
      state.isOver = true
      for (const span of state.spans) span.isFinal = true
  }
}

const outgoing = (
  state: CopilotState,
  { type, path, body, replaces = null, utterances = [], wordsEndMs = null }: CopilotInput & { kind: 'told' },
): Outgoing => ({ seq: ++state.seq, type, path, utterances, replaces, withdraws: null, body, wordsEndMs })

function said(state: CopilotState, profile: ProfileSettings, told: SaidInput): void {
  // A final utterance does not change: later words for it are ignored.
  const isAgain = told.again !== undefined
  const known = state.spans.find(({ id }) => id === told.id)
  if (!isAgain && known?.isFinal) return
  // Whether the customer can hear an utterance is decided at its beginning.
  const isAside = known === undefined ? told.isAside === true : known.party !== told.party
  const input = { ...told, isAside }
  if (!isAgain) noteSpan(state, input)
  const { values, more } = hear(state, profile, input)
  reclaim(state, input.id, values)
  for (const [name, value] of values) claim(state, name, { value, by: 'heard', utterances: [input.id] }, more.get(name))
  const transcript = state.slots[`transcript:${input.id}`]
  if (transcript !== undefined) {
    const times = { start_ms: input.fromMs, end_ms: input.toMs }
    transcript.more = { party: input.party, ...times, ...(isAside && { aside: true }) }
  }
  if (isAgain || isAside) return
  const asked = askedIn(profile, input.party, input.text)
  if (asked.length > 0) state.asked = { keys: asked, atMs: input.toMs }
  else if (input.isFinal) state.asked.keys = state.asked.keys.filter(key => !isAnswered(profile, key, values))
  if (input.isFinal && input.party === 'customer') feel(state, input.text)
}

/** Whether a question has been answered, so that what is said next is no answer. Free text may continue. */
const isAnswered = ({ fields }: ProfileSettings, key: string, values: ReadonlyMap<string, string>): boolean =>
  values.has(fieldSlot(key)) && !fields.some(field => field.key === key && /^(text|address)$/.test(field.type))

/** Adds the meaning of words that were heard before. Their other claims stay. */
function meant(state: CopilotState, profile: ProfileSettings, input: CopilotInput & { kind: 'meant' }): void {
  const { told = null, more } = state.slots[`transcript:${input.id}`] ?? {}
  if (told === null || more?.party !== 'customer' || (JSON.parse(told.value) as [string])[0] !== input.text) return
  const claims: Claims = { values: new Map(), more: new Map() }
  hearObjections(state, profile, wordsOf(input.text), input, claims)
  const isOf = (name: string): boolean => kindOf(name) === 'objection' && name.endsWith(`@${input.id}`)
  for (const [name, slot] of Object.entries(state.slots)) {
    if (isOf(name) && !claims.values.has(name)) slot.claims = slot.claims.filter(({ by }) => by !== 'heard')
  }
  for (const [name, value] of claims.values) {
    claim(state, name, { value, by: 'heard', utterances: [input.id] }, claims.more.get(name))
  }
}

function noteSpan(state: CopilotState, { id, text, isFinal, fromMs, toMs, ...of }: SaidInput): void {
  const party = of.isAside ? 'other' : of.party
  const words = wordsOf(text).length
  const span = { id, party, fromMs, toMs: Math.max(fromMs, toMs), words, isFinal }
  state.spans = [...state.spans.filter(other => other.id !== id), span]
  if (party === 'other') return
  state.voiceMs = Math.max(state.voiceMs, isFinal ? toMs : state.nowMs)
  if (party === 'agent') state.monologueMs ??= fromMs
  else if (isTurn(party, words)) state.monologueMs = null
}

function feel(state: CopilotState, text: string): void {
  const tone = sentimentOf(wordsOf(text))
  state.sentiment = tone === null ? state.sentiment * CALM : state.sentiment * (1 - LAST_WORDS) + tone * LAST_WORDS
  const score = Math.round(state.sentiment * 100) / 100
  const before = state.slots['sentiment:']?.claims[0]?.value ?? 'neutral'
  // Hysteresis: leaving a mood needs more than entering it.
  const [enter, leave] = [0.25, 0.12]
  const isStill = (before === 'negative' && score < -leave) || (before === 'positive' && score > leave)
  const mood = isStill ? before : score <= -enter ? 'negative' : score >= enter ? 'positive' : 'neutral'
  if (mood === before) return
  slotOf(state, 'sentiment:').claims = []
  claim(state, 'sentiment:', { value: mood, by: 'time', utterances: [] }, { score })
}

/** A person sets a field. Null: what was heard is wrong, and only what is heard from now on counts. */
function setField(state: CopilotState, key: string, value: string | null): void {
  const slot = slotOf(state, fieldSlot(key))
  slot.person = value === null ? null : { value }
  if (value === null) slot.claims = []
}

/** Dismisses a message. The same words do not bring it back. */
function dismiss(state: CopilotState, seq: number): void {
  const found = Object.entries(state.slots).find(([, { told }]) => told?.seq === seq)
  if (found !== undefined && DISMISSED.includes(kindOf(found[0]))) {
    Object.assign(found[1], { person: { value: null }, dismissed: seq })
  }
}

const DISMISSED = ['objection', 'card', 'answer', 'nudge', 'alert', 'forbidden']

/** Whether this message can be dismissed and is still valid. */
export const canDismiss = (state: CopilotState, seq: number): boolean =>
  Object.entries(state.slots).some(([name, { told }]) => told?.seq === seq && DISMISSED.includes(kindOf(name)))

function judge(state: CopilotState, profile: ProfileSettings, input: CopilotInput & { kind: 'judged' }): void {
  for (const { slot: name, value, more } of input.verdicts) {
    const slot = state.slots[name]
    const isShown = kindOf(name) === 'objection' && slot !== undefined && slot.told !== null
    if (!isKnown(profile, name) && !isShown) continue
    if (value === null) {
      if (slot !== undefined) slot.claims = slot.claims.filter(({ by }) => by === 'time')
    } else claim(state, name, { value, by: 'deep', utterances: [] }, more)
  }
}

/** Whether the model may set this slot: items and fields of the profile, and objections that are shown. */
function isKnown({ stages, fields }: ProfileSettings, name: string): boolean {
  return (
    fields.some(({ key }) => fieldSlot(key) === name) ||
    stages.some(({ key, checklist }) => checklist.some(item => itemSlot(key, item.key) === name))
  )
}
