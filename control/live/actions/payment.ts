import { isFailure } from '../../../media/protocol.ts'
import type { Db } from '../../store.ts'
import { forTenant, type Tenant } from '../../tenancy.ts'
import type { ActionOutcome, ActionScene } from '../flow-play.ts'
import { type CentreParts, type ReachMemo, reach, untilGone } from './reach.ts'

export interface PaymentParts extends CentreParts {
  pciOf: (db: Db, tenant: Tenant) => Promise<{ enabled: boolean; maskDtmf: boolean; maxSeconds: number }>
}

const failed = (outcome: string): ActionOutcome => ({ status: 'failed', outcome, output: null })

/**
 * Puts the caller through to the payment line: the node's target, else the organisation's first payment number. While they are
 * connected all capture is paused and the caller's keys reach the payment line alone; we never hold a card number. `paid`: the
 * payment line has ended the connection, as it does when it is done. The pause stands on the payment line's leg: it covers the
 * conversation, ends with that leg whatever becomes of this process, and a pause of the caller's own is none of its business.
 */
export async function payment(parts: PaymentParts, scene: ActionScene): Promise<ActionOutcome> {
  const { stage, request } = scene
  const pci = await parts.pciOf(parts.store.db, stage.tenant)
  const line = pci.enabled && stage.tenant.livemode ? await paymentLine(parts, scene) : null
  if (line === null) return failed('failed')
  await scene.flush()
  const reaching = await reach(parts, scene, { type: 'number', to: line }, scene.memo as ReachMemo | null)
  if (reaching.reached !== 'answered') return failed(reaching.reached)
  const { legId, ringId } = reaching
  const paused = await stage.request('capture.pause', {
    target: { legId },
    maxSeconds: pci.maxSeconds,
    reason: 'payment',
    maskDtmf: pci.maskDtmf,
    destinationLegId: legId,
  })
  // A conflict: it was paused before a restart. Not there: the line has hung up.
  if (isFailure(paused) && paused.failure !== 'conflict' && paused.failure !== 'not_found') {
    await stage.request('leg.hangup', { legId, reason: 'internal_error' })
    await untilGone(stage, ringId)
    return failed('failed')
  }
  await untilGone(stage, ringId)
  return { status: 'succeeded', outcome: 'paid', output: String(request.input.amount ?? '') }
}

/** The node's target, else the organisation's first payment number. */
async function paymentLine({ store }: PaymentParts, { stage, request }: ActionScene): Promise<string | null> {
  if (request.node.target !== undefined) return String(request.input.target_id ?? '')
  return firstPaymentNumber(store.db, stage.tenant)
}

async function firstPaymentNumber(db: Db, tenant: Tenant): Promise<string | null> {
  const numbers = forTenant(db, tenant).select('phone_numbers').select('number').where('payment_line', '=', 1)
  return (await numbers.orderBy('id').limit(1).executeTakeFirst())?.number ?? null
}
