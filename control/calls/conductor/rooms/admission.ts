import type { EndedReason } from '../../../../media/protocol.ts'
import { settingsOf } from '../../settings.ts'
import type { LegRows } from '../../steps/decide.ts'

type Admission = 'join' | 'wait' | { leave: string; reason: EndedReason }

/**
 * Whether a leg may enter its room now. A party dialled from within is admitted by whoever dialled, one that waited by the moderator who
 * came. Others whom we have called wait for no moderator, but a lock keeps them out.
 */
export function admission(
  { call, participant, room }: LegRows,
  session: { isRunning: boolean; hasModerator: boolean; isLocked: boolean },
): Admission {
  if (room === null || room.active === 0) return { leave: 'room-closed', reason: 'rejected' }
  if (participant.let_in === 1 || participant.role === 'moderator') return 'join'
  if (session.isRunning && session.isLocked) return { leave: 'room-locked', reason: 'rejected' }
  return call.direction === 'inbound' && settingsOf(room).wait_for_moderator && !session.hasModerator ? 'wait' : 'join'
}

/** Members join muted where the room says so; moderators never. */
export const joinsMuted = ({ participant, room }: LegRows): boolean =>
  participant.muted === 1 || (participant.role === 'member' && room !== null && settingsOf(room).mute_on_entry)
