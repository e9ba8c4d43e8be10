import type { By, Claim, CopilotState, Slot } from './state.ts'

/** The names of slots: kind, key and, for what is shown each time anew, the utterance. */
export const itemSlot = (stage: string, key: string): string => `item:${stage}/${key}`
export const fieldSlot = (key: string): string => `field:${key}`
export const disclosureSlot = (key: string): string => `disclosure:${key}`
export const onceSlot = (kind: string, key: string, utterance: string): string => `${kind}:${key}@${utterance}`
export const kindOf = (name: string): string => name.slice(0, name.indexOf(':'))
/** The key in a slot's name, without the utterance. */
export const keyOf = (name: string): string => {
  const at = name.indexOf('@')
  return name.slice(name.indexOf(':') + 1, at < 0 ? undefined : at)
}

const isLine = (name: string): boolean => name.startsWith('transcript:')
/** Whether the slot is about a single moment. */
const isHint = (name: string): boolean => name.includes('@') && !isLine(name)

/** Maximum number of transcript lines kept in the state. Messages about older ones stay. */
const MAX_LINES = 300
/** Maximum number of warnings, objections and cards shown at a time. Beyond that the oldest is withdrawn, warnings last. */
const MAX_HINTS = 100

export const valueOfSlot = (slot: Slot | undefined): string | null =>
  slot === undefined ? null : slot.person !== null ? slot.person.value : (slot.claims.at(-1)?.value ?? null)

export const byOf = (slot: Slot | undefined): By | null =>
  slot === undefined ? null : slot.person !== null ? 'person' : (slot.claims.at(-1)?.by ?? null)

export function slotOf(state: CopilotState, name: string): Slot {
  state.slots[name] ??= { claims: [], person: null, told: null, atMs: state.nowMs }
  return state.slots[name]
}

const isOpen = (state: CopilotState, utterance: string): boolean =>
  state.spans.some(({ id, isFinal }) => id === utterance && !isFinal)

/** Whether all utterances behind a claim may still change. */
export const mayChange = (state: CopilotState, claim: Claim | undefined): boolean =>
  claim !== undefined && claim.utterances.length > 0 && claim.utterances.every(one => isOpen(state, one))

/** Adds a claim. If the value is already claimed last, no new claim is needed. */
export function claim(
  state: CopilotState,
  name: string,
  { value, by, utterances }: Claim,
  more?: Record<string, unknown>,
): void {
  const slot = slotOf(state, name)
  const last = slot.claims.at(-1)
  if (more !== undefined) slot.more = more
  if (last?.value === value) {
    // A claim that is already certain needs no more utterances.
    if (mayChange(state, last)) last.utterances = [...new Set([...last.utterances, ...utterances])]
    if (by === 'deep') slot.claims[slot.claims.length - 1] = { value, by, utterances: [] }
    return
  }
  if (by === 'time') slot.claims.unshift({ value, by, utterances })
  else slot.claims.push({ value, by, utterances })
  if (slot.claims.length === 1) slot.atMs = state.nowMs
}

/** Withdraws earlier claims of an utterance that are not among these values. */
export function reclaim(state: CopilotState, utterance: string, wanted: ReadonlyMap<string, string>): void {
  for (const [name, slot] of Object.entries(state.slots)) {
    for (const one of slot.claims) {
      if (one.by !== 'heard' || !one.utterances.includes(utterance) || wanted.get(name) === one.value) continue
      one.utterances = one.utterances.filter(id => id !== utterance)
      if (one.utterances.length === 0) slot.claims = slot.claims.filter(other => other !== one)
    }
  }
}

/** How often an alert's condition has occurred, this time included. `by`: ID of this occurrence, an utterance or a disclosure. */
export function count(state: CopilotState, { key, threshold }: { key: string; threshold: number }, by: string): number {
  const counted = [...(state.counts[key] ?? []).filter(one => one !== by), by]
  state.counts[key] = counted.slice(-Math.max(100, threshold))
  return counted.length
}

export function uncount(state: CopilotState, key: string, by: string): void {
  const left = (state.counts[key] ?? []).filter(one => one !== by)
  if (left.length > 0) state.counts[key] = left
  else delete state.counts[key]
}

/** Removes claims behind a certain one, since they will not be needed again. */
export function seal(state: CopilotState): void {
  for (const slot of Object.values(state.slots)) {
    const last = slot.claims.at(-1)
    if (slot.claims.length > 1 && last !== undefined && !mayChange(state, last)) {
      slot.claims = slot.claims.filter(one => one === last || one.by === 'time')
    }
  }
  forgetMoments(state)
}

function forgetMoments(state: CopilotState): void {
  const settled = Object.entries(state.slots).filter(([, { claims }]) => !claims.some(one => mayChange(state, one)))
  const lines = settled.filter(([name]) => isLine(name))
  for (const [name] of oldest(lines, MAX_LINES)) delete state.slots[name]
  const hints = settled.filter(([name]) => isHint(name)).sort(([a], [b]) => Number(isWarning(a)) - Number(isWarning(b)))
  for (const [, slot] of oldest(hints, MAX_HINTS)) Object.assign(slot, { claims: [], person: null })
}

const isWarning = (name: string): boolean => /^(?:alert|forbidden):/.test(name)
const oldest = <T>(all: readonly T[], most: number): readonly T[] => all.slice(0, Math.max(0, all.length - most))
