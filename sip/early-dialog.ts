import { type AgentCore, bodyOf, type Session } from './agent-core.ts'
import type { Body } from './agent-types.ts'
import { type Dialog, dialogOfResponse, type EarlyDialog } from './dialog.ts'
import { sendInDialog } from './in-dialog-request.ts'
import type { OutgoingRequest } from './message/format.ts'
import type { SipResponse } from './message/message.ts'
import type { ClientTransaction } from './transaction/transactions.ts'

/** The role of a response in its dialog. A retransmission, and one that arrives before a missing one, is not reported. */
type Provisional =
  | { kind: 'ignored' }
  /** Not reliable: no PRACK is needed. */
  | { kind: 'plain' }
  /** Acknowledged already, unless it has an offer: then `acknowledge` sends the answer. */
  | { kind: 'reliable'; acknowledge: ((answer: Body | null, now: number) => void) | null }

interface Invited {
  core: AgentCore
  session: Session
  invite: OutgoingRequest
  transaction: ClientTransaction
}

/** The number of a reliable response (RFC 3262 §7.1); null: it is not one. */
function rseqOf({ headers, to }: SipResponse): number | null {
  const value = headers.get('rseq')
  if (to.tag === null || value === null || !headers.hasToken('require', '100rel')) return null
  return /^\d{1,10}$/.test(value.trim()) ? Number(value) : null
}

/** Takes a provisional response; the early dialog that it belongs to or makes is kept in `dialogs` by its tag. */
export function takeProvisional(
  { core, session, invite, transaction }: Invited,
  dialogs: Map<string, EarlyDialog>,
  response: SipResponse,
  now: number,
): Provisional {
  const rseq = asksForReliable(invite) ? rseqOf(response) : null
  const { tag } = response.to
  if (tag === null) return { kind: 'plain' }
  const known = dialogs.get(tag)
  if (known === undefined && dialogs.size >= MAX_EARLY_DIALOGS) return { kind: rseq === null ? 'plain' : 'ignored' }
  // The first may have any number. Later ones are processed in order; one that is too early is ignored, since it will be retransmitted.
  if (rseq !== null && known?.rseq != null && rseq !== known.rseq + 1) return { kind: 'ignored' }
  const early = known ?? {
    dialog: dialogOfResponse(invite, session.localTag, response, transaction.to, core.sender),
    ...{ rseq, description: null, preview: null, isUpdated: false },
  }
  dialogs.set(tag, early)
  const body = bodyOf(response)
  if (rseq === null) {
    early.preview = body ?? early.preview
    return { kind: 'plain' }
  }
  early.rseq = rseq
  const isOffer = body !== null && invite.body === null && early.description === null
  early.description ??= body
  const headers = [['RAck', `${rseq} ${invite.cseq} INVITE`]] as const
  const acknowledge = (answer: Body | null, at: number): void =>
    sendInDialog(core, session, early.dialog, { method: 'PRACK', headers, body: answer }, NOBODY, at)
  if (isOffer) return { kind: 'reliable', acknowledge }
  acknowledge(null, now)
  return { kind: 'reliable', acknowledge: null }
}

/** Maximum number of forks of one call that are distinguished. */
const MAX_EARLY_DIALOGS = 20

/** A PRACK that is refused or not answered changes nothing: the INVITE decides about the call. */
const NOBODY = { response: () => {}, failed: () => {} }

const asksForReliable = ({ headers }: OutgoingRequest): boolean =>
  headers.some(([name, value]) => name === 'Supported' && /\b100rel\b/.test(value))

/** The dialog of a 2xx continues the CSeq of its early dialog, of both sides. */
export function confirm(dialog: Dialog, early: EarlyDialog | undefined): Dialog {
  if (early === undefined) return dialog
  dialog.localSeq = Math.max(dialog.localSeq, early.dialog.localSeq)
  dialog.remoteSeq = early.dialog.remoteSeq
  return dialog
}

/** The agreement in a 2xx, given the earlier ones; null: an UPDATE has settled it, or there is none. */
export function agreedBy(response: SipResponse, early: EarlyDialog | undefined, hadOffer: boolean): Body | null {
  if (early?.isUpdated === true) return null
  // A description in a reliable provisional response is agreed on, whatever follows (RFC 3261 §13.2.1).
  const said = early?.description ?? bodyOf(response)
  // Some gateways do not repeat in their 200 what their 183 has said, although they must.
  return said ?? (hadOffer ? (early?.preview ?? null) : null)
}
