import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { newId } from '../../../control/kernel/ids.ts'
import type { Store } from '../../../control/kernel/store/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { RetentionDuty } from '../../../control/retention/duty.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { makeCall, makerOf } from '../conformance/objects.ts'
import { makeProduct } from '../conformance/product.ts'

const test = suite('control/retention/people')

const DAY_MS = 86_400_000
const PHONE = '+14155550187'
const NAME = 'Zerubbabel'

/** The tables that contain this text anywhere. */
async function tablesWith({ db, engine }: Store, text: string): Promise<string[]> {
  const tables = sql<{ name: string }>`${sql.raw(
    engine === 'sqlite'
      ? "select name from sqlite_master where type = 'table'"
      : "select table_name as name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'",
  )}`
  const found: string[] = []
  for (const { name } of (await tables.execute(db)).rows) {
    const { rows } = await sql`select * from ${sql.table(name)}`.execute(db)
    if (JSON.stringify(rows).includes(text)) found.push(name)
  }
  return found.sort()
}

test('after calls_days nothing names a person but consents and the do-not-call list: neither closed callbacks nor events do, nor guests', async () => {
  const world = await makeProduct()
  const { store, dataDir, clock } = world
  const maker = makerOf(world)
  const scoped = forTenant(store.db, maker.tenant)
  const { id: callId = '' } = await makeCall(maker, { ended: true })
  const created = clock.now().toISOString()
  const agent = { agent_user_id: null, assistant_id: null, origin: null, used_at: created, device: null }
  const token = { id: callId, ...agent, metadata: JSON.stringify({ name: NAME }), created, expires_at: created }
  await scoped.insert('client_tokens', token)
  await scoped.insert('browser_guests', { id: callId, room_id: 'room', name: NAME, role: 'member', created })
  const asked = { phone: PHONE, name: NAME, note: `Ask for ${NAME}` }
  const closed = await maker.ask('POST /v1/callbacks', { ...asked, call_id: callId })
  await maker.ask(`POST /v1/callbacks/${closed.id}/complete`, { note: `${NAME} was glad` })
  const open = await maker.ask('POST /v1/callbacks', { phone: '+14155550188' })
  const evidence = { type: 'form', text: 'Yes.' }
  await maker.ask('POST /v1/consents', { phone: PHONE, purpose: 'record', evidence })
  await maker.ask('POST /v1/do_not_call', { phone: PHONE, reason: NAME })
  assert.equal(await tablesWith(store, NAME), ['browser_guests', 'callbacks', 'client_tokens', 'do_not_call', 'events'])
  await maker.ask('PATCH /v1/organisation', { retention: { calls_days: 30 } })
  let days = 29
  // IDs, by which the age of events goes, are of the real clock.
  const from = () => (days < 30 ? clock.now().getTime() : Date.now())
  const now = () => new Date(from() + days * DAY_MS)
  const duty = new RetentionDuty({ store, dataDir, now, log: silent })
  await duty.run()
  assert.ok(await scoped.find('callbacks', closed.id))
  days = 32
  await duty.run()
  assert.equal(await tablesWith(store, NAME), ['do_not_call'])
  assert.equal(await tablesWith(store, PHONE), ['consents', 'do_not_call'])
  assert.ok(await scoped.find('callbacks', open.id), 'an open callback is still to be returned')
  assert.is(duty.counters.callbacksDeleted, 1)
  assert.ok(duty.counters.eventsDeleted >= 4)
  await world.close()
})

test('a callback that was closed lately stays, however long ago it was booked', async () => {
  const world = await makeProduct()
  const { store, dataDir, clock } = world
  const maker = makerOf(world)
  const { id } = await maker.ask('POST /v1/callbacks', { phone: PHONE })
  await maker.ask('PATCH /v1/organisation', { retention: { calls_days: 30 } })
  clock.advance(40 * DAY_MS)
  await maker.ask(`POST /v1/callbacks/${id}/cancel`)
  await new RetentionDuty({ store, dataDir, now: clock.now, log: silent }).run()
  assert.ok(await forTenant(store.db, maker.tenant).find('callbacks', id))
  await world.close()
})

test('turns of a call without a transcript are kept as long as transcripts, and deleted as one', async () => {
  const world = await makeProduct()
  const { store, dataDir, clock, ours } = world
  const maker = makerOf(world)
  const scoped = forTenant(store.db, maker.tenant)
  const called = async (): Promise<string> => {
    const { id = '' } = await makeCall(maker, { ended: true })
    const entry = JSON.stringify({ node_key: 'a', role: 'customer', source: 'speech', text: NAME })
    const at = clock.now().toISOString()
    await scoped.insert('call_steps', { id: newId('call_step'), call_id: id, kind: 'turn', entry, timing: null, at })
    return id
  }
  const [byAge, byHand] = [await called(), await called()]
  const deleted = () => world.ask(`DELETE /v1/calls/${byHand}/transcript`, { key: ours.keys.live })
  assert.is((await deleted()).status, 200)
  assert.is((await deleted()).status, 404)
  const left = async () => (await scoped.select('call_steps').select('call_id').execute()).map(row => row.call_id)
  assert.equal(await left(), [byAge])
  await maker.ask('PATCH /v1/organisation', { retention: { transcripts_days: 7 } })
  let days = 6
  const now = () => new Date(clock.now().getTime() + days * DAY_MS)
  const duty = new RetentionDuty({ store, dataDir, now, log: silent })
  await duty.run()
  assert.equal(await left(), [byAge])
  days = 8
  await duty.run()
  assert.equal(await left(), [])
  assert.ok(await scoped.find('calls', byAge))
  await world.close()
})

test.run()
