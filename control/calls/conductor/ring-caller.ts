import type { CommandPort } from '../../media-link/events.ts'
import type { LegRows } from '../steps/decide.ts'
import { ownRoom, placeOf } from './leg-rooms.ts'
import { failureOf, type Sent } from './sender.ts'

/**
 * Rings back to an unanswered caller. `isHeard`: the caller hears early media from now on, what is played and whoever is in its room; nothing
 * of that is captured. Idempotent, except that it may switch early media on.
 */
export async function ringCaller(
  { call, participant, codecs, dtmf, srtp, reliable }: LegRows,
  media: CommandPort<'leg.ring'>,
  isHeard: boolean,
): Promise<Sent> {
  const { capture: _, ...room } = ownRoom(call)
  const early = {
    room,
    ...placeOf(call),
    codecs,
    ...(dtmf !== undefined && { dtmf }),
    ...(srtp !== undefined && { srtp }),
  }
  return failureOf(
    await media.request('leg.ring', {
      legId: participant.id,
      ...(reliable !== undefined && { reliable }),
      ...(isHeard && { early }),
    }),
  )
}
