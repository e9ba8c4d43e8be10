import * as assert from 'uvu/assert'
import type { MediaPort } from '../../../../control/media-link/events.ts'
import { devicesOf } from '../../../../control/queues/agents/devices.ts'
import { forgetPhonesOf, Registrations } from '../../../../control/queues/agents/registrations.ts'
import { forgetPhones } from '../../../../control/queues/agents/shut-out.ts'
import type { Events, Request } from '../../../../media/protocol.ts'
import { ha1 } from '../../../../sip/auth/digest.ts'
import { suite } from '../../../harness.ts'
import { silent } from '../../app-harness.ts'
import { addMember, makeWholeApp, VAULT, type WholeApp } from '../../whole-app.ts'

const test = suite('control/queues/agents/registrations')

type Register = Events['sip.register']
type Reply = Request<'sip.register_reply'>

/** A member with a SIP account, and a phone that sends what media would hand on. */
class Desk {
  readonly userId: string
  readonly username: string
  readonly password: string
  readonly #app: WholeApp
  readonly #registrations: Registrations
  #cSeq = 0

  constructor(app: WholeApp, userId: string, credential: { username: string; password: string }) {
    this.#app = app
    this.userId = userId
    this.username = credential.username
    this.password = credential.password
    this.#registrations = new Registrations({
      ...{ store: app.store, vault: VAULT, now: app.clock.now, log: silent },
      centre: { run: async () => {} },
    })
  }

  static async open(app: WholeApp): Promise<Desk> {
    const userId = await addMember(app.live, 'ann@example.com')
    const { status, body } = await app.live(`POST /v1/users/${userId}/sip_credential`)
    assert.is(status, 201)
    return new Desk(app, userId, body)
  }

  /** The answer that media was told to give; null: none, since the digest was wrong. */
  async register(
    contacts: Register['contacts'],
    more: Partial<Register> = {},
    meanwhile: () => Promise<unknown> = async () => {},
  ): Promise<Reply | null> {
    let reply: Reply | null = null
    const wanted = ha1(more.algorithm ?? 'MD5', this.username, 'tandem', this.password)
    const media = {
      request: async (name: string, body: never) => {
        if (name === 'sip.register_check') {
          await meanwhile()
          return { isRight: (body as Request<'sip.register_check'>).ha1 === wanted }
        }
        reply = body as Reply
        return {}
      },
      settled: async () => {},
      isEnding: () => false,
    } as unknown as MediaPort
    const register: Register = {
      registerId: 'reg1',
      user: this.username,
      contacts,
      username: this.username,
      algorithm: 'MD5',
      nonce: { value: `nonce of ${this.username}`, count: this.#cSeq + 1 },
      source: { transport: 'udp', host: '198.51.100.7', port: 40_000 },
      callId: 'call1',
      cSeq: ++this.#cSeq,
      ...more,
    }
    await this.#registrations.handle(register, media)
    return reply
  }

  /** The phones that media is told of after a restart. */
  async recovered(): Promise<Request<'sip.keep_open'>['phones']> {
    const told: Request<'sip.keep_open'>[] = []
    const media = {
      request: async (_name: string, body: Request<'sip.keep_open'>) => {
        told.push(body)
        return {}
      },
    }
    await this.#registrations.recover(media as unknown as MediaPort)
    return told.flatMap(({ phones }) => phones)
  }

  /** The phones that media is told to forget. */
  async forgotten(): Promise<Request<'sip.keep_open'>['phones']> {
    const told: Request<'sip.keep_open'>[] = []
    const request = async (_name: string, body: Request<'sip.keep_open'>) => {
      told.push(body)
      return {}
    }
    await forgetPhones(this.#app.store, { request } as unknown as MediaPort, this.#app.clock.now())
    return told.flatMap(({ phones }) => phones)
  }

  devices() {
    const { store, ours, clock } = this.#app
    return devicesOf(store.db, { organisationId: ours.organisationId, livemode: true }, this.userId, clock.now())
  }
}

const A = { uri: 'sip:a@10.0.0.5:5060', expiresS: 600 }
const B = { uri: 'sip:b@10.0.0.6:5060', expiresS: 120 }

test('a password is shown once; what is stored is its hash, sealed', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  assert.match(desk.username, /^live-/)
  const { body } = await app.live(`GET /v1/users/${desk.userId}/sip_credential`)
  assert.is(body.password, undefined)
  assert.equal([body.username, body.realm, body.registrar], [desk.username, 'tandem', '127.0.0.1:5060'])
  assert.is(body.ws_url, 'ws://127.0.0.1:8081/v1/sip')
  const rows = JSON.stringify(await app.store.db.selectFrom('sip_credentials').selectAll().execute())
  assert.not.ok(rows.includes(desk.password) || rows.includes(ha1('MD5', desk.username, 'tandem', desk.password)))
  await app.close()
})

