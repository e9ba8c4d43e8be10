import { isFailure } from '../../../media/protocol.ts'
import { wayTo } from '../../calls/dial.ts'
import type { Db, Store } from '../../store.ts'
import { forTenant, type Tenant } from '../../tenancy.ts'
import type { ActionOutcome, ActionScene } from '../flow-play.ts'
import { type BridgeMemo, reach, untilGone } from './bridge.ts'

export interface PaymentParts {
  store: Store
  sipHost: string
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
  const memo = scene.memo as BridgeMemo | null
  const { reached, memo: bridge } = await reach(scene, line, memo)
  if (reached !== 'answered') return failed(reached)
  const target = { legId: stage.legId }
  const paused = await stage.request('capture.pause', {
    target,
    maxSeconds: pci.maxSeconds,
    reason: 'payment',
    maskDtmf: pci.maskDtmf,
    destinationLegId: bridge.legId,
  })
  // Paused already, by the API or before a restart: that pause serves.
  if (isFailure(paused) && paused.failure !== 'conflict') {
    await stage.request('leg.hangup', { legId: bridge.legId, reason: 'internal_error' })
    await untilGone(scene, bridge.legId)
    return failed('failed')
  }
  await untilGone(scene, bridge.legId)
  await stage.request('capture.resume', { target })
  return { status: 'succeeded', outcome: 'paid', output: String(request.input.amount ?? '') }
}

async function paymentLine({ store, sipHost }: PaymentParts, { stage, request }: ActionScene) {
  const { tenant } = stage
  const named = request.node.target === undefined ? null : String(request.input.target_id ?? '')
  const number = named ?? (await firstPaymentNumber(store.db, tenant))
  if (number === null) return null
  const way = await wayTo(store.db, tenant, { to: number }, sipHost)
  if ('problem' in way) return null
  return { target: way.target, to: number, from: way.from, connectionId: way.connection?.id ?? null }
}

async function firstPaymentNumber(db: Db, tenant: Tenant): Promise<string | null> {
  const numbers = forTenant(db, tenant).select('phone_numbers').select('number').where('payment_line', '=', 1)
  return (await numbers.orderBy('id').limit(1).executeTakeFirst())?.number ?? null
}
