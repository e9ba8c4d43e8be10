import { setImmediate as nextTurn } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { hangUpLeg, writeLeg } from '../../../../control/calls/legs.ts'
import { suite } from '../../../harness.ts'
import { type CallsWorld, eventTypes, makeCallsWorld, until } from '../../calls-world.ts'

const test = suite('control/calls/conductor/ghosts')

const DIAL = { to: 'sip:bob@192.0.2.1' }

/** Long enough for every answer that is not lost, of a process that gives way to others [ms]. */
const DEADLINE_MS = 500

/** Media that carries out what it is told, and whose first answer to this command is lost. */
async function forgetful(name: 'leg.dial' | 'leg.hangup' | 'leg.move', isDone: boolean) {
  const world = await makeCallsWorld({ deadlineMs: DEADLINE_MS })
  const { media } = world
  let isLost = false
  media.overrides.set(name, body => {
    if (isLost) return undefined
    isLost = true
    if (isDone) media.carryOut(name, body)
    return 'silence'
  })
  return world
}

/** Control reads two when it connects: before it handles what it has missed, and after it. */
const SNAPSHOTS = 2

const rechecked = (world: CallsWorld): Promise<void> =>
  world.media.until(() => world.media.sent('media.snapshot').length > SNAPSHOTS)

test('a call whose dialling is not answered is open until the next snapshot, and rings once', async () => {
  const world = await forgetful('leg.dial', true)
  const { media, control } = world
  const placed = await control.ask('POST /v1/calls', DIAL, { headers: { 'idempotency-key': 'once' } })
  assert.is(placed.status, 201)
  await rechecked(world)
  const again = await control.ask('POST /v1/calls', DIAL, { headers: { 'idempotency-key': 'once' } })
  assert.is(again.body.id, placed.body.id)
  const [{ legId } = { legId: '' }] = media.sent('leg.dial')
  media.pickUp(legId)
  await media.committed()
  assert.is((await control.ask(`GET /v1/calls/${placed.body.id}`)).body.status, 'in_progress')
  await control.idle()
  assert.is(media.sent('leg.dial').length, 1)
  assert.is(media.legs.size, 1)
  await world.close()
})

test('a call whose dialling never arrived ends with the next snapshot', async () => {
  const world = await forgetful('leg.dial', false)
  const { control } = world
  const { body } = await control.ask('POST /v1/calls', DIAL)
  await rechecked(world)
  let ended: string | null = null
  await until(() => {
    void control.ask(`GET /v1/calls/${body.id}`).then(answer => {
      ended = answer.body.ended_reason
    })
    return ended !== null
  })
  assert.is(ended, 'internal_error')
  assert.equal(await eventTypes(world, body.id), ['call.created', 'call.ended'])
  await world.close()
})

test('a leg that is answered after its call has ended is hung up', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  const { body } = await control.ask('POST /v1/calls', DIAL)
  const { legId } = await media.command('leg.dial')
  const at = '2026-11-21T10:00:01.000Z'
  await world.store.db.updateTable('calls').set({ status: 'failed', ended_at: at }).where('id', '=', body.id).execute()
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  await world.store.transaction(trx => writeLeg(trx, tenant, legId, { step: 'ended', left_at: at }))
  media.pickUp(legId)
  assert.is((await media.command('leg.hangup')).legId, legId)
  assert.is(media.legs.size, 0)
  await world.close()
})

test('a hang-up answers the call as it is now', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  const { body } = await control.ask('POST /v1/calls', DIAL)
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await media.committed()
  const hungUp = await control.ask(`POST /v1/calls/${body.id}/hangup`)
  assert.is(hungUp.body.status, 'completed')
  assert.is(hungUp.body.ended_reason, 'api_hangup')
  await world.close()
})