test('a phone behind a proxy is dialled by the way that its registration came (RFC 3327)', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const path = ['<sip:10.0.0.9;lr;received=sip:192.0.2.7:4000>']
  await desk.register([A], { path })
  const via = { host: '198.51.100.7', port: 40_000, transport: 'udp' }
  assert.equal(await desk.devices(), [{ kind: 'sip', uri: A.uri, via, route: path }])
  await desk.register([A])
  assert.equal(await desk.devices(), [{ kind: 'sip', uri: A.uri, via }], 'without a proxy once it comes without')
  await app.close()
})

test('a registered phone can be dialled where its REGISTER came from, until its time is over', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const reply = await desk.register([A])
  assert.equal([reply?.sipCode, reply?.contacts], [200, [A]])
  const via = { host: '198.51.100.7', port: 40_000, transport: 'udp' }
  assert.equal(await desk.devices(), [{ kind: 'sip', uri: A.uri, via }])
  app.clock.advance(601_000)
  assert.equal(await desk.devices(), [])
  await app.close()
})

test('the source of a phone that registers over IPv6 is shown with brackets, so that its port can be told from its address', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  await desk.register([A], { source: { transport: 'udp', host: '2001:db8::7', port: 40_000 } })
  const { body } = await app.live(`GET /v1/users/${desk.userId}/sip_credential`)
  assert.is(body.registrations[0].source, '[2001:db8::7]:40000')
  await app.close()
})

test('after a restart media is told to which phones the way over UDP has to be kept open: those of this node, without a proxy', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  await desk.register([A, B])
  await desk.register([{ uri: 'sip:c@10.0.0.7:5060', expiresS: 600 }], {
    source: { transport: 'tcp', host: '198.51.100.7', port: 40_001 },
  })
  await desk.register([{ uri: 'sip:d@10.0.0.8:5060', expiresS: 600 }], { path: ['<sip:10.0.0.9;lr>'] })
  app.clock.advance(150_000)
  const at = { transport: 'udp', host: '198.51.100.7', port: 40_000 }
  assert.equal(await desk.recovered(), [{ uri: A.uri, ...at, expiresS: 450 }])
  await app.store.db.updateTable('sip_registrations').set({ node: 'another' }).execute()
  assert.equal(await desk.recovered(), [])
  await app.close()
})

for (const [how, change, path] of [
  ['is deleted', undefined, (id: string) => `DELETE /v1/users/${id}/sip_credential`],
  ['gets a new password', undefined, (id: string) => `POST /v1/users/${id}/sip_credential`],
  ['is that of a deactivated member', { status: 'deactivated' }, (id: string) => `PATCH /v1/users/${id}`],
] as const) {
  test(`media forgets the phones of an account that ${how} at once, and those that are not registered again`, async () => {
    const app = await makeWholeApp()
    const desk = await Desk.open(app)
    const source = { transport: 'tcp', host: '198.51.100.7', port: 40_001 } as const
    await desk.register([A])
    await desk.register([B], { callId: 'call2', source })
    assert.equal(await desk.forgotten(), [])
    await app.live(path(desk.userId), change)
    const gone = await desk.forgotten()
    const udp = { transport: 'udp', host: '198.51.100.7', port: 40_000 }
    assert.equal(
      gone.sort((a, b) => (a.uri < b.uri ? -1 : 1)),
      [
        { uri: A.uri, ...udp, expiresS: 0 },
        { uri: B.uri, ...source, expiresS: 0 },
      ],
    )
    assert.equal(await desk.forgotten(), [])
    assert.equal(await app.store.db.selectFrom('sip_registrations').selectAll().execute(), [])
    await app.close()
  })
}

test('a phone that is late is not forgotten before callers have waited for it', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  await desk.register([B])
  app.clock.advance(139_000)
  assert.equal(await desk.forgotten(), [])
  app.clock.advance(1000)
  assert.equal((await desk.forgotten()).length, 1)
  await app.close()
})

