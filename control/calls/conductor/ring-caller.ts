import type { Db } from '../../kernel/store/store.ts'
import type { CommandPort } from '../../media-link/events.ts'
import { farEndMedia } from '../records.ts'
import type { LegRows } from '../steps/decide.ts'
import { ownRoom, placeOf } from './leg-rooms.ts'
import { failureOf, type Sent } from './sender.ts'

/**
 * Rings back to an unanswered caller. `isHeard`: the caller hears early media from now on, what is played and whoever is in its room; nothing
 * of that is captured. Idempotent, except that it may switch early media on.
 */
export async function ringCaller(
  db: Db,
  { call, participant }: LegRows,
  media: CommandPort<'leg.ring'>,
  isHeard: boolean,
): Promise<Sent> {
  const { capture: _, ...room } = ownRoom(call)
  const { reliable, ...farEnd } = await farEndMedia(db, call, participant)
  const early = { room, ...placeOf(call, participant.ring_id !== null), ...farEnd }
  return failureOf(
    await media.request('leg.ring', {
      legId: participant.id,
      ...(reliable !== undefined && { reliable }),
      ...(isHeard && { early }),
    }),
  )
}
