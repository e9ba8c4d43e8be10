import * as assert from 'uvu/assert'
import { wayTo } from '../../../control/calls/dial.ts'
import type { MediaPort } from '../../../control/media-link/events.ts'
import { sealStoredPasswords } from '../../../control/trunks/account.ts'
import { ConnectionKeeper } from '../../../control/trunks/keeper.ts'
import { waysOut } from '../../../control/trunks/outbound.ts'
import { applyConnectionReport } from '../../../control/trunks/status.ts'
import { type ConnectionReport, type ConnectionSpec, type Failure, MAX_MESSAGE_BYTES } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { makeWholeApp, refusal, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/trunks/keeper')
const ACCOUNT = { auth: { username: 'ann', password: 'correct horse' } }
const REGISTRATION = { name: 'Carrier', kind: 'registration', host: '192.0.2.50', ...ACCOUNT }

class Scene {
  readonly app: WholeApp
  readonly keeper: ConnectionKeeper
  readonly told: ConnectionSpec[][] = []
  readonly networks: string[][] = []
  readonly strangers: string[] = []
  reply: object | Failure = {}

  constructor(app: WholeApp) {
    this.app = app
    this.keeper = new ConnectionKeeper({
      store: app.store,
      vault: VAULT,
      now: app.clock.now,
      sipHost: '192.0.2.1',
      log: silent,
    })
  }

  static async open(): Promise<Scene> {
    return new Scene(await makeWholeApp())
  }

  async run(): Promise<void> {
    const media = {
      request: async (name: string, body: { connections: ConnectionSpec[]; networks: string[]; strangers: string }) => {
        if (name === 'sources.set') {
          this.networks.push(body.networks)
          this.strangers.push(body.strangers)
        } else this.told.push(body.connections)
        return this.reply
      },
      settled: async () => {},
      isEnding: () => false,
    } as unknown as MediaPort
    await this.keeper.run(media)
  }

  async make(body: object): Promise<string> {
    const made = await this.app.live('POST /v1/connections', body)
    assert.is(made.status, 201, JSON.stringify(made.body))
    return made.body.id
  }

  async read(id: string) {
    return (await this.app.live(`GET /v1/connections/${id}`)).body
  }

  report(
    connectionId: string,
    status: ConnectionReport['status'],
    sipCode: number | null = null,
    more: Partial<ConnectionReport> = {},
  ): Promise<void> {
    const at = this.app.clock.now().toISOString()
    return this.app.store.transaction(trx => applyConnectionReport(trx, { connectionId, status, sipCode, ...more }, at))
  }

  async eventTypes(): Promise<string[]> {
    const { body } = await this.app.live('GET /v1/events')
    return body.data
      .map((event: { type: string }) => event.type)
      .filter((type: string) => type.startsWith('connection.'))
  }
}

test('media registers for a registration, and asks trunks and peers that have a host', async () => {
  const scene = await Scene.open()
  const id = await scene.make(REGISTRATION)
  await scene.make({ name: 'Trunk', kind: 'trunk', host: '2001:db8::1', port: 5070, transport: 'tcp' })
  await scene.make({ name: 'Phones', kind: 'peer' })
  await scene.run()
  const [first, second, ...rest] = scene.told[0]!
  assert.equal(rest, [])
  const { contactUser, ...spec } = first!
  assert.equal(spec, {
    connectionId: id,
    keep: 'register',
    uri: 'sip:192.0.2.50',
    from: 'sip:ann@192.0.2.50',
    via: { host: '192.0.2.50', port: 5060, transport: 'udp' },
    others: [],
    credentials: ACCOUNT.auth,
  })
  assert.match(contactUser, /^c[0-9a-f]{24}$/)
  assert.equal([second!.keep, second!.uri, second!.via.host], ['ping', 'sip:[2001:db8::1]:5070', '2001:db8::1'])
})

test('however many connections there are, with however many hosts, what media is told fits into one message: the oldest', async () => {
  const scene = await Scene.open()
  const hosts = Array.from({ length: 20 }, (_, n) => ({ host: `${`${'a'.repeat(60)}.`.repeat(3)}h${n}.example` }))
  const id = await scene.make({ name: 'Trunk', kind: 'trunk', host: 'carrier.example.com', hosts })
  const { db } = scene.app.store
  const row = await db.selectFrom('connections').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const more = Array.from({ length: 900 }, (_, n) => ({ ...row, id: `conn_z${n}`, kept_by: null, kept_until: null }))
  for (let n = 0; n < more.length; n += 100)
    await db
      .insertInto('connections')
      .values(more.slice(n, n + 100))
      .execute()
  await scene.run()
  const told = scene.told[0]!
  const length = Buffer.byteLength(JSON.stringify(told))
  assert.ok(length < MAX_MESSAGE_BYTES - 1000 && length > MAX_MESSAGE_BYTES / 4, `${length} octets`)
  assert.is(told[0]?.connectionId, id)
  assert.ok(told.length < 901)
})

test('all connections are read again when one has changed here, and within ten seconds when another node has changed one', async () => {
  const scene = await Scene.open()
  const { app } = scene
  const id = await scene.make({ name: 'Trunk', kind: 'trunk', host: '192.0.2.50', allowed_ips: ['192.0.2.50'] })
  const hosts = () => scene.told.at(-1)!.map(({ via }) => via.host)
  await scene.run()
  const elsewhere = { host: '192.0.2.51', updated: '2026-11-21T10:00:05.000Z' }
  await app.store.db.updateTable('connections').set(elsewhere).where('id', '=', id).execute()
  await scene.run()
  assert.equal(hosts(), ['192.0.2.50'])
  app.clock.advance(10_000)
  await scene.run()
  assert.equal(hosts(), ['192.0.2.51'])
  assert.is((await app.live(`PATCH /v1/connections/${id}`, { host: '192.0.2.52', allowed_ips: [] })).status, 200)
  await scene.run()
  assert.equal([hosts(), scene.networks.at(-1)], [['192.0.2.52'], []])
  await app.store.db.updateTable('connections').set(elsewhere).where('id', '=', id).execute()
  app.clock.set(-3_600_000)
  await scene.run()
  assert.equal(hosts(), ['192.0.2.51'], 'a clock that is set back')
  assert.is((await app.live(`DELETE /v1/connections/${id}`)).status, 200)
  await scene.run()
  assert.equal(hosts(), [])
})

test('the way that a registrar gives is the route of calls over it, from any node, until it gives none (RFC 3608)', async () => {
  const scene = await Scene.open()
  const id = await scene.make(REGISTRATION)
  const tenant = { organisationId: scene.app.ours.organisationId, livemode: true }
  const target = async () => {
    const [way] = await waysOut(scene.app.store.db, tenant, { to: '+12125550142' }, VAULT)
    return [way!.target.route, way!.target.hosts.length]
  }
  await scene.report(id, 'registered')
  assert.equal(await target(), [undefined, 1])
  const serviceRoute = ['<sip:edge.carrier.test;lr>']
  await scene.report(id, 'registered', null, { serviceRoute })
  assert.equal(await target(), [serviceRoute, 0])
  assert.equal(await scene.eventTypes(), ['connection.registered'])
  await scene.report(id, 'unreachable', 503)
  assert.equal(await target(), [undefined, 1])
})

test('media is told of all hosts of a connection, by priority and weight, the same each time', async () => {
  const scene = await Scene.open()
  const hosts = [
    { host: '192.0.2.8', priority: 2 },
    { host: '192.0.2.6', priority: 1, weight: 10 },
    { host: '192.0.2.7', port: 5070, priority: 1, weight: 90 },
  ]
  await scene.make({ name: 'Trunk', kind: 'trunk', host: 'carrier.example.com', hosts })
  await scene.run()
  scene.keeper.forget()
  await scene.run()
  for (const told of scene.told) {
    const { via, others } = told[0]!
    assert.equal(
      [via, ...others].map(({ host, port }) => [host, port]),
      [
        ['192.0.2.7', 5070],
        ['192.0.2.6', null],
        ['192.0.2.8', null],
      ],
    )
  }
})

test('media is told again of a change, after a reconnect, and when it did not take it', async () => {
  const scene = await Scene.open()
  const id = await scene.make(REGISTRATION)
  scene.reply = { failure: 'unavailable', message: 'not now' }
  await scene.run()
  scene.reply = {}
  await scene.run()
  await scene.run()
  assert.is(scene.told.length, 2)
  await scene.app.live(`PATCH /v1/connections/${id}`, { port: 5080 })
  await scene.run()
  assert.is(scene.told[2]![0]!.uri, 'sip:192.0.2.50:5080')
  scene.keeper.forget()
  await scene.run()
  assert.is(scene.told.length, 4)
  await scene.app.live(`DELETE /v1/connections/${id}`)
  await scene.run()
  assert.equal(scene.told[4], [])
})

test('a test connection reaches nobody outside', async () => {
  const scene = await Scene.open()
  await scene.app.test('POST /v1/connections', REGISTRATION)
  await scene.run()
  assert.equal(scene.told, [[]])
})

test('one node keeps up with a far end; another one takes it over when it has died', async () => {
  const scene = await Scene.open()
  const id = await scene.make(REGISTRATION)
  const until = (ms: number) => new Date(scene.app.clock.now().getTime() + ms).toISOString()
  const { db } = scene.app.store
  await db
    .updateTable('connections')
    .set({ kept_by: 'other', kept_until: until(60_000) })
    .where('id', '=', id)
    .execute()
  await scene.run()
  assert.equal(scene.told, [[]])
  scene.app.clock.advance(60_000)
  await scene.run()
  assert.is(scene.told[1]![0]!.connectionId, id)
})

test('connection.registered and .unreachable tell of a registration; the status stays to be read', async () => {
  const scene = await Scene.open()
  const id = await scene.make(REGISTRATION)
  assert.is((await scene.read(id)).status, 'enabled')
  await scene.run()
  await scene.report(id, 'unreachable', 403)
  const down = await scene.read(id)
  assert.equal([down.status, down.sip_code], ['unreachable', 403])
  await scene.report(id, 'unreachable', 408)
  await scene.report(id, 'registered')
  const up = await scene.read(id)
  assert.equal([up.status, up.sip_code], ['registered', null])
  assert.equal((await scene.eventTypes()).sort(), ['connection.registered', 'connection.unreachable'])
  await scene.app.live(`PATCH /v1/connections/${id}`, { enabled: false })
  await scene.run()
  await scene.report(id, 'unreachable', 408)
  assert.is((await scene.read(id)).status, 'disabled')
  await scene.app.live(`PATCH /v1/connections/${id}`, { enabled: true })
  assert.is((await scene.read(id)).status, 'enabled', 'what was known is old')
})

test('connection.reachable tells that a trunk is back, not that it was there when it was looked at first', async () => {
  const scene = await Scene.open()
  const id = await scene.make({ name: 'Trunk', kind: 'trunk', host: '192.0.2.60' })
  await scene.report(id, 'reachable')
  assert.equal(await scene.eventTypes(), [])
  await scene.report(id, 'unreachable')
  await scene.report(id, 'reachable')
  assert.equal((await scene.eventTypes()).sort(), ['connection.reachable', 'connection.unreachable'])
})

test('a registration needs a host and an account', async () => {
  const { app } = await Scene.open()
  const refused = async (body: object) => {
    const { status, body: reply } = await app.live('POST /v1/connections', { ...REGISTRATION, ...body })
    return [status, reply.error?.param]
  }
  assert.equal(await refused({ host: null }), [400, 'host'])
  assert.equal(await refused({ host: 'a:b' }), [400, 'host'])
  assert.equal(await refused({ auth: null }), [400, 'auth'])
  assert.equal(await refused({ auth: { username: 'a@b c', password: 'x' } }), [400, 'auth.username'])
  assert.equal(await refused({ auth: { username: 'a\r\nEvil: 1', password: 'x' } }), [400, 'auth.username'])
})

test('a connection to a private address is refused in either mode; a name is judged when it is dialled', async () => {
  const { app } = await Scene.open()
  const trunk = { name: 'Trunk', kind: 'trunk' }
  for (const host of ['10.0.0.5', '127.0.0.1', '169.254.169.254', '[::1]', '::ffff:10.0.0.5', '100.64.0.1']) {
    assert.equal(refusal(await app.live('POST /v1/connections', { ...trunk, host })).slice(0, 2), [400, 'host'], host)
  }
  const { body } = await app.live('POST /v1/connections', { ...trunk, host: 'sip.example.com' })
  const moved = await app.live(`PATCH /v1/connections/${body.id}`, { host: '192.168.0.1' })
  assert.equal(refusal(moved).slice(0, 2), [400, 'host'])
  assert.is((await app.test('POST /v1/connections', { ...trunk, host: '10.0.0.5' })).status, 400)
})

test('the password of an account is sealed in the database, one of an early version with the next start; it is used as it was given', async () => {
  const scene = await Scene.open()
  const { store, ours } = scene.app
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const id = await scene.make(REGISTRATION)
  const stored = async () =>
    (await store.db.selectFrom('connections').select('auth_password').where('id', '=', id).executeTakeFirstOrThrow())
      .auth_password
  const used = async () => {
    const found = await wayTo(store.db, tenant, { to: '+15550100200' }, { sipHost: '192.0.2.1', vault: VAULT })
    return 'problem' in found ? found : found.target.credentials
  }
  assert.not.match(String(await stored()), ACCOUNT.auth.password)
  assert.equal(await used(), ACCOUNT.auth)
  await store.db.updateTable('connections').set({ auth_password: 'plain text' }).where('id', '=', id).execute()
  await sealStoredPasswords(store, VAULT)
  await sealStoredPasswords(store, VAULT)
  assert.not.match(String(await stored()), 'plain text')
  assert.equal(await used(), { ...ACCOUNT.auth, password: 'plain text' })
})

test('a number goes out over what answers, as its account, with its keys as `dtmf_mode` and its encryption as `srtp` says', async () => {
  const scene = await Scene.open()
  const tenant = { organisationId: scene.app.ours.organisationId, livemode: true }
  const way = async () => {
    const found = await wayTo(
      scene.app.store.db,
      tenant,
      { to: '+15550100200' },
      { sipHost: '192.0.2.1', vault: VAULT },
    )
    if ('problem' in found) throw new Error('no way')
    const { from, dtmf, srtp } = found.target
    return { connection: found.connection?.id, from: from.uri, dtmf, srtp }
  }
  const id = await scene.make({ ...REGISTRATION, dtmf_mode: 'info', srtp: 'required' })
  assert.is((await scene.read(id)).srtp, 'required')
  assert.equal(await way(), { connection: id, from: 'sip:ann@192.0.2.50', dtmf: 'info', srtp: 'required' })
  const relaxed = await scene.app.live(`PATCH /v1/connections/${id}`, { srtp: 'optional' })
  assert.is(relaxed.body.srtp, 'optional')
  assert.is((await way()).srtp, 'optional')
  await scene.report(id, 'unreachable', 408)
  assert.is((await way()).connection, id, 'there is no other')
  const other = await scene.make({ name: 'Trunk', kind: 'trunk', host: '192.0.2.60' })
  assert.equal(await way(), { connection: other, from: 'sip:tandem@192.0.2.60', dtmf: undefined, srtp: 'off' })
})

test('media is told the networks of enabled connections once, and again when they change; none that is everybody', async () => {
  const scene = await Scene.open()
  const trunk = { name: 'Trunk', kind: 'peer', allowed_ips: ['192.0.2.7', '10.1.2.3/8', '0.0.0.0/0', '2001:db8::1'] }
  const id = await scene.make(trunk)
  await scene.run()
  await scene.run()
  assert.equal(scene.networks, [['10.0.0.0/8', '192.0.2.7/32', '2001:db8::1/128']])
  await scene.app.live(`PATCH /v1/connections/${id}`, { allowed_ips: ['192.0.2.8'] })
  await scene.run()
  assert.equal(scene.networks.at(-1), ['192.0.2.8/32'])
  await scene.app.live(`DELETE /v1/connections/${id}`)
  await scene.run()
  assert.equal(scene.networks.at(-1), [])
  assert.equal(await scene.app.store.db.selectFrom('connection_networks').selectAll().execute(), [])
  await scene.app.close()
})

test('strangers are refused, or asked for a password while somebody calls by one; control is asked while everybody is let in', async () => {
  const scene = await Scene.open()
  await scene.run()
  const inbound_credentials = { username: 'pbx-berlin', password: 'correct horse battery' }
  const id = await scene.make({ name: 'PBX', kind: 'peer', inbound_credentials })
  await scene.run()
  const everybody = await scene.make({ name: 'All', kind: 'peer', allowed_ips: ['0.0.0.0/0'] })
  await scene.run()
  await scene.app.live(`DELETE /v1/connections/${everybody}`)
  await scene.run()
  await scene.app.live(`PATCH /v1/connections/${id}`, { enabled: false })
  await scene.run()
  assert.equal(scene.strangers, ['refused', 'challenged', 'asked', 'challenged', 'refused'])
  await scene.app.close()
})

test.run()
