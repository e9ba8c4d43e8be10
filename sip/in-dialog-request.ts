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

/** The ACK for a 2xx, repeated for every retransmitted 2xx. */
export interface SuccessAck {
  /** Null while its destination is looked up, or if it leads nowhere. */
  again: (() => void) | null
}

/**
 * Sends the ACK for a 2xx: a request of its own outside of any transaction (RFC 3261 §13.2.2.4). Nobody tells that it did not arrive but a
 * 2xx that comes again: then it goes to the next address of its destination, if there are several (RFC 3263 §4.3).
 */
export function sendSuccessAck(
  core: AgentCore,
  dialog: Dialog,
  invite: OutgoingRequest,
  body: Body | null,
  now: number,
): SuccessAck {
  const ack: SuccessAck = { again: null }
  const { uri, route, nextHop } = routingOf(dialog.remoteTarget, dialog.routeSet)
  const bytesFor = (to: Peer): Uint8Array =>
    formatRequest({
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
  core.locate(
    destinationOfDialog(dialog, nextHop),
    found => {
      const last = otherwiseTo(dialog)
      const ways = found.length === 0 && last !== undefined ? [last] : found
      const bytes: Uint8Array[] = []
      let sent = 0
      if (ways.length === 0) return
      ack.again = () => {
        const at = sent++ % ways.length
        const to = ways[at]!
        // To one address always the same.
        bytes[at] ??= bytesFor(to)
        core.send(bytes[at], to)
      }
      ack.again()
    },
    now,
  )
  return ack
}

export const repeatAck = ({ again }: SuccessAck): void => again?.()