test('RFC 5626 §6: a phone that comes over another connection with its instance and reg-id takes the place of its former contact', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const uris = async () => (await desk.devices()).map(device => device.kind === 'sip' && device.uri)
  const flow = { instance: '<urn:uuid:1>', regId: 1 }
  await desk.register([{ ...A, flow }])
  const reply = await desk.register([{ ...B, flow }], {
    callId: 'call2',
    source: { transport: 'tcp', host: '198.51.100.7', port: 40_001 },
  })
  assert.equal(reply?.contacts, [B], 'the former one is told no more')
  assert.equal(await uris(), [B.uri])
  const stale = await desk.register([{ ...A, flow }], { callId: 'call2', cSeq: 1 })
  assert.is(stale?.sipCode, 500, 'a repeat of an older REGISTER does not bring it back')
  app.clock.advance(1000)
  await desk.register([A], { callId: 'call3' })
  assert.equal(await uris(), [A.uri, B.uri], 'a contact without reg-id is one of its own')
  await app.close()
})

test('a phone with two flows rings over the newest one alone, and two phones ring both', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const uris = async () => (await desk.devices()).map(device => device.kind === 'sip' && device.uri)
  await desk.register([{ ...A, flow: { instance: '<urn:uuid:1>', regId: 1 } }])
  app.clock.advance(1000)
  await desk.register([{ ...B, flow: { instance: '<urn:uuid:1>', regId: 2 } }], { callId: 'call2' })
  assert.equal(await uris(), [B.uri])
  app.clock.advance(1000)
  const other = { uri: 'sip:c@10.0.0.7', expiresS: 600, flow: { instance: '<urn:uuid:2>', regId: 1 } }
  await desk.register([other], { callId: 'call4' })
  assert.equal(await uris(), [other.uri, B.uri])
  await app.close()
})

test('RFC 5626 §4.2.2: a phone whose WebSocket is closed is rung no more, others of its member and host are', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const source = { transport: 'wss', host: '198.51.100.7', port: 40_000 } as const
  const page = { uri: 'sip:x@8f2.invalid;transport=ws', expiresS: 600 }
  await desk.register([page], { source })
  await desk.register([A], { callId: 'call2', source: { ...source, transport: 'udp' } })
  await desk.register([B], { callId: 'call3', source: { ...source, port: 40_001 } })
  const at = app.clock.now().toISOString()
  assert.is(await app.store.transaction(trx => forgetPhonesOf(trx, source, at)), true)
  const uris = (await desk.devices()).map(device => (device.kind === 'sip' ? device.uri : null))
  assert.equal(uris.sort(), [A.uri, B.uri])
  const user = await app.store.db
    .selectFrom('users')
    .selectAll()
    .where('id', '=', desk.userId)
    .executeTakeFirstOrThrow()
  assert.is(user.device_lost_at, at, 'it is waited for')
  assert.is(await app.store.transaction(trx => forgetPhonesOf(trx, source, at)), false)
  await app.close()
})

test('both hashes are right for the same password', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  for (const algorithm of ['MD5', 'SHA-256'] as const) {
    assert.is((await desk.register([A], { algorithm }))?.sipCode, 200, algorithm)
  }
  await app.close()
})

test('a member has several phones; each REGISTER is answered with all of them and the time they have left', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  await desk.register([A])
  app.clock.advance(10_000)
  const reply = await desk.register([B], { callId: 'call2' })
  assert.equal(reply?.contacts, [{ ...A, expiresS: 590 }, B])
  assert.is((await desk.devices()).length, 2)
  const { body } = await app.live(`GET /v1/users/${desk.userId}/sip_credential`)
  assert.equal(
    body.registrations.map((one: { contact: string }) => one.contact),
    [B.uri, A.uri],
  )
  await app.close()
})

test('a refresh takes the place of what was there; 0 removes one phone, "*" all', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  await desk.register([A, B])
  const refreshed = await desk.register([{ ...A, expiresS: 3000 }])
  assert.equal(refreshed?.contacts, [B, { ...A, expiresS: 3000 }])
  assert.equal((await desk.register([{ ...A, expiresS: 0 }]))?.contacts, [B])
  assert.equal((await desk.register([]))?.contacts, [B])
  assert.equal((await desk.register([{ uri: '*', expiresS: 0 }]))?.contacts, [])
  await app.close()
})

