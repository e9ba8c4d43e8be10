import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { faultOf } from '../../../../control/kernel/store/faults.ts'
import { connectionsTo, postgresDatabase } from '../../../../control/kernel/store/postgres.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeWorld } from '../../app-harness.ts'
import { makeCallsWorld, until } from '../../calls-world.ts'
import { makeDatabase, testEngine } from '../../database.ts'
import { makeWholeApp } from '../../whole-app.ts'

const test = suite('control/absent database')

/** Stands between a store and its server, and can be gone for a while. */
async function makeWire(target: string) {
  const url = new URL(target)
  const upstream = { port: Number(url.port || 5432), host: url.hostname }
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    const far = connect(upstream)
    for (const [one, other] of [
      [socket, far],
      [far, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  const listen = (port: number): Promise<void> => new Promise(resolve => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  url.hostname = '127.0.0.1'
  url.port = String(port)
  const cut = async (): Promise<void> => {
    const closed = new Promise(resolve => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  /** Lets nothing through any more, and breaks nothing. */
  const hush = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  return { target: String(url), cut, hush, mend: () => listen(port) }
}

const name =
  'while the database is away requests answer 503 store_unavailable, callers hear 503, a running call is hung up, and all of it is written'

const forsaken =
  'a connection that says nothing any more is given up: what follows, and the rest of its transaction, does not wait for it as well'

const scraped =
  '/metrics says that the database is away, without waiting for one that says nothing: a collector would not wait as long'

const silent =
  'a database that says nothing any more, since its packets are lost, is away: what waits for it is at no fault'

if (testEngine !== 'postgres') {
  for (const one of [name, silent, forsaken, scraped])
    test.skip(one, 'SQLite is a file, and not away: see full-disk.test.ts')
} else {
  test(silent, async () => {
    const database = await makeDatabase()
    const db = postgresDatabase(
      connectionsTo(database.target, { query_timeout: 50, statement_timeout: 0 }),
      'n',
      () => 0,
    )
    const error = await sql`select pg_sleep(2)`.execute(db).catch((thrown: unknown) => thrown)
    assert.is(faultOf(error), 'outage', String(error))
    await db.destroy()
    await database.remove()
  })

  test(scraped, async () => {
    const database = await makeDatabase()
    const wire = await makeWire(database.target)
    const world = await makeWholeApp({}, await openStore(wire.target))
    assert.match((await world.live('GET /metrics')).text, /^tandem_store_up 1$/m)
    wire.hush()
    // Counts are kept for some seconds.
    world.clock.advance(10_000)
    let isAnswered = false
    const asked = sql`select 1`.execute(world.store.db).catch(() => (isAnswered = true))
    const { status, text } = await world.live('GET /metrics')
    assert.is(status, 200)
    assert.match(text, /^tandem_store_up 0$/m)
    assert.not(isAnswered, 'the database was still waited for')
    await wire.cut()
    await asked
    await world.close()
    await database.remove()
  })

  test(forsaken, async () => {
    const database = await makeDatabase()
    const bounds = { query_timeout: 500, statement_timeout: 0, max: 1 }
    const db = postgresDatabase(connectionsTo(database.target, bounds), 'n', () => 0)
    const sleep = sql`select pg_sleep(20)`
    for (const run of [() => sleep.execute(db), () => db.transaction().execute(trx => sleep.execute(trx))]) {
      const error = await run().catch((thrown: unknown) => thrown)
      assert.is(faultOf(error), 'outage', String(error))
      assert.equal((await sql`select 1 as one`.execute(db)).rows, [{ one: 1 }])
    }
    await db.destroy()
    await database.remove()
  })

  test(
    name,
    async () => {
      const database = await makeDatabase()
      const wire = await makeWire(database.target)
      const world = await makeCallsWorld({ world: await makeWorld(await openStore(wire.target)) })
      const { media, control, store } = world
      media.dialIn('part_1', '1002')
      await until(() => media.sent('leg.answer').length === 1)
      await media.committed()
      const { id = '' } = (await store.db.selectFrom('calls').select('id').executeTakeFirst()) ?? {}
      assert.is((await control.ask(`GET /v1/calls/${id}`)).status, 200)
      await control.running.refresh()
      await media.dialInUntil('leg.answer', 'part_5', '1002')
      const fresh = media.sent('leg.answer').find(({ legId }) => legId === 'part_5')!.room.roomId
      await wire.cut()
      const { status, body, headers } = await control.ask(`GET /v1/calls/${id}`)
      assert.equal([status, body.error.code, headers['retry-after']], [503, 'store_unavailable', '5'])
      assert.is((await control.ask('POST /v1/conference_rooms', { name: 'Room' })).status, 503)
      media.dialIn('part_2', '1002')
      await until(() => media.sent('leg.reject').length === 1)
      assert.equal(media.sent('leg.reject')[0]?.sipCode, 503)
      const stranger = { key: world.theirs.keys.live }
      assert.is((await control.ask(`POST /v1/calls/${id}/hangup`, undefined, stranger)).status, 503, 'not their call')
      const hungUp = await control.ask(`POST /v1/calls/${id}/hangup`, undefined, {
        headers: { 'idempotency-key': 'k' },
      })
      assert.equal([hungUp.status, hungUp.body.id], [200, id])
      assert.is(media.legs.has('part_1'), false)
      assert.is((await control.ask(`POST /v1/calls/${fresh}/hangup`)).status, 200, 'it began a moment ago')
      assert.is(media.legs.has('part_5'), false)
      control.client.reconnect()
      await until(() => control.client.counters.connections === 2)
      media.dialIn('part_4', '1002')
      assert.is((await media.command('leg.reject', 'part_4')).sipCode, 503)
      await wire.mend()
      await media.committed()
      const rows = await store.db.selectFrom('calls').select(['ended_reason', 'sip_code']).orderBy('id').execute()
      assert.equal(rows, [
        { ended_reason: 'api_hangup', sip_code: null },
        { ended_reason: 'api_hangup', sip_code: null },
        { ended_reason: 'store_unavailable', sip_code: 503 },
        { ended_reason: 'store_unavailable', sip_code: 503 },
      ])
      assert.is(control.client.counters.skipped, 0)
      media.dialIn('part_3', '1002')
      await until(() => media.sent('leg.answer').some(({ legId }) => legId === 'part_3'))
      await world.close()
      await wire.cut()
      await database.remove()
    },
    { timeoutMs: 60_000 },
  )
}

test.run()
