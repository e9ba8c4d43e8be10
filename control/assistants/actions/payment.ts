import type { EndedReason } from '../../../media/protocol.ts'
import { type Cause, toCause } from '../../calls/cause-schema.ts'
import { isPaymentNumber } from '../../calls/pci.ts'
import type { ActionRequest } from '../../flows/engine/effects.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { PciOf, PciSettings } from '../../organisation/pci.ts'
import { type ActionOutcome, type ActionScene, failed } from '../flow-play.ts'
import { type CentreParts, type ReachMemo, reach, untilGone } from './reach.ts'

export interface PaymentParts extends CentreParts {
  pciOf: PciOf
}

/** User-to-user information that every network carries (RFC 7433 §3.3) [octets]. */
const MAX_TOLD = 128

/** Reasons for which a connection ends without the payment line having hung up. */
const CUT_SHORT: readonly EndedReason[] = [
  'max_duration',
  'rtp_timeout',
  'session_expired',
  'trunk_error',
  'media_failed',
  'shutdown',
  'internal_error',
]

/** Q.850 causes of a payment line that is done: normal call clearing; normal, unspecified; interworking (§2.2.7.7: its network names none). */
const DONE: readonly (number | null)[] = [16, 31, 127, null]

/** Whether nothing but the line itself has ended its leg, and its BYE names no fault (RFC 3326). Null: nothing is known of it. */
const isDone = (cause: Cause | null): boolean =>
  cause === null || (cause.by === 'far_end' && DONE.includes(cause.q850) && (cause.sip ?? 0) < 300)

/**
 * Puts the caller through to the payment line: the node's target, otherwise the organisation's first payment number. While they are
 * connected, all capture is paused and the caller's keys reach only the payment line, so we never store a card number. Outcome `paid`: the
 * payment line has hung up, as it does when it is done, and has named no fault. Pause and connection are one command (`leg.move` with `payment`), whichever process
 * sends it. The pause belongs to the payment line's leg and covers the conversation from its first frame; neither outlives the other, even
 * if this process dies. A pause that the caller's leg already has is left alone.
 */
export async function payment(parts: PaymentParts, scene: ActionScene): Promise<ActionOutcome> {
  const { stage, request } = scene
  const pci = await parts.pciOf(parts.store.db, stage.tenant)
  const line = pci.enabled && stage.tenant.livemode ? await paymentLine(parts, scene, pci) : null
  if (line === null) return failed('failed')
  await scene.flush()
  const pause = { maxSeconds: pci.maxSeconds, reason: 'payment', maskDtmf: pci.maskDtmf }
  const memo = scene.memo as ReachMemo | null
  const joining = { payment: pause, userToUser: dueOf(request) }
  const reaching = await reach(parts, scene, { type: 'number', to: line }, memo, joining)
  if (reaching.reached !== 'answered') return failed(reaching.reached)
  const reason = await untilGone(stage, reaching.ringId)
  const leg = await forTenant(parts.store.db, stage.tenant).find('participants', reaching.legId)
  if (CUT_SHORT.includes(reason) || !isDone(toCause(leg?.cause ?? null))) return failed('failed')
  return { status: 'succeeded', outcome: 'paid', output: String(request.input.amount ?? '') }
}

/**
 * What is due, for the payment line: JSON in hex as user-to-user information (RFC 7433). A description that is too long is cut. Sensitive
 * values are left out: who carries the call, and its SIP messages, would show them. Undefined: nothing that fits.
 */
function dueOf({ input, shown = input }: ActionRequest): string | undefined {
  const names = ['amount', 'currency', 'description'].filter(name => input[name] && input[name] === shown[name])
  const due: Record<string, string> = Object.fromEntries(names.map(name => [name, String(input[name])]))
  const bytes = () => Buffer.from(JSON.stringify(due))
  while (bytes().length > MAX_TOLD && due.description) due.description = [...due.description].slice(0, -1).join('')
  const fits = names.length > 0 && bytes().length <= MAX_TOLD
  return fits ? `${bytes().toString('hex')};encoding=hex` : undefined
}

/** The number of the payment line; null: there is none that may be called. */
async function paymentLine(
  { store }: PaymentParts,
  { stage, request }: ActionScene,
  { numbersOnly }: PciSettings,
): Promise<string | null> {
  if (request.node.target !== undefined) {
    const named = String(request.input.target_id ?? '')
    return numbersOnly && !(await isPaymentNumber(store.db, stage.tenant, named)) ? null : named
  }
  return firstPaymentNumber(store.db, stage.tenant)
}

async function firstPaymentNumber(db: Db, tenant: Tenant): Promise<string | null> {
  const numbers = forTenant(db, tenant).select('phone_numbers').select('number').where('payment_line', '=', 1)
  return (await numbers.orderBy('id').limit(1).executeTakeFirst())?.number ?? null
}
