import { publishedVersion } from '../../calls/programs/records.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { type ActionOutcome, type ActionScene, failed } from '../flow-play.ts'
import type { Ending } from '../programs.ts'
import { type CentreParts, type Party, type ReachMemo, reach, untilGone } from './reach.ts'

const done = (ending: Ending): ActionOutcome => ({ status: 'succeeded', outcome: 'completed', output: null, ending })

/** Transfers the call to the node's target. */
export async function transfer(parts: CentreParts, scene: ActionScene): Promise<ActionOutcome> {
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
      return putThrough(parts, scene, { type, id })
    case 'number':
    case 'sip':
      return putThrough(parts, scene, { type: 'number', to: id })
    case undefined:
      return failed('failed')
  }
}

async function handOver(
  { store, leadTo }: CentreParts,
  scene: ActionScene,
  target: { type: 'queue' | 'room'; id: string },
): Promise<ActionOutcome> {
  const scoped = forTenant(store.db, scene.stage.tenant)
  const isThere =
    target.type === 'queue'
      ? (await scoped.find('queues', target.id)) !== undefined
      : (await scoped.find('conference_rooms', target.id))?.active === 1
  if (!isThere) return failed('failed')
  await scene.flush()
  const { tenant, call, legId } = scene.stage
  return done({
    way: 'handed_over',
    reason: 'transfer',
    write: trx => leadTo(trx, tenant, { callId: call.id, legId, at: scene.stage.now().toISOString() }, target),
  })
}

async function goOn(
  { store }: CentreParts,
  scene: ActionScene,
  type: 'assistant' | 'flow',
  id: string,
): Promise<ActionOutcome> {
  const { tenant } = scene.stage
  const isThere =
    type === 'assistant'
      ? (await forTenant(store.db, tenant).find('assistants', id)) !== undefined
      : (await publishedVersion(store.db, tenant, id)) !== null
  if (!isThere) return failed('failed')
  await scene.flush()
  return done({ way: 'go_on', target: type === 'assistant' ? { assistantId: id } : { flowId: id } })
}

/**
 * Connects the caller with a member or a number. If the node has an exit for outcome `completed`, the flow continues once the other party
 * has hung up; otherwise it ends with the answer.
 */
async function putThrough(parts: CentreParts, scene: ActionScene, party: Party): Promise<ActionOutcome> {
  const { stage, request } = scene
  // A test call reaches nobody outside.
  if (party.type === 'number' && !stage.tenant.livemode) return failed('failed')
  await scene.flush()
  const memo = scene.memo as ReachMemo | null
  const reaching = await reach(parts, scene, party, memo)
  if (reaching.reached !== 'answered') return failed(reaching.reached)
  const comesBack = request.node.transitions?.some(
    ({ condition }) => condition.kind === 'outcome' && condition.value === 'completed',
  )
  if (comesBack === true) {
    await untilGone(stage, reaching.ringId)
    return { status: 'succeeded', outcome: 'completed', output: null }
  }
  const { tenant, call, legId } = stage
  return done({
    way: 'handed_over',
    reason: 'transfer',
    write: trx => parts.putThrough(trx, tenant, { callId: call.id, legId, at: stage.now().toISOString() }),
  })
}
