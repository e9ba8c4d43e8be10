import type { AgentCore, Session } from './agent-core.ts'
import type { Body } from './agent-types.ts'
import { endOnFailure } from './ending.ts'
import { sendInDialog } from './in-dialog-request.ts'

/** INFOs of one call that may wait for the previous answer; further ones are dropped and counted. */
const MAX_WAITING = 64

/**
 * Sends an INFO inside a confirmed call, once earlier ones have been answered. Two at once could overtake each other, and the later one
 * would be refused because of its CSeq (RFC 3261 §12.2.2).
 */
export function sendInfo(core: AgentCore, session: Session, body: Body, now: number): void {
  if (session.phase !== 'confirmed' || session.dialog === null) return
  if (session.infos.length > MAX_WAITING) {
    core.counters.dropped++
    return
  }
  session.infos.push(body)
  if (session.infos.length === 1) sendFirst(core, session, now)
}

function sendFirst(core: AgentCore, session: Session, now: number): void {
  const body = session.infos[0]
  if (body === undefined || session.phase !== 'confirmed' || session.dialog === null) return
  const next = (at: number): void => {
    session.infos.shift()
    sendFirst(core, session, at)
  }
  const user = {
    response: ({ status }: { status: number }, at: number): void => {
      if (status < 200) return
      endOnFailure(core, session, status, at)
      next(at)
    },
    failed: (cause: 'timeout' | 'unreachable', at: number): void => {
      if (cause === 'timeout') endOnFailure(core, session, 408, at)
      next(at)
    },
  }
  sendInDialog(core, session, session.dialog, { method: 'INFO', headers: [], body }, user, now)
}