test('a time below a minute is answered 423 and keeps nothing; above an hour it is an hour', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const brief = await desk.register([{ ...A, expiresS: 59 }])
  assert.equal([brief?.sipCode, brief?.minExpiresS], [423, 60])
  assert.equal(await desk.devices(), [])
  assert.equal((await desk.register([{ ...A, expiresS: 86_400 }]))?.contacts, [{ ...A, expiresS: 3600 }])
  await app.close()
})

test('a REGISTER that was overtaken by a later one changes nothing (RFC 3261 §10.3)', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  await desk.register([A], { cSeq: 10 })
  assert.is((await desk.register([{ ...A, expiresS: 0 }], { cSeq: 9 }))?.sipCode, 500)
  assert.is((await desk.devices()).length, 1)
  assert.is((await desk.register([{ ...A, expiresS: 0 }], { cSeq: 1, callId: 'after a restart' }))?.sipCode, 200)
  await app.close()
})

test('more than ten phones, and the address of another account, are answered 403', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const ten = Array.from({ length: 10 }, (_, i) => ({ uri: `sip:p${i}@10.0.0.9`, expiresS: 600 }))
  assert.is((await desk.register(ten))?.sipCode, 200)
  assert.is((await desk.register([A]))?.sipCode, 403)
  assert.is((await desk.devices()).length, 10)
  assert.is((await desk.register([], { user: 'somebody-else' }))?.sipCode, 403)
  await app.close()
})

test('an unknown account and a replaced password are judged wrong; a deactivated member is refused', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  assert.is(await desk.register([A], { username: 'live-nobody' }), null)
  await desk.register([A])
  await app.live(`PATCH /v1/users/${desk.userId}`, { status: 'deactivated' })
  assert.is((await desk.register([A]))?.sipCode, 403)
  await app.live(`PATCH /v1/users/${desk.userId}`, { status: 'active' })
  await app.live(`POST /v1/users/${desk.userId}/sip_credential`)
  assert.is(await desk.register([A]), null)
  assert.equal(await desk.devices(), [])
  await app.close()
})

test('accounts of test mode are of test mode only; a deleted account is gone', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  assert.is((await app.test(`GET /v1/users/${desk.userId}/sip_credential`)).status, 404)
  const userId = await addMember(app.test, 'tess@example.com')
  const { body } = await app.test(`POST /v1/users/${userId}/sip_credential`)
  assert.match(body.username, /^test-/)
  await desk.register([A])
  assert.is((await app.live(`DELETE /v1/users/${desk.userId}/sip_credential`)).body.deleted, true)
  assert.is((await app.live(`DELETE /v1/users/${desk.userId}/sip_credential`)).status, 404)
  assert.equal(await desk.devices(), [])
  await app.close()
})

test('a contact that is named twice, or registered twice at once, is kept once: the last word counts', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const twice = await desk.register([A, B, { ...A, expiresS: 900 }])
  assert.equal([twice?.sipCode, twice?.contacts], [200, [{ ...A, expiresS: 900 }, B]])
  const together = await Promise.all(['x', 'y', 'z'].map(callId => desk.register([A], { callId })))
  assert.equal(
    together.map(reply => reply?.sipCode),
    [200, 200, 200],
  )
  assert.is((await desk.devices()).length, 2)
  await app.close()
})

test('a deactivated member is reached by nothing, and active again by nothing that was there before', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  await desk.register([A])
  await app.live(`PATCH /v1/users/${desk.userId}`, { status: 'deactivated' })
  assert.equal((await app.live(`GET /v1/users/${desk.userId}/sip_credential`)).body.registrations, [])
  await app.live(`PATCH /v1/users/${desk.userId}`, { status: 'active' })
  assert.equal(await desk.devices(), [])
  assert.is((await desk.register([A]))?.sipCode, 200)
  await app.close()
})

test('a password that is replaced while its digest is judged registers nothing', async () => {
  const app = await makeWholeApp()
  const desk = await Desk.open(app)
  const renew = () => app.live(`POST /v1/users/${desk.userId}/sip_credential`)
  assert.is((await desk.register([A], {}, renew))?.sipCode, 403)
  assert.equal(await desk.devices(), [])
  await app.close()
})

test.run()
