import type { CommandPort } from '../../media-link/events.ts'
import type { LegRows } from './decide.ts'
import { ownRoom, placeOf } from './leg-rooms.ts'
import { failureOf, type Sent } from './sender.ts'

/**
 * Tells a caller who is not answered that it rings. `isHeard`: it hears what is played to it from now on, and who is in its room; nothing
 * is kept of that. Again: it stays as it is, or is heard from now on.
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
