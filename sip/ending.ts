import { type AgentCore, headerReader, type OwnReinvite, type Session } from './agent-core.ts'
import type { EndCause, HeaderFields, UaEvent } from './agent-types.ts'
import type { Dialog } from './dialog.ts'
import { sendInDialog } from './in-dialog-request.ts'
import { Headers } from './message/message.ts'
import { parseReasons, q850, reasonFields } from './message/reason.ts'

/** The cause if we end a call because nobody answered in time. */
export const TIMER_EXPIRED: HeaderFields = reasonFields([q850(102)])
/** The cause if the caller has hung up before the answer. */
export const CALLER_CLEARED: HeaderFields = reasonFields([q850(16)])

/** Reports the end of a session, once. Only clean-up on the wire continues. `refusal`: of the 487 to what is not answered yet. */
export function finish(
  core: AgentCore,
  session: Session,
  event: UaEvent,
  now: number,
  refusal: HeaderFields = [],
): void {
  if (session.phase === 'over') return
  const { deadlines } = core
  session.phase = 'over'
  for (const one of [session.refreshAt, session.expireAt, session.provisionalAt]) deadlines.cancel(one)
  stopProvisionals(core, session)
  if (session.ownReinvite !== null) releaseReinvite(core, session.ownReinvite, now)
  for (const open of [session.incoming, session.peerReinvite]) {
    if (open !== null) core.respond(open, { status: 487, toTag: session.localTag, headers: refusal }, now)
  }
  session.incoming = null
  session.peerReinvite = null
  core.emit(event)
}

/** After the end of the call its re-INVITE may never be answered, so its transaction is given a deadline. */
function releaseReinvite(core: AgentCore, own: OwnReinvite, now: number): void {
  core.deadlines.cancel(own.retry)
  core.deadlines.set(now + 64 * core.timers.t1, () => {
    if (own.transaction?.state === 'proceeding') core.transactions.abandon(own.transaction)
  })
}

export const ended = (
  session: Session,
  by: 'local' | 'remote',
  cause: EndCause,
  headers: Headers | null = null,
): UaEvent => ({
  kind: 'ended',
  sessionId: session.id,
  by,
  cause,
  reasonHeader: headers?.get('reason') ?? null,
  reasons: headers === null ? [] : parseReasons(headers),
  header: headerReader(headers ?? new Headers()),
})

/** Stops retransmitting them. A late PRACK is still answered (§3). */
export function stopProvisionals(core: AgentCore, session: Session): void {
  const { reliable } = session
  if (reliable === null) return
  reliable.next = null
  core.deadlines.cancel(reliable.waiting?.again ?? null)
  core.deadlines.cancel(reliable.waiting?.limit ?? null)
}

/** Stops retransmitting a 2xx. */
export function stopAwaitingAck(core: AgentCore, session: Session): void {
  core.deadlines.cancel(session.awaitedAck?.again ?? null)
  core.deadlines.cancel(session.awaitedAck?.limit ?? null)
  session.awaitedAck = null
}

/** Sends BYE, and forgets the session when it is answered; its end was reported already. */
export function hangUp(core: AgentCore, session: Session, headers: HeaderFields, now: number): void {
  stopAwaitingAck(core, session)
  // A 2xx with an offer must be acknowledged before the BYE, even if nobody needs its offer any more.
  session.acknowledge?.(null, now)
  const { dialog } = session
  if (dialog === null) core.forget(session)
  else sayBye(core, session, dialog, headers, now, () => core.forget(session))
}

/** BYE for one dialog (RFC 3261 §15.1.1), whatever is answered. */
export function sayBye(
  core: AgentCore,
  session: Session,
  dialog: Dialog,
  headers: HeaderFields,
  now: number,
  done: () => void,
): void {
  const user = {
    response: (response: { status: number }): void => {
      if (response.status >= 200) done()
    },
    failed: done,
  }
  sendInDialog(core, session, dialog, { method: 'BYE', headers, body: null }, user, now)
}

/** The effect of a failed request inside a dialog: 481, 408 and silence end it (RFC 3261 §12.2.1.2). */
export function endOnFailure(
  core: AgentCore,
  session: Session,
  status: number,
  now: number,
  cause: EndCause = 'timeout',
): boolean {
  if (status !== 481 && status !== 408) return false
  if (session.phase === 'over') return true
  finish(core, session, ended(session, status === 481 ? 'remote' : 'local', cause), now)
  if (status === 408) hangUp(core, session, TIMER_EXPIRED, now)
  else {
    stopAwaitingAck(core, session)
    core.forget(session)
  }
  return true
}
