import { verifyPin } from '../../../kernel/secrets.ts'
import type { Db } from '../../../kernel/store/store.ts'
import type { NumberedEvent } from '../../../media-link/events.ts'
import { loadLeg } from '../../records.ts'
import { collectId, type LegRows, type PinVerdict } from '../../steps/decide.ts'

/**
 * Verifies the PINs among these events, by event number. Each takes tens of milliseconds, so it is done before the transaction that
 * applies them. That is safe: no event changes a room's PIN or what is being collected.
 */
export async function judgePins(db: Db, events: readonly NumberedEvent[]): Promise<ReadonlyMap<number, PinVerdict>> {
  const verdicts = new Map<number, PinVerdict>()
  for (const { seq, event } of events) {
    if (event.name !== 'leg.collected') continue
    const rows = await loadLeg(db, event.body.legId)
    if (rows === null || rows.participant.step !== 'pin') continue
    if (event.body.collectId === collectId(rows.participant))
      verdicts.set(seq, await judgePin(rows.room, event.body.digits))
  }
  return verdicts
}

/** A moderator's PIN makes a moderator; in a room with a moderator's PIN only, no PIN makes a member. */
export async function judgePin(room: LegRows['room'], digits: string): Promise<PinVerdict> {
  if (room === null) return 'wrong'
  if (digits === '') return room.pin_hash === null ? 'member' : 'wrong'
  if (room.moderator_pin_hash !== null && (await verifyPin(digits, room.moderator_pin_hash))) return 'moderator'
  return room.pin_hash !== null && (await verifyPin(digits, room.pin_hash)) ? 'member' : 'wrong'
}
