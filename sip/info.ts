import { ACCEPT, type AgentCore, type Session } from './agent-core.ts'
import type { Body, HeaderFields } from './agent-types.ts'
import { endOnFailure } from './ending.ts'
import { sendInDialog } from './in-dialog-request.ts'

/** INFOs and OPTIONS of one call that may wait for the previous answer; further ones are dropped and counted. */
const MAX_WAITING = 64
/** Of a dialog that is over, and what proxies answer for a far end that they do not reach (RFC 5057). Any other answer is its own. */
const GONE: ReadonlySet<number> = new Set([408, 480, 481, 502, 503, 504])

/**
 * Sends an INFO inside a confirmed call, once earlier ones have been answered. Two at once could overtake each other, and the later one
 * would be refused because of its CSeq (RFC 3261 §12.2.2).
 */
export function sendInfo(core: AgentCore, session: Session, body: Body, now: number): void {
  enqueue(core, session, body, now)
}

/** Sends an OPTIONS (RFC 3261 §11) in the same way, whose answer shows that the far end is there. No answer ends the call: its audio may show it, too. */
export function sendOptions(core: AgentCore, session: Session, now: number): void {
  if (!session.inOrder.includes(null)) enqueue(core, session, null, now)
}

function enqueue(core: AgentCore, session: Session, body: Body | null, now: number): void {
  if (session.phase !== 'confirmed' || session.dialog === null) return
  if (session.inOrder.length > MAX_WAITING) {
    core.counters.dropped++
    return
  }
  session.inOrder.push(body)
  if (session.inOrder.length === 1) sendFirst(core, session, now)
}

function sendFirst(core: AgentCore, session: Session, now: number): void {
  const body = session.inOrder[0]
  if (body === undefined || session.phase !== 'confirmed' || session.dialog === null) return
  const done = (status: number, at: number): void => {
    if (body !== null) endOnFailure(core, session, status, at)
    else if (!GONE.has(status)) core.emit({ kind: 'present', sessionId: session.id })
    session.inOrder.shift()
    sendFirst(core, session, at)
  }
  const user = {
    response: ({ status }: { status: number }, at: number): void => {
      if (status >= 200) done(status, at)
    },
    failed: (cause: 'timeout' | 'unreachable', at: number): void => done(cause === 'timeout' ? 408 : 503, at),
  }
  const headers: HeaderFields = body === null ? [['Accept', ACCEPT]] : []
  const method = body === null ? 'OPTIONS' : 'INFO'
  sendInDialog(core, session, session.dialog, { method, headers, body }, user, now)
}
