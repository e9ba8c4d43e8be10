import type { AgentCore, OwnRefer, Session } from '../agent-core.ts'
import type { HeaderFields } from '../agent-types.ts'
import { endOnFailure } from '../ending.ts'
import { sendInDialog } from '../in-dialog-request.ts'
import { safeValue } from '../message/format.ts'
import { mediaType, parseDeltaSeconds } from '../message/headers.ts'
import type { SipResponse } from '../message/message.ts'
import { paramValue } from '../message/params.ts'
import type { ServerTransaction } from '../transaction/transactions.ts'
import { badEvent, isOfRefer } from './peer-refer.ts'
import { formatReferTo } from './refer-to.ts'

/** Maximum wait for the next NOTIFY, whatever duration the far end names [s]. */
const MAX_WAIT_S = 180

export interface ReferRequest {
  /** The URI that the far end is to call. */
  to: string
  /** The value of Replaces in its INVITE; null: a new call. */
  replaces: string | null
  /** User-to-user information for who is called (RFC 7433 §3.3). */
  userToUser?: string | null
  /** Who requests it (RFC 3892); null: not stated. */
  referredBy: string | null
}

/** Asks the far end of a confirmed call to call somebody else (RFC 3515 §2.4.1); null: not possible in this call. */
export function sendRefer(core: AgentCore, session: Session, request: ReferRequest, now: number): string | null {
  const { dialog } = session
  if (session.phase !== 'confirmed' || dialog === null || core.ownRefers.has(session.id)) return null
  const refer: OwnRefer = { id: core.options.random(), session, cseq: 0, limit: null }
  core.ownRefers.set(session.id, refer)
  const { replaces, userToUser = null } = request
  const asked: HeaderFields = [
    ...(replaces === null ? [] : [['Replaces', replaces] as const]),
    ...(userToUser === null ? [] : [['User-to-User', userToUser] as const]),
  ]
  const headers: HeaderFields = [
    ['Refer-To', formatReferTo(safeValue(request.to), asked)],
    ...(request.referredBy === null ? [] : [['Referred-By', `<${safeValue(request.referredBy)}>`] as const]),
    ['Contact', core.contactIn(dialog, session.user)],
  ]
  const user = {
    response: (response: SipResponse, at: number): void => {
      if (response.status >= 200) answered(core, refer, response, at)
    },
    // A far end that does not answer a REFER may still be there: the call goes on.
    failed: (cause: 'timeout' | 'unreachable'): void => over(core, refer, cause === 'timeout' ? 408 : 503),
  }
  sendInDialog(core, session, dialog, { method: 'REFER', headers, body: null }, user, now, sent => {
    refer.cseq = sent.cseq
  })
  return refer.id
}

function answered(core: AgentCore, refer: OwnRefer, response: SipResponse, now: number): void {
  const { session } = refer
  const { status, headers } = response
  // Its first NOTIFY may have arrived before, and have been the last.
  if (core.ownRefers.get(session.id) !== refer) return
  if (status >= 300) {
    over(core, refer, status)
    if (status === 481) endOnFailure(core, session, status, now)
    return
  }
  core.emit({ kind: 'referAccepted', sessionId: session.id, referId: refer.id })
  // We get no NOTIFYs although we did not ask for that (RFC 4488 §4): only the acceptance is known.
  if (/^false\b/i.test(headers.get('refer-sub') ?? '')) over(core, refer, 200)
  else if (refer.limit === null) wait(core, refer, 64 * core.timers.t1, now)
}

function wait(core: AgentCore, refer: OwnRefer, limitMs: number, now: number): void {
  core.deadlines.cancel(refer.limit)
  refer.limit = core.deadlines.set(now + limitMs, () => over(core, refer, 408))
}

function over(core: AgentCore, refer: OwnRefer, status: number): void {
  core.deadlines.cancel(refer.limit)
  if (core.ownRefers.get(refer.session.id) !== refer) return
  core.ownRefers.delete(refer.session.id)
  core.emit({ kind: 'referProgress', sessionId: refer.session.id, referId: refer.id, status, isOver: true })
}

/** A NOTIFY inside a call: the progress of our REFER (RFC 3515 §2.4.4). */
export function onReferNotify(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  const { request } = transaction
  const event = request.headers.get('event') ?? ''
  if (!isOfRefer(event)) {
    core.respond(transaction, badEvent, now)
    return
  }
  const refer = core.ownRefers.get(session.id)
  const id = paramValue(event, 'id')
  if (refer === undefined || (id !== null && id !== String(refer.cseq))) {
    core.respond(transaction, { status: 481 }, now)
    return
  }
  core.respond(transaction, { status: 200 }, now)
  const state = request.headers.get('subscription-state') ?? ''
  const status = statusIn(request.headers.get('content-type') ?? '', request.body)
  if (status !== null && status >= 200) over(core, refer, status)
  // It ends without a result: whether the target was reached is unknown.
  else if (/^terminated\b/i.test(state)) over(core, refer, 408)
  else {
    const expiresS = parseDeltaSeconds(paramValue(state, 'expires') ?? '') ?? MAX_WAIT_S
    wait(core, refer, Math.min(Math.max(expiresS, 1), MAX_WAIT_S) * 1000, now)
    if (status === null) return
    core.emit({ kind: 'referProgress', sessionId: session.id, referId: refer.id, status, isOver: false })
  }
}

/** The status line of a fragment of a SIP message (RFC 3420); null: it has none. */
function statusIn(type: string, body: Uint8Array): number | null {
  if (mediaType(type) !== 'message/sipfrag') return null
  const found = /^SIP\/2\.0 ([1-6]\d\d)(?= |\r|\n|$)/i.exec(Buffer.from(body.subarray(0, 100)).toString('latin1'))
  return found === null ? null : Number(found[1])
}
