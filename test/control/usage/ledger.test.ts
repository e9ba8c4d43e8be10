import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { removeCall } from '../../../control/retention/removal.ts'
import { count, release } from '../../../control/usage/ledger.ts'
import type { Meter } from '../../../control/usage/tables.ts'
import { measureUsage } from '../../../control/usage/usage.ts'
import { suite } from '../../harness.ts'
import { START } from '../app-harness.ts'
import { type CallsWorld, makeCallsWorld, ready, startControl } from '../calls-world.ts'
import { ledger, recount } from './recount.ts'

const test = suite('control/usage/ledger')

const STEPS = 100
/** Callers who are served before anything else happens, and with them those who are known by then; no death overtakes these. */
const CALM = 0.35
const TOLD = 0.6
const CALM_STREAMS = 0.5

test('after any history of calls, with deaths of both processes and events told twice, the ledger adds up exactly to the calls', async () => {
  const world = await makeCallsWorld({ resolve: async () => ['93.184.216.34'] })
  const { media, clock } = world
  const random = seeded(7)
  const legs: string[] = []
  const restart = async () => {
    await world.control.stop()
    world.control = await startControl(world, media, { resolve: async () => ['93.184.216.34'] })
    await ready(world)
  }
  const allDone = async () => {
    await world.control.idle()
    await media.committed()
  }
  for (let step = 1; step <= STEPS; step++) {
    clock.advance(Math.round(random() * 90_000) + 1)
    const dice = random()
    const leg = legs[Math.floor(random() * legs.length)]
    if (dice < 0.45) {
      const id = `part_${step}`
      media.dialIn(id, random() < 0.6 ? '1002' : '1001')
      legs.push(id)
      // Where all is done before the next step, what the history holds is up to the dice; elsewhere the machine's pace may overtake it.
      const calm = random()
      if (calm < CALM) await allDone()
      else if (calm < TOLD) await media.committed()
    } else if (dice < 0.75 && leg !== undefined && media.legs.has(leg)) {
      media.hangUp(leg)
      await media.committed()
    } else if (dice < 0.85) {
      const again = media.unacknowledged[0] ?? {
        seq: media.seq,
        event: { name: 'leg.held', body: { legId: 'part_0' }, at: clock.now().toISOString() },
      }
      media.repeat(again.seq, again.event as never)
    } else if (dice < 0.92) {
      if (random() < CALM_STREAMS) await allDone()
      const row = await world.store.db
        .selectFrom('calls')
        .select('id')
        .where('ended_at', 'is', null)
        .where('kind', '=', 'party')
        .executeTakeFirst()
      if (row !== undefined) await world.control.ask(`POST /v1/calls/${row.id}/streams`, { url: 'wss://a.example/' })
    } else if (dice < 0.94) await restart()
    else {
      await media.die(`boot-${step}`)
      await media.listen()
      await ready(world)
    }
  }
  for (const leg of [...media.legs.keys()]) media.hangUp(leg)
  await media.committed()
  await restart()
  const counted = await recount(world.store)
  assert.ok(
    counted.calls! > 30 && counted.answered_calls! > 15 && counted.conference_sessions! > 2,
    JSON.stringify(counted),
  )
  assert.ok(counted.call_ms! > 0 && counted.conference_ms! > 0 && counted.media_streams! > 0, JSON.stringify(counted))
  assert.equal(await ledger(world.store), counted)
  await deletedCallsStay(world, counted)
  await world.close()
})

/** Of the same world: what a call has used stays used when the call itself is deleted. */
async function deletedCallsStay(world: CallsWorld, counted: Partial<Record<Meter, number>>): Promise<void> {
  const { store, clock, ours } = world
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const range = { from: START.toISOString(), to: '2027-01-01T00:00:00.000Z', granularity: 'month' as const }
  for (const { id } of await forTenant(store.db, tenant).select('calls').select('id').execute())
    await store.transaction(trx => removeCall(trx, tenant, id, clock.now().toISOString()))
  const { calls, call_ms } = (await measureUsage(store.db, tenant, range))('2026-11')
  assert.equal([calls, call_ms], [counted.calls, counted.call_ms])
}

test('a source is counted once by each meter; what is kept goes up when it is stored and down when it is deleted', async () => {
  const world = await makeCallsWorld()
  const { store, ours } = world
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const use = { sourceId: 'aud_1', at: '2026-11-20T10:00:00.000Z', amounts: { stored_bytes: 700 } }
  await store.transaction(async trx => {
    for (let i = 0; i < 3; i++) await count(trx, tenant, use)
    await count(trx, tenant, {
      ...use,
      sourceId: 'aud_2',
      at: '2026-11-22T10:00:00.000Z',
      amounts: { stored_bytes: 50 },
    })
    for (let i = 0; i < 3; i++) await release(trx, tenant, 'aud_1', '2026-11-24T10:00:00.000Z')
    await release(trx, tenant, 'aud_never', '2026-11-24T10:00:00.000Z')
  })
  const kept = async (from: string) => {
    const range = { from, to: '2026-11-26T00:00:00.000Z', granularity: 'day' as const }
    const used = await measureUsage(store.db, tenant, range)
    return ['2026-11-21', '2026-11-22', '2026-11-23', '2026-11-24', '2026-11-25'].map(day => used(day).kept_bytes)
  }
  assert.equal(await kept('2026-11-01T00:00:00.000Z'), [700, 750, 750, 50, 50])
  assert.equal(await kept('2026-11-21T00:00:00.000Z'), [700, 750, 750, 50, 50])
  const other = { organisationId: world.theirs.organisationId, livemode: true }
  const theirs = await measureUsage(store.db, other, { from: '2026-11-01', to: '2026-12-01', granularity: 'month' })
  assert.is(theirs('2026-11').kept_bytes, 0)
  await world.close()
})

test.run()
