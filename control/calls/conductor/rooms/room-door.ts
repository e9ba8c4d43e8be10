import { conflict, type Problem } from '../../../http/errors.ts'
import { otherNode } from '../../../http/wire/other-nodes.ts'
import { nodeOf } from '../../../kernel/store/node.ts'
import type { Db } from '../../../kernel/store/store.ts'
import { isLocked } from '../../session-state.ts'
import { scheduleOf, settingsOf } from '../../settings.ts'
import { isJoinable } from '../../steps/join-window.ts'
import type { ConferenceRoomRow } from '../../tables.ts'
import { ownSession, runningSession, seatedIn } from './sessions.ts'

/**
 * Why nobody can be brought into a room now, checked before anybody is rung for it. `isInvited`: from within, where a lock keeps
 * nobody out (specification, "Conference room": only moderators let more people in). If the session runs at another node alone, whoever
 * comes in here would be alone in another room.
 */
export async function roomProblem(
  db: Db,
  room: ConferenceRoomRow,
  { now, isInvited }: { now: Date; isInvited: boolean },
): Promise<Problem | null> {
  if (room.active === 0) return conflict('room_inactive', 'The conference room is switched off.')
  if (!isJoinable(scheduleOf(room), now)) {
    return conflict('room_closed', 'The conference room can be joined only in its join window, which is not open now.')
  }
  const session = (await ownSession(db, room)) ?? (await runningSession(db, room))
  const node = session?.node_id ?? null
  if (node !== null && node !== nodeOf(db)) return otherNode(node)
  if (session === undefined) return null
  if ((await seatedIn(db, session)) >= settingsOf(room).max_participants) {
    return conflict('room_full', 'The conference room has reached its `max_participants`.')
  }
  if (isInvited || !(await isLocked(db, session, room))) return null
  return conflict('room_locked', 'The session in the conference room is locked.')
}
