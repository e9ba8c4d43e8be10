import * as assert from 'uvu/assert'
import { endedCall } from '../../../../control/calls/events.ts'
import { appendEvent } from '../../../../control/kernel/events/log.ts'
import { written } from '../../../../control/kernel/store/after-commit.ts'
import { count } from '../../../../control/usage/ledger.ts'
import { suite } from '../../../harness.ts'
import { testEngine } from '../../database.ts'
import { makeWebhookWorld } from '../../webhooks/webhook-world.ts'

const test = suite(`control/kernel/events/together on ${testEngine}`)

/** More than one INSERT takes. */
const MANY = 70

test('what a transaction of many facts tells is all there after it, in its order, and nothing of one that is rolled back', async () => {
  const { store, clock, ours, theirs, endpoint, close } = await makeWebhookWorld()
  const at = clock.now().toISOString()
  const [tenant, other] = [ours, theirs].map(({ organisationId }) => ({ organisationId, livemode: true }))
  await endpoint()
  await endpoint({ event_types: ['call.created'] })
  await endpoint({}, theirs.keys.live)
  const told: string[] = []
  const tell = async (fails: boolean) => {
    const ids: string[] = []
    await store.transaction(
      async trx => {
        for (let n = 0; n < MANY; n++) {
          const whose = n % 10 === 3 ? other! : tenant!
          ids.push(await appendEvent(trx, whose, { type: 'call.ended', at, object: endedCall }))
          await count(trx, whose, { sourceId: `call_${Math.floor(n / 2)}`, at, amounts: { calls: 1 } })
        }
        const seen = await trx.selectFrom('events').select('id').execute()
        assert.is(seen.length, told.length, 'they wait for the end')
        await written(trx)
        const there = await trx.selectFrom('usage_entries').select('id').where('meter', '=', 'calls').execute()
        assert.is(there.length, MANY / 2, 'a source is counted once')
        ids.push(await appendEvent(trx, tenant!, { type: 'call.ended', at, object: endedCall }))
        if (fails) throw new Error('rolled back')
      },
      { gathers: true },
    )
    told.push(...ids)
  }
  await tell(true).then(
    () => assert.unreachable(),
    error => assert.is(error.message, 'rolled back'),
  )
  await tell(false)
  const events = await store.db
    .selectFrom('events')
    .select('id')
    .where('type', '=', 'call.ended')
    .orderBy('id')
    .execute()
  assert.equal(
    events.map(({ id }) => id),
    told,
  )
  const deliveries = await store.db
    .selectFrom('webhook_deliveries as d')
    .innerJoin('events as e', join =>
      join.onRef('e.id', '=', 'd.event_id').onRef('e.organisation_id', '=', 'd.organisation_id'),
    )
    .select(['d.event_id', 'd.organisation_id'])
    .orderBy('d.event_id')
    .execute()
  assert.equal(
    deliveries.map(({ event_id }) => event_id),
    told,
    'each to its own, once',
  )
  assert.is(deliveries.filter(row => row.organisation_id === theirs.organisationId).length, MANY / 10)
  await close()
})

test.run()
