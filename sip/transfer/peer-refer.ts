import type { AgentCore, PeerRefer, Session } from '../agent-core.ts'
import type { Body, HeaderFields, Peer } from '../agent-types.ts'
import { dialogOfRequest } from '../dialog.ts'
import { sendInDialog } from '../in-dialog-request.ts'
import { reasonOf } from '../message/format.ts'
import { parseDeltaSeconds, parseNameAddr } from '../message/headers.ts'
import type { SipRequest } from '../message/message.ts'
import { toText } from '../message/message.ts'
import { paramValue } from '../message/params.ts'
import type { ServerTransaction } from '../transaction/transactions.ts'
import { referTarget } from './refer-to.ts'

/** How long progress is reported [s]; without a result by then, 408 is reported. */
const EXPIRES_S = 180
/** Of one call. */
const MAX_OPEN = 2
const MAX_URI = 500
const SIPFRAG = 'message/sipfrag;version=2.0'

/** A REFER inside a call, or beside a call that its Target-Dialog names. */
export function onRefer(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  const { request } = transaction
  const target = referTarget(request)
  const open = [...core.peerRefers.values()].filter(refer => refer.session === session)
  const status = target === null ? 400 : session.phase === 'inviting' ? 403 : open.length >= MAX_OPEN ? 491 : null
  const beside = request.to.tag === null
  const localTag = beside ? core.options.random() : session.localTag
  const dialog = beside ? dialogOfRequest(request, localTag, core.sender!) : session.dialog
  if (target === null || status !== null || dialog === null) {
    core.respond(transaction, { status: status ?? 400, toTag: localTag }, now)
    return
  }
  const refer: PeerRefer = {
    id: core.options.random(),
    session,
    dialog,
    eventId: open.length > 0 && !beside ? String(request.cseq.number) : null,
    isSilent: /^false\b/i.test(request.headers.get('refer-sub') ?? ''),
    transaction,
    expires: null,
    told: 100,
    isNotifying: false,
    next: null,
  }
  core.peerRefers.set(refer.id, refer)
  const { replaces } = target
  core.emit({
    kind: 'refer',
    sessionId: session.id,
    referId: refer.id,
    to: toText(target.uri),
    replaces: replaces === null ? null : { ...replaces, sessionId: core.findNamed(replaces)?.id ?? null },
    userToUser: target.userToUser === null ? null : toText(target.userToUser),
    referredBy: referredByOf(request),
  })
}

/** The URI in Referred-By; null: not stated, or private (RFC 3323 §4.2). Its proof (`cid`) is not passed on, since it is only for its recipient. */
function referredByOf({ headers }: SipRequest): string | null {
  const value = headers.get('referred-by')
  const isPrivate = headers.list('privacy').some(list => /\b(?:id|user|header)\b/i.test(list))
  const uri = value === null || isPrivate ? undefined : parseNameAddr(value)?.uri
  return uri === undefined || uri.length > MAX_URI ? null : toText(uri)
}

/** The call named by a REFER outside of any dialog (RFC 4538), if the REFER comes from where that call's far end is. */
export function targetOfOutsideRefer(core: AgentCore, request: SipRequest, from: Peer): Session | null {
  const value = request.headers.get('target-dialog') ?? ''
  const semi = value.indexOf(';')
  if (semi < 0) return null
  const [callId, params] = [value.slice(0, semi).trim(), value.slice(semi)]
  const tags = [paramValue(params, 'local-tag') ?? '', paramValue(params, 'remote-tag') ?? '']
  // Implementations disagree about whose point of view the two tags take.
  const session =
    core.findNamed({ callId, toTag: tags[0]!, fromTag: tags[1]! }) ??
    core.findNamed({ callId, toTag: tags[1]!, fromTag: tags[0]! })
  return session?.phase === 'confirmed' && session.dialog?.peer.host === from.host ? session : null
}

/**
 * Accepts a REFER, or refuses it with a status from 300 on (RFC 3515 §2.4.2). An accepted one is answered 202 with the first NOTIFY at once,
 * or 200 if no NOTIFYs are wanted (RFC 4488 §4).
 */