test('a call that is hung up before media knows of it is over, and nobody is left ringing', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  let hungUp: ReturnType<typeof control.ask> | undefined
  // The hang-up overtakes the dialling.
  media.overrides.set('leg.hangup', () =>
    media.sent('leg.dial').length === 0 ? { failure: 'not_found', message: 'no such leg' } : undefined,
  )
  const transaction = world.store.transaction
  world.store.transaction = async run => {
    const result = await transaction(run)
    const [call] = await world.store.db.selectFrom('calls').select('id').execute()
    if (call !== undefined && hungUp === undefined) {
      hungUp = control.ask(`POST /v1/calls/${call.id}/hangup`)
      await hungUp
    }
    return result
  }
  const placed = await control.ask('POST /v1/calls', DIAL)
  assert.is(placed.status, 201)
  assert.is((await hungUp)?.body.status, 'cancelled')
  const [ended] = (await control.ask(`GET /v1/calls/${placed.body.id}/events`)).body.data
  assert.equal([ended.type, ended.request?.id], ['call.ended', (await hungUp)?.headers['request-id']])
  await media.command('leg.hangup', undefined, 2)
  assert.is(media.legs.size, 0)
  await world.close()
})

test('a move into a room that is not answered is not done twice', async () => {
  const world = await forgetful('leg.move', true)
  const { media } = world
  media.dialIn('part_1', '1001')
  await media.command('leg.move', 'part_1')
  await rechecked(world)
  await media.committed()
  await world.control.idle()
  assert.is(media.sent('leg.move').length, 1)
  const sessions = await world.store.db.selectFrom('calls').select('id').where('kind', '=', 'conference').execute()
  assert.is(sessions.length, 1)
  await world.close()
})

test('where media cannot say how things are for a moment, it is asked again over the same connection', async () => {
  const world = await forgetful('leg.dial', false)
  const { media, control } = world
  const states: string[] = []
  media.overrides.set('media.snapshot', () => {
    states.push(control.client.state)
    return states.length === 2 ? { failure: 'unavailable', message: 'a thread has died' } : undefined
  })
  const { body } = await control.ask('POST /v1/calls', DIAL)
  await media.until(() => states.length === 4)
  await control.idle()
  assert.equal(states, ['ready', 'ready', 'ready', 'ready'])
  assert.ok((await control.ask(`GET /v1/calls/${body.id}`)).body.ended_reason !== null)
  await world.close()
})

test('a room that opens while media is asked how things are, after a move was not answered, goes on', async () => {
  const world = await forgetful('leg.move', false)
  const { media } = world
  await until(() => media.sent('media.snapshot').length === SNAPSHOTS)
  media.dialIn('part_1', '1001')
  const move = await media.command('leg.move', 'part_1')
  let isLate = true
  media.overrides.set('media.snapshot', () => {
    if (!isLate) return undefined
    isLate = false
    const before = media.snapshot()
    media.carryOut('leg.move', move)
    return before
  })
  await rechecked(world)
  await media.committed()
  await world.control.idle()
  const sessions = world.store.db.selectFrom('calls').select('ended_at').where('kind', '=', 'conference')
  assert.equal(await sessions.execute(), [{ ended_at: null }])
  assert.is(media.legs.get('part_1')?.roomId?.startsWith('call_'), true)
  await world.close()
})

test('a leg that has just ended when it is hung up keeps the figures and the reason of its end, which are committed after the refusal', async () => {
  const world = await makeCallsWorld()
  const { media, control, store } = world
  const { body } = await control.ask('POST /v1/calls', DIAL)
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await media.committed()
  let release = (): void => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const { transaction } = store
  store.transaction = async (run, options) => {
    if (options?.gathers === true) await held
    return transaction.call(store, run, options) as never
  }
  media.overrides.set('leg.hangup', () => {
    media.hangUp(legId, 'caller_hangup')
    return { failure: 'not_found', message: 'its end is told' }
  })
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  await store.transaction(trx => hangUpLeg(trx, tenant, legId, 'api_hangup'))
  await until(() => media.sent('leg.hangup').length === 1)
  for (let turns = 0; turns < 100; turns++) await nextTurn()
  release()
  await media.committed()
  const call = (await control.ask(`GET /v1/calls/${body.id}`)).body
  assert.equal([call.status, call.ended_reason, call.quality.length], ['completed', 'caller_hangup', 1])
  await world.close()
})

test.run()
