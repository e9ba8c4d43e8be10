import { devicesOf } from '../../agents/devices.ts'
import { wayTo } from '../../calls/dial.ts'
import type { Store, Trx } from '../../store.ts'
import { forTenant, type Tenant } from '../../tenancy.ts'
import type { ActionOutcome, ActionScene } from '../flow-play.ts'
import type { Ending } from '../programs.ts'
import { type BridgeMemo, type Party, type Reached, reach, untilGone } from './bridge.ts'

export interface TransferParts {
  store: Store
  sipHost: string
  /** Puts the call into a queue or a conference room, in this transaction. */
  leadTo: (
    trx: Trx,
    tenant: Tenant,
    led: { callId: string; legId: string; at: string },
    target: { type: 'queue' | 'room'; id: string },
  ) => Promise<void>
}

interface Memo {
  /** Which of the user's devices is being called. */
  device: number
  bridge: BridgeMemo | null
}

const failed = (outcome: string): ActionOutcome => ({ status: 'failed', outcome, output: null })
const done = (ending: Ending): ActionOutcome => ({ status: 'succeeded', outcome: 'completed', output: null, ending })

/** Gives the call to somebody else. `id`: with its variables filled in. */
export async function transfer(parts: TransferParts, scene: ActionScene): Promise<ActionOutcome> {
  const { request } = scene
  const type = request.node.target?.type
  const id = String(request.input.target_id ?? '')
  switch (type) {
    case 'queue':
    case 'room':
      return handOver(parts, scene, { type, id })
    case 'assistant':
    case 'flow':
      return goOn(parts, scene, type, id)
    case 'user':
    case 'number':
    case 'sip':
      return putThrough(parts, scene, type, id)
    case undefined:
      return failed('failed')
  }
}

async function handOver(
  { store, leadTo }: TransferParts,
  scene: ActionScene,
  target: { type: 'queue' | 'room'; id: string },
): Promise<ActionOutcome> {
  const table = target.type === 'queue' ? 'queues' : 'conference_rooms'
  if ((await forTenant(store.db, scene.stage.tenant).find(table, target.id)) === undefined) return failed('failed')
  await scene.flush()
  const { tenant, call, legId } = scene.stage
  return done({
    way: 'handed_over',
    reason: 'transfer',
    write: trx => leadTo(trx, tenant, { callId: call.id, legId, at: scene.stage.now().toISOString() }, target),
  })
}

async function goOn(
  { store }: TransferParts,
  scene: ActionScene,
  type: 'assistant' | 'flow',
  id: string,
): Promise<ActionOutcome> {
  const table = type === 'assistant' ? 'assistants' : 'flows'
  if ((await forTenant(store.db, scene.stage.tenant).find(table, id)) === undefined) return failed('failed')
  await scene.flush()
  return done({ way: 'go_on', target: type === 'assistant' ? { assistantId: id } : { flowId: id } })
}

/** The flow goes on once the other has hung up, where it has a way out for that; else its part ends with their answer. */
async function putThrough(
  { store, sipHost }: TransferParts,
  scene: ActionScene,
  type: 'user' | 'number' | 'sip',
  id: string,
): Promise<ActionOutcome> {
  const { stage, request } = scene
  const memo: Memo = (scene.memo as Memo | null) ?? { device: 0, bridge: null }
  const parties = await partiesOf(store, scene, type, id, sipHost)
  await scene.flush()
  let reached: Reached = type === 'user' ? 'no_answer' : 'failed'
  for (; memo.device < parties.length; memo.device++, memo.bridge = null) {
    const remember: ActionScene['remember'] = (bridge, commit) =>
      scene.remember({ ...memo, bridge: bridge as BridgeMemo }, commit)
    const result = await reach({ stage, remember }, parties[memo.device]!, memo.bridge)
    reached = result.reached
    if (reached !== 'answered') continue
    const comesBack = request.node.transitions?.some(
      ({ condition }) => condition.kind === 'outcome' && condition.value === 'completed',
    )
    if (comesBack !== true) return done({ way: 'bridged', reason: 'transfer' })
    await untilGone({ stage }, result.memo.legId)
    return { status: 'succeeded', outcome: 'completed', output: null }
  }
  return failed(reached)
}

/** Who may be called for this target, in the order in which they are tried. */
async function partiesOf(
  store: Store,
  { stage }: ActionScene,
  type: 'user' | 'number' | 'sip',
  id: string,
  sipHost: string,
): Promise<Party[]> {
  const { tenant, call } = stage
  const from = call.direction === 'inbound' ? call.from_address : call.to_address
  if (type !== 'user') {
    if (!tenant.livemode) return []
    const way = await wayTo(store.db, tenant, { to: id }, sipHost)
    if ('problem' in way) return []
    return [{ target: way.target, to: id, from: way.from, connectionId: way.connection?.id ?? null }]
  }
  const devices = await devicesOf(store.db, tenant, id, stage.now())
  const caller = from.startsWith('sip:') ? from : `sip:${from}@${sipHost}`
  return devices.map(device =>
    device.kind === 'browser'
      ? { target: { browserId: device.browserId }, to: id, from, connectionId: null }
      : {
          target: {
            uri: device.uri,
            from: { uri: caller, displayName: null },
            via: device.via,
            credentials: null,
            codecs: ['PCMU' as const, 'PCMA' as const],
          },
          to: device.uri,
          from,
          connectionId: null,
        },
  )
}