export function answerRefer(core: AgentCore, refer: PeerRefer, status: number, now: number): void {
  const { transaction, session, isSilent, dialog } = refer
  if (transaction === null) return
  refer.transaction = null
  const isAccepted = status < 300
  const contact: HeaderFields = [['Contact', core.contactIn(dialog, session.user)]]
  const headers: HeaderFields = isSilent ? [...contact, ['Refer-Sub', 'false']] : contact
  const answer = isAccepted ? { status: isSilent ? 200 : 202, headers } : { status }
  core.respond(transaction, { ...answer, toTag: dialog.localTag }, now)
  if (!isAccepted || isSilent) {
    core.peerRefers.delete(refer.id)
    return
  }
  expireAt(core, refer, now + EXPIRES_S * 1000)
  notifyRefer(core, refer, 100, now)
}

function expireAt(core: AgentCore, refer: PeerRefer, at: number): void {
  core.deadlines.cancel(refer.expires?.deadline ?? null)
  refer.expires = { at, deadline: core.deadlines.set(at, when => notifyRefer(core, refer, 408, when)) }
}

/**
 * A SUBSCRIBE inside a call: whoever has sent a REFER asks how it goes, or wants to hear no more of it (RFC 3515 §2.4.4). A REFER alone begins such a
 * subscription, and nothing prolongs it.
 */
export function onReferSubscribe(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  const { headers } = transaction.request
  const event = headers.get('event') ?? ''
  const id = isOfRefer(event) ? paramValue(event, 'id') : null
  const refer = [...core.peerRefers.values()].find(
    one => one.dialog === session.dialog && one.expires !== null && one.eventId === id,
  )
  if (!isOfRefer(event) || refer === undefined || refer.expires === null) {
    const refusal = isOfRefer(event) ? { status: 403 } : badEvent
    core.respond(transaction, refusal, now)
    return
  }
  const leftS = Math.max(0, Math.ceil((refer.expires.at - now) / 1000))
  const grantedS = Math.min(parseDeltaSeconds(headers.get('expires') ?? '') ?? leftS, leftS)
  const contact = core.contactIn(refer.dialog, session.user)
  core.respond(
    transaction,
    {
      status: 200,
      headers: [
        ['Contact', contact],
        ['Expires', String(grantedS)],
      ],
    },
    now,
  )
  expireAt(core, refer, now + grantedS * 1000)
  notifyRefer(core, refer, refer.told, now)
}

export const isOfRefer = (event: string): boolean => /^refer\s*(;|$)/i.test(event)

/** The answer about any other event inside a call. */
export const badEvent = { status: 489, headers: [['Allow-Events', 'refer']] } as const

/** Reports progress by the status of the target's answer; a status from 200 on is the result. */
export function notifyRefer(core: AgentCore, refer: PeerRefer, status: number, now: number): void {
  if (refer.expires === null || (refer.next !== null && refer.next >= 200)) return
  if (refer.isNotifying) {
    refer.next = status
    return
  }
  refer.isNotifying = true
  refer.told = status
  const isLast = status >= 200 || refer.expires.at <= now
  const done = (isKnown: boolean, at: number): void => {
    refer.isNotifying = false
    const { next } = refer
    refer.next = null
    // A far end that does not know the subscription, or does not answer, gets no further reports; the call goes on (RFC 5057 §5.1).
    if (!isKnown || isLast) forgetRefer(core, refer)
    else if (next !== null) notifyRefer(core, refer, next, at)
  }
  sendInDialog(
    core,
    refer.session,
    refer.dialog,
    { method: 'NOTIFY', headers: notifyHeaders(core, refer, status, now), body: fragment(status) },
    {
      response: (response, at) => {
        if (response.status >= 200) done(response.status < 300, at)
      },
      failed: (_, at) => done(false, at),
    },
    now,
  )
}

function notifyHeaders(core: AgentCore, refer: PeerRefer, status: number, now: number): HeaderFields {
  const leftS = Math.ceil((refer.expires!.at - now) / 1000)
  const isActive = leftS > 0 && status < 200
  const state = isActive ? `active;expires=${leftS}` : `terminated;reason=${leftS > 0 ? 'noresource' : 'timeout'}`
  return [
    ['Event', refer.eventId === null ? 'refer' : `refer;id=${refer.eventId}`],
    ['Subscription-State', state],
    ['Contact', core.contactIn(refer.dialog, refer.session.user)],
  ]
}

const fragment = (status: number): Body => ({
  type: SIPFRAG,
  bytes: Buffer.from(`SIP/2.0 ${status} ${reasonOf(status)}\r\n`),
})

function forgetRefer(core: AgentCore, refer: PeerRefer): void {
  core.deadlines.cancel(refer.expires?.deadline ?? null)
  refer.expires = null
  core.peerRefers.delete(refer.id)
}
