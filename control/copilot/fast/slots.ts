import type { By, Claim, CopilotState, Slot } from './state.ts'

/** The names of slots: a kind, what it is of, and for what is told each time anew, the utterance. */
export const itemSlot = (stage: string, key: string): string => `item:${stage}/${key}`
export const fieldSlot = (key: string): string => `field:${key}`
export const disclosureSlot = (key: string): string => `disclosure:${key}`
export const onceSlot = (kind: string, key: string, utterance: string): string => `${kind}:${key}@${utterance}`
export const kindOf = (name: string): string => name.slice(0, name.indexOf(':'))
/** What it is of, without the utterance. */
export const keyOf = (name: string): string => {
  const at = name.indexOf('@')
  return name.slice(name.indexOf(':') + 1, at < 0 ? undefined : at)
}

const isMoment = (name: string): boolean => name.includes('@') || name.startsWith('transcript:')

/** Slots of single moments that are remembered; the oldest are forgotten, what was told of them stays told. */
const MAX_MOMENTS = 300

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

/** Whether its words can still turn out to be others. */
export const mayChange = (state: CopilotState, claim: Claim | undefined): boolean =>
  claim !== undefined && claim.utterances.length > 0 && claim.utterances.every(one => isOpen(state, one))

/** Words speak for a value. What others have said for the same before is enough. */
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
    // What is certain already needs no more witnesses.
    if (mayChange(state, last)) last.utterances = [...new Set([...last.utterances, ...utterances])]
    if (by === 'deep') slot.claims[slot.claims.length - 1] = { value, by, utterances: [] }
    return
  }
  if (by === 'time') slot.claims.unshift({ value, by, utterances })
  else slot.claims.push({ value, by, utterances })
  if (slot.claims.length === 1) slot.atMs = state.nowMs
}

/** The words of an utterance speak for these values and no others: what they spoke for before is taken back. */
export function reclaim(state: CopilotState, utterance: string, wanted: ReadonlyMap<string, string>): void {
  for (const [name, slot] of Object.entries(state.slots)) {
    for (const one of slot.claims) {
      if (one.by !== 'heard' || !one.utterances.includes(utterance) || wanted.get(name) === one.value) continue
      one.utterances = one.utterances.filter(id => id !== utterance)
      if (one.utterances.length === 0) slot.claims = slot.claims.filter(other => other !== one)
    }
  }
}

/** What is certain now hides what was claimed before it: that will not be needed again. */
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
  const settled = Object.entries(state.slots).filter(
    ([name, slot]) => isMoment(name) && !slot.claims.some(one => mayChange(state, one)),
  )
  for (const [name] of settled.slice(0, Math.max(0, settled.length - MAX_MOMENTS))) delete state.slots[name]
}
