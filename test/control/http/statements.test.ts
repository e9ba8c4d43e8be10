import * as assert from 'uvu/assert'
import { insertParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { suite } from '../../harness.ts'
import { makeWorld } from '../app-harness.ts'
import { testEngine } from '../database.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite(`control/http/statements on ${testEngine}`)

const PARTY = { direction: 'inbound', to: 'sip:1002@127.0.0.1', from: 'sip:alice@127.0.0.1', target: 'echo' } as const
const ALONE = { roomId: null, connectionId: null, record: false, metadata: {}, role: 'member', muted: false } as const

test('what the main operations ask of the database does not grow with what they answer', async () => {
  const { store, clock, ours } = await makeWorld()
  let statements = 0
  const counted = store.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      // Other writes meanwhile: the request log, and the rest of the key's rate.
      if (result.numAffectedRows === undefined) statements++
      return result
    },
  })
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const ids = Array.from({ length: 20 }, () => newId('call'))
  await store.transaction(async trx => {
    for (const callId of ids) {
      const party = { ...PARTY, ...ALONE, callId, legId: newId('participant') }
      await insertParty(trx, tenant, party, clock.now().toISOString())
    }
  })
  const world = await makeWholeApp({ store: { ...store, db: counted, reads: counted }, now: clock.now })
  const key = { key: ours.keys.live }
  const asked = async (line: string, body?: object): Promise<number> => {
    // The first asks for the key as well.
    await world.live('GET /v1/teams', undefined, key)
    const before = statements
    const { status, text } = await world.live(line, body, key)
    assert.ok(status < 300, text)
    return statements - before
  }
  assert.is(await asked(`GET /v1/calls/${ids[0]}`), 2, 'the call, its legs')
  assert.is(await asked('GET /v1/calls?limit=20'), 2, 'the calls, their legs')
  assert.is(await asked('GET /v1/callbacks?limit=20'), 1)
  await world.close()
  await store.close()
})

test('a list that may look through very many rows is read where calls do not wait for it', async () => {
  const { store, clock, ours } = await makeWorld()
  let beside = 0
  const reads = store.db.withPlugin({
    // Not called for what was compiled before, by another test of this process.
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      beside++
      return result
    },
  })
  const world = await makeWholeApp({ store: { ...store, reads }, now: clock.now })
  const askedBeside = async (path: string): Promise<boolean> => {
    const before = beside
    const { status, text } = await world.live(`GET /v1/${path}`, undefined, { key: ours.keys.live })
    assert.is(status, 200, text)
    return beside > before
  }
  const long = [
    'calls?direction=outbound',
    'calls?status=completed&queue_id=q_1',
    'webhook_deliveries?status=failed',
    'webhook_deliveries?event_id=evt_1',
    'events?type=call.ended&object_id=call_1',
    'request_logs?status=500',
  ]
  for (const path of long) assert.ok(await askedBeside(path), path)
  for (const path of ['calls', 'calls?status=in_progress', 'webhook_deliveries', 'events?type=call.ended'])
    assert.not.ok(await askedBeside(path), path)
  await world.close()
  await store.close()
})

test.run()
