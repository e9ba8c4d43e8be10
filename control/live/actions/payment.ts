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
 * payment line has ended the connection, as it does when it is done.
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
  const target = { legId: stage.legId }
  const paused = await stage.request('capture.pause', {
    target,
    maxSeconds: pci.maxSeconds,
    reason: 'payment',
    maskDtmf: pci.maskDtmf,
    destinationLegId: legId,
  })
  // Paused already, by the API or before a restart: that pause serves.
  if (isFailure(paused) && paused.failure !== 'conflict') {
    await stage.request('leg.hangup', { legId, reason: 'internal_error' })
    await untilGone(stage, ringId)
    return failed('failed')
  }
  await untilGone(stage, ringId)
  await stage.request('capture.resume', { target })
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
