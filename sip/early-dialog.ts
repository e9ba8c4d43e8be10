import { type AgentCore, bodyOf, type Session } from './agent-core.ts'
import type { Body } from './agent-types.ts'
import { type Dialog, dialogOfResponse } from './dialog.ts'
import { sendInDialog } from './in-dialog-request.ts'
import type { OutgoingRequest } from './message/format.ts'
import type { SipResponse } from './message/message.ts'
import type { ClientTransaction } from './transaction/transactions.ts'

/** A dialog of our call before it is answered: its reliable provisional responses are acknowledged in order (RFC 3262 §4). */
export interface EarlyDialog {
  readonly dialog: Dialog
  /** RSeq of the last acknowledged one. */
  rseq: number
  /** The description in a reliable response: the far end's answer, after which a 2xx adds nothing; or its offer. */
  description: Body | null
}

/** The role of a response in its dialog. A retransmission, and one that arrives before a missing one, is not reported. */
export type Provisional =
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
  if (rseq === null) return { kind: 'plain' }
  const tag = response.to.tag!
  const known = dialogs.get(tag)
  if (known === undefined && dialogs.size >= MAX_EARLY_DIALOGS) return { kind: 'ignored' }
  // The first may have any number. Later ones are processed in order; one that is too early is ignored, since it will be retransmitted.
  if (known !== undefined && rseq !== known.rseq + 1) return { kind: 'ignored' }
  const early = known ?? {
    dialog: dialogOfResponse(invite, session.localTag, response, transaction.to),
    rseq,
    description: null,
  }
  early.rseq = rseq
  dialogs.set(tag, early)
  const body = bodyOf(response)
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

/** The dialog of a 2xx continues the CSeq of its early dialog. */
export function confirm(dialog: Dialog, early: EarlyDialog | undefined): Dialog {
  if (early !== undefined) dialog.localSeq = Math.max(dialog.localSeq, early.dialog.localSeq)
  return dialog
}
