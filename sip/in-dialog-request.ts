import type { AgentCore, Session } from './agent-core.ts'
import type { Body, HeaderFields, Peer } from './agent-types.ts'
import { credentialsFor } from './auth/credentials.ts'
import { type Dialog, destinationOfDialog, otherwiseTo, routingOf } from './dialog.ts'
import { sendLocated } from './located-request.ts'
import { credentialsOf, formatRequest, type OutgoingRequest } from './message/format.ts'
import type { SipResponse } from './message/message.ts'
import type { ClientTransaction, ClientUser } from './transaction/transactions.ts'

interface InDialogRequest {
  method: string
  headers: HeaderFields
  body: Body | null
}

/**
 * Sends a request inside a dialog (RFC 3261 §12.2.1), and answers challenges if the session has credentials. `user` gets the responses.
 * `sent` gets every form in which the request was sent.
 */
export function sendInDialog(
  core: AgentCore,
  session: Pick<Session, 'credentials' | 'answered'> & Partial<Pick<Session, 'credentialsOf'>>,
  dialog: Dialog,
  request: InDialogRequest,
  user: ClientUser,
  now: number,
  sent: (request: OutgoingRequest, transaction: ClientTransaction) => void = () => {},
): void {
  const send = (authorization: HeaderFields, challenges: number, at: number): void => {
    const { uri, route, nextHop } = routingOf(dialog.remoteTarget, dialog.routeSet)
    let outgoing: OutgoingRequest
    let isForThem = false
    const make = (to: Peer, branch: string): OutgoingRequest => {
      isForThem = (session.credentialsOf ?? to.host) === to.host
      outgoing = {
        method: request.method,
        uri,
        route,
        via: core.via(to, branch),
        from: dialog.local,
        to: dialog.remote,
        callId: dialog.callId,
        cseq: ++dialog.localSeq,
        headers: [...request.headers, ...authorization, ['User-Agent', core.options.name]],
        body: request.body,
      }
      return outgoing
    }
    const response = (answer: SipResponse, when: number): void => {
      const credentials = isForThem ? credentialsFor(core, session, outgoing, answer, challenges) : null
      if (credentials === null) user.response(answer, when)
      else send(credentials, challenges + 1, when)
    }
    const target = destinationOfDialog(dialog, nextHop)
    const otherwise = otherwiseTo(dialog)
    sendLocated(
      core,
      { target, otherwise, make, sent },
      { response, failed: (cause, when) => user.failed(cause, when) },
      at,
    )
  }
  send([], 0, now)
}

/** The ACK for a 2xx, once sent: it is repeated for every retransmitted 2xx. Null while its destination is looked up. */
export interface SuccessAck {
  sent: { bytes: Uint8Array; to: Peer } | null
}

/** Sends the ACK for a 2xx: a request of its own outside of any transaction (RFC 3261 §13.2.2.4). */
export function sendSuccessAck(
  core: AgentCore,
  dialog: Dialog,
  invite: OutgoingRequest,
  body: Body | null,
  now: number,
): SuccessAck {
  const ack: SuccessAck = { sent: null }
  const { uri, route, nextHop } = routingOf(dialog.remoteTarget, dialog.routeSet)
  const target = destinationOfDialog(dialog, nextHop)
  core.locate(
    target,
    ([to = otherwiseTo(dialog)]) => {
      if (to === undefined) return
      const bytes = formatRequest({
        method: 'ACK',
        uri,
        route,
        via: core.via(to, core.branch()),
        from: dialog.local,
        to: dialog.remote,
        callId: dialog.callId,
        cseq: invite.cseq,
        headers: credentialsOf(invite),
        body,
      })
      ack.sent = { bytes, to }
      repeatAck(core, ack)
    },
    now,
  )
  return ack
}

export function repeatAck(core: AgentCore, { sent }: SuccessAck): void {
  if (sent !== null) core.send(sent.bytes, sent.to)
}
