import type { ProfileSettings } from '../schema.ts'
import { bodyOf } from './bodies.ts'
import { mayChange, slotOf, valueOfSlot } from './slots.ts'
import { stageOf } from './stages.ts'
import type { CopilotState, Notice, Outgoing, Path, Slot } from './state.ts'

export interface Telling {
  path: Path
  /** IDs of the utterances that led to it. */
  utterances: string[]
  wordsEndMs: number | null
}

/** Sends a message for every slot whose value differs from what was shown: a new message, a replacement, or a withdrawal. */
export function settle(
  state: CopilotState,
  profile: ProfileSettings,
  telling: Telling,
): { messages: Outgoing[]; notices: Notice[] } {
  const messages: Outgoing[] = []
  const notices: Notice[] = []
  settleStage(state, profile)
  for (const [name, slot] of Object.entries(state.slots)) {
    const message = tell(state, profile, name, slot, telling)
    if (message !== null) messages.push(message)
    notice(state, profile, name, slot, notices)
    if (slot.claims.length === 0 && slot.person === null && slot.told === null) delete state.slots[name]
  }
  return { messages, notices }
}

function settleStage(state: CopilotState, profile: ProfileSettings): void {
  const stage = stageOf(state, profile)
  if (stage !== null) slotOf(state, 'stage:').claims = [{ value: stage, by: 'heard', utterances: [] }]
}

function tell(
  state: CopilotState,
  profile: ProfileSettings,
  name: string,
  slot: Slot,
  { path, utterances, wordsEndMs }: Telling,
): Outgoing | null {
  const value = valueOfSlot(slot)
  const { told } = slot
  if (value === (told?.value ?? null)) return null
  const own = slot.claims.at(-1)?.utterances ?? []
  const common = { path, utterances: own.length > 0 ? own : utterances, wordsEndMs }
  if (value === null) {
    if (told === null) return null
    slot.told = null
    const type = bodyOf(state, profile, name, slot, told.value)?.type
    if (type === undefined) return null
    return { ...common, seq: ++state.seq, type, replaces: null, withdraws: told.seq, body: {} }
  }
  const shown = bodyOf(state, profile, name, slot, value)
  if (shown === null) return null
  slot.told = { value, seq: ++state.seq }
  return { ...common, seq: state.seq, ...shown, replaces: told?.seq ?? null, withdraws: null }
}

/** Supervisors are notified once the alert can no longer be withdrawn. */
function notice(state: CopilotState, profile: ProfileSettings, name: string, slot: Slot, to: Notice[]): void {
  const last = slot.claims.at(-1)
  const seq = slot.told?.seq ?? slot.dismissed
  if (!name.startsWith('alert:') || seq === undefined || last === undefined || slot.noticed) return
  if (mayChange(state, last)) return
  const shown = bodyOf(state, profile, name, slot, last.value)
  slot.noticed = true
  if (shown?.body.notify_supervisor === true) to.push({ seq, alert: shown.body, utterances: last.utterances })
}
