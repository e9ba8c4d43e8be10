import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as assert from 'uvu/assert'
import { BrowserAdmission } from '../../../control/browsers/admission.ts'
import {
  clientTokenKey,
  insertClientToken,
  readOrigin,
  signClientToken,
  useClientToken,
  verifyClientToken,
} from '../../../control/browsers/client-token.ts'
import { Softphones } from '../../../control/browsers/softphone.ts'
import type { Conducting } from '../../../control/calls/steps/follow.ts'
import { isProblem } from '../../../control/http/errors.ts'
import type { FollowUp } from '../../../control/kernel/follow-ups.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { vaultOf } from '../../../control/kernel/vault.ts'
import type { MediaPort } from '../../../control/media-link/events.ts'
import type { Events } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { addMember, makeWholeApp, refusal, VAULT, type WholeApp } from '../whole-app.ts'

const CENTRE = { run: async () => {} }

/** A page knocks; what follows the commit is done with these. */
async function connect(
  { store }: Pick<WholeApp, 'store'>,
  admission: BrowserAdmission,
  page: Events['browser.connecting'],
  { media, conducting = { drive: async () => {} } }: { media: MediaPort; conducting?: Pick<Conducting, 'drive'> },
): Promise<void> {
  const followed: FollowUp[] = []
  store.followUps.performedBy(async ({ run }) => void followed.push(run))
  await store.transaction(async trx => admission.connecting(trx, { at: '', body: page }))
  for (const run of followed) await run({ media, conducting: conducting as Conducting, decide: async () => {} })
}

const test = suite('control/browsers/token-routes')

/** What becomes of a token that a browser brings: the ID of the call it opens, or the code of the refusal. */
async function redeem(
  { store, clock }: WholeApp,
  token: string,
  { origin = null, use = 'call' as 'call' | 'softphone' }: { origin?: string | null; use?: 'call' | 'softphone' } = {},
): Promise<string> {
  const key = await clientTokenKey(store, VAULT)
  const asked = { token, origin, use, now: clock.now() }
  const claims = await verifyClientToken(key, asked)
  const opened = isProblem(claims) ? claims : await useClientToken(store.db, claims, asked)
  return isProblem(opened) ? opened.problem : opened.token.id
}

test('a client token is a signed JWT for one call to one assistant; the answer carries the ID of the call', async () => {
  const app = await makeWholeApp()
  const assistant_id = (await app.live('POST /v1/assistants', { name: 'a' })).body.id
  const { status, body } = await app.live('POST /v1/client_tokens', {
    assistant_id,
    origin: 'https://shop.example.com',
  })
  assert.is(status, 201)
  assert.match(body.call_id, /^call_/)
  assert.equal(
    { ...body, token: '', call_id: '' },
    {
      object: 'client_token',
      token: '',
      expires_at: '2026-11-21T10:05:00.000Z',
      call_id: '',
      assistant_id,
      agent_user_id: null,
      origin: 'https://shop.example.com',
      livemode: true,
      ws_url: 'ws://127.0.0.1:8081/v1/web_calls',
    },
  )
  assert.is(decodeProtectedHeader(body.token).alg, 'HS256')
  const claims = decodeJwt(body.token)
  assert.equal([claims.jti, claims.aud, claims.origin], [body.call_id, 'call', 'https://shop.example.com'])
  assert.is((claims.exp ?? 0) - (claims.iat ?? 0), 300)
  await app.close()
})

test('the call can be followed before it starts: its events are a list that is empty yet, to its own organisation and mode', async () => {
  const app = await makeWholeApp()
  const { call_id } = (await app.live('POST /v1/client_tokens')).body
  const { status, body } = await app.live(`GET /v1/calls/${call_id}/events`)
  assert.equal([status, body.data, body.has_more], [200, [], false])
  assert.is((await app.test(`GET /v1/calls/${call_id}/events`)).status, 404)
  const { body: none } = await app.live('GET /v1/calls/call_none/events')
  assert.is(none.error.code, 'resource_missing')
  await app.close()
})

test('a page that comes while the store is away is refused with 503 at once, and its token is not used up', async () => {
  const app = await makeWholeApp()
  const { token } = (await app.live('POST /v1/client_tokens', {})).body
  const asked: [string, { status?: number; body?: object }][] = []
  const media = {
    request: async (name: string, body: object) => {
      asked.push([name, body])
      return {}
    },
  } as unknown as MediaPort
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  const store = Object.assign(Object.create(app.store), { transaction: () => Promise.reject(full) })
  const deps = { vault: VAULT, now: app.clock.now, log: silent, publicUrl: 'http://127.0.0.1:8080', centre: CENTRE }
  const page = { browserId: 'browser_1', use: 'call', token, origin: null, host: '192.0.2.1' } as const
  const knock = (at: typeof store) => connect(app, new BrowserAdmission({ ...deps, store: at }), page, { media })
  const thrown = await knock(store).then(
    () => null,
    (error: unknown) => error,
  )
  assert.is(thrown, full, 'the outage is known to who waits for its end')
  assert.equal([asked[0]?.[0], asked[0]?.[1].status], ['browser.refuse', 503])
  assert.match(JSON.stringify(asked[0]?.[1].body), 'store_unavailable')
  await knock(app.store)
  assert.is(asked[1]?.[0], 'browser.admit')
  await app.close()
})

test('the call that a browser starts with the token has its ID, its assistant and its metadata as they were sent', async () => {
  const app = await makeWholeApp()
  const assistant_id = (await app.live('POST /v1/assistants', { name: 'a' })).body.id
  const metadata = { order: '42', note: 'grüße ' }
  const { token, call_id } = (await app.live('POST /v1/client_tokens', { assistant_id, metadata })).body
  const asked: string[] = []
  const media = {
    state: 'ready',
    request: async (name: string) => {
      asked.push(name)
      return {}
    },
  } as unknown as MediaPort
  const deps = {
    store: app.store,
    vault: VAULT,
    now: app.clock.now,
    log: silent,
    publicUrl: 'http://127.0.0.1:8080',
    centre: CENTRE,
  }
  const page = { browserId: 'browser_1', use: 'call', token, origin: null, host: '192.0.2.1' } as const
  const admission = new BrowserAdmission(deps)
  const driven: string[] = []
  const conducting = { drive: async (leg: string) => void driven.push(leg) }
  const knock = () => connect(app, admission, page, { media, conducting })
  await knock()
  await knock()
  assert.equal(asked, ['browser.admit', 'browser.refuse'])
  const { status, body } = await app.live(`GET /v1/calls/${call_id}`)
  assert.equal([status, body.id, body.metadata, body.direction], [200, call_id, metadata, 'inbound'])
  assert.is(driven.length, 1)
  const program = await app.store.db.selectFrom('call_programs').selectAll().executeTakeFirstOrThrow()
  assert.equal([program.id, program.assistant_id], [call_id, assistant_id])
  const own = (await app.live(`GET /v1/web_calls/${call_id}`)).body
  assert.equal(
    [own.object, own.id, own.assistant_id, own.metadata, own.status, own.duration_ms],
    ['web_call', call_id, assistant_id, metadata, body.status, null],
  )
  assert.equal((await app.live('GET /v1/web_calls')).body.data, [own])
  assert.equal((await app.test('GET /v1/web_calls')).body.data, [], 'of the other mode')
  assert.equal((await app.live(`GET /v1/web_calls?assistant_id=${assistant_id}`)).body.data, [own])
  for (const other of ['assistant_id=asst_other', 'room_id=room_other', 'origin=https://shop.example'])
    assert.equal((await app.live(`GET /v1/web_calls?${other}`)).body.data, [], other)
  const ended = forTenant(app.store.db, { organisationId: app.ours.organisationId, livemode: true }).update('calls')
  await ended.set({ ended_at: app.clock.now().toISOString(), status: 'completed' }).execute()
  await app.live(`DELETE /v1/calls/${call_id}`)
  assert.is((await app.store.db.selectFrom('web_calls').selectAll().execute()).length, 0, 'it goes with its call')
  await app.close()
})

test("metadata of an agent's token is that of the calls which its softphone places, and steers nothing else", async () => {
  const app = await makeWholeApp()
  const { store, clock } = app
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const own = forTenant(store.db, tenant)
  for (const extension of ['310', '311']) {
    await own.insert('users', {
      ...{ id: `usr_${extension}`, name: '', email: `${extension}@example.com`, email_verified: 1, role: 'agent' },
      ...{
        status: 'active',
        team_id: null,
        extension,
        takes_seat: 1,
        last_login: null,
        created: clock.now().toISOString(),
      },
    })
  }
  const metadata = { device: 'desk', shift: 'late' }
  const { body } = await app.live('POST /v1/client_tokens', { agent_user_id: 'usr_310', metadata })
  const admitted: unknown[] = []
  const told: unknown[] = []
  const media = {
    state: 'ready',
    request: async (name: string, sent: { phone?: unknown; body?: unknown }) => {
      if (name === 'browser.admit') admitted.push(sent.phone)
      if (name === 'browser.send') told.push(sent.body)
      return {}
    },
  } as unknown as MediaPort
  const deps = { store, vault: VAULT, now: clock.now, log: silent, publicUrl: 'http://127.0.0.1:8080', centre: CENTRE }
  const page = { browserId: 'brw_1', use: 'phone', token: body.token, origin: null, host: '192.0.2.1' } as const
  await connect(app, new BrowserAdmission(deps), page, { media })
  assert.equal(admitted, [{ agent: `${tenant.organisationId}:true:usr_310`, device: 'brw_1' }])
  const softphone = new Softphones({ ...deps, sipHost: '127.0.0.1', centre: CENTRE } as never)
  await softphone.handle({ browserId: 'brw_1', body: { type: 'dial', to: '311' } }, media)
  assert.equal(told, [{ type: 'done', message: 'Calling 311.' }])
  const { data } = (await app.live('GET /v1/calls')).body
  assert.equal(
    data.map((call: { metadata: object }) => call.metadata),
    [metadata],
  )
  await softphone.handle({ browserId: 'brw_1', body: { type: 'renew' } }, media)
  const renewed = await store.db.selectFrom('client_tokens').selectAll().where('device', 'is not', null).execute()
  assert.equal(
    renewed.map(row => [row.device, JSON.parse(row.metadata)]),
    [['brw_1', metadata]],
  )
  await app.close()
})

test('the token works once', async () => {
  const app = await makeWholeApp()
  const { token, call_id } = (await app.live('POST /v1/client_tokens')).body
  const both = await Promise.all([redeem(app, token), redeem(app, token)])
  assert.equal(both.sort(), [call_id, 'client_token_used'].sort())
  assert.is(await redeem(app, token), 'client_token_used')
  await app.close()
})

test('a token that renews a softphone works again until a newer one of it was used: what opened with it may have broken before that came', async () => {
  const app = await makeWholeApp()
  const userId = await addMember(app.live, 'ann@example.com')
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const key = await clientTokenKey(app.store, VAULT)
  const renewal = async (device: string) => {
    app.clock.advance(1000)
    const fields = { assistant_id: null, agent_user_id: userId, origin: null, metadata: '{}', device, ttlS: 3600 }
    const row = await insertClientToken(app.store.db, tenant, fields, app.clock.now())
    return { id: row.id, token: await signClientToken(row, key) }
  }
  const open = ({ token }: { token: string }) => redeem(app, token, { use: 'softphone' })
  const first = await renewal('brw_1')
  assert.equal([await open(first), await open(first)], [first.id, first.id])
  const second = await renewal('brw_1')
  const other = await renewal('brw_2')
  assert.equal([await open(other), await open(first)], [other.id, first.id], 'another softphone is another matter')
  assert.equal([await open(second), await open(first), await open(second)], [second.id, 'client_token_used', second.id])
  app.clock.advance(3_600_000)
  assert.is(await open(second), 'client_token_invalid')
  await app.close()
})

test('the token works until expires_at; ttl_s is 300 to 900, default 300', async () => {
  const app = await makeWholeApp()
  const { token, call_id } = (await app.live('POST /v1/client_tokens', { ttl_s: 900 })).body
  const late = (await app.live('POST /v1/client_tokens', {})).body.token
  app.clock.advance(300_000)
  assert.is(await redeem(app, late), 'client_token_invalid')
  app.clock.advance(599_000)
  assert.is(await redeem(app, token), call_id)
  for (const ttl_s of [299, 901, 300.5, '300']) {
    assert.equal(refusal(await app.live('POST /v1/client_tokens', { ttl_s })), [400, 'ttl_s', undefined])
  }
  await app.close()
})

test('the token works until expires_at to the millisecond, though a JWT counts whole seconds', async () => {
  const app = await makeWholeApp()
  app.clock.advance(935)
  const [last, late] = [await app.live('POST /v1/client_tokens', {}), await app.live('POST /v1/client_tokens', {})]
  const until = Date.parse(last.body.expires_at) - app.clock.now().getTime()
  assert.ok(until >= 300_000, 'the time that was asked for, and less than a second more')
  app.clock.advance(until - 1)
  assert.is(await redeem(app, last.body.token), last.body.call_id)
  app.clock.advance(1)
  assert.is(await redeem(app, late.body.token), 'client_token_invalid')
  await app.close()
})

test("the browser's Origin must match; a mismatch does not use the token up", async () => {
  const app = await makeWholeApp()
  const { token, call_id } = (await app.live('POST /v1/client_tokens', { origin: 'https://Shop.Example.com:443/' }))
    .body
  assert.is(await redeem(app, token, { origin: 'https://evil.example.com' }), 'origin_mismatch')
  assert.is(await redeem(app, token), 'origin_mismatch', 'no Origin is not the origin')
  assert.is(await redeem(app, token, { origin: 'https://shop.example.com' }), call_id)
  await app.close()
})

test('http is accepted for localhost only, and an origin has no path', async () => {
  assert.is(readOrigin('http://localhost:3000'), 'http://localhost:3000')
  assert.is(readOrigin('http://app.localhost'), 'http://app.localhost')
  assert.is(readOrigin('http://127.0.0.1:8080'), 'http://127.0.0.1:8080')
  assert.is(readOrigin('http://[::1]:8080'), 'http://[::1]:8080')
  const { live, close } = await makeWholeApp()
  for (const origin of [
    'http://shop.example.com',
    'http://localhost.example.com',
    'https://shop.example.com/cart',
    'https://shop.example.com?a=1',
    'https://shop.example.com/#',
    'https://user@shop.example.com',
    'ftp://shop.example.com',
    'null',
    '*',
    '',
  ]) {
    assert.equal(refusal(await live('POST /v1/client_tokens', { origin })), [400, 'origin', undefined], origin)
  }
  await close()
})

test('the call WebSocket refuses agent tokens, and the softphone those of calls', async () => {
  const app = await makeWholeApp()
  const ann = await addMember(app.live, 'ann@example.com')
  const agent = (await app.live('POST /v1/client_tokens', { agent_user_id: ann })).body
  assert.is(agent.agent_user_id, ann)
  assert.is(await redeem(app, agent.token), 'client_token_invalid')
  assert.is(await redeem(app, agent.token, { use: 'softphone' }), agent.call_id)
  const call = (await app.live('POST /v1/client_tokens')).body
  assert.is(await redeem(app, call.token, { use: 'softphone' }), 'client_token_invalid')
  await app.close()
})

test('a token of a member who is deactivated opens nothing, nor when the member is active again', async () => {
  const app = await makeWholeApp()
  const ann = await addMember(app.live, 'ann@example.com')
  const { token } = (await app.live('POST /v1/client_tokens', { agent_user_id: ann })).body
  const late = (await app.live('POST /v1/client_tokens', { agent_user_id: ann })).body
  const row = await app.store.db.selectFrom('client_tokens').selectAll().where('id', '=', late.call_id).execute()
  await app.live(`PATCH /v1/users/${ann}`, { status: 'deactivated' })
  // As if it had been made while the member was deactivated.
  await app.store.db.insertInto('client_tokens').values(row).execute()
  assert.is(await redeem(app, late.token, { use: 'softphone' }), 'client_token_invalid')
  await app.live(`PATCH /v1/users/${ann}`, { status: 'active' })
  assert.is(await redeem(app, token, { use: 'softphone' }), 'client_token_invalid')
  await app.close()
})

test('a forged token, one of another installation and one without its row are refused', async () => {
  const app = await makeWholeApp()
  const { token } = (await app.live('POST /v1/client_tokens')).body
  const [header, claims, signature] = token.split('.')
  const forged = Buffer.from(claims, 'base64url').toString().replace('"livemode":true', '"livemode":false')
  assert.is(
    await redeem(app, `${header}.${Buffer.from(forged).toString('base64url')}.${signature}`),
    'client_token_invalid',
  )
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  assert.is(await redeem(app, `${none}.${claims}.`), 'client_token_invalid')
  const other = await makeWholeApp({ vault: vaultOf(Buffer.alloc(32, 9)) })
  const foreign = (await other.live('POST /v1/client_tokens')).body.token
  assert.is(await redeem(app, foreign), 'client_token_invalid')
  await app.store.db.deleteFrom('client_tokens').execute()
  assert.is(await redeem(app, token), 'client_token_invalid')
  await app.close()
  await other.close()
})

test('whoever a token names must be there, one of the two, and an agent active', async () => {
  const { live, close } = await makeWholeApp()
  const mint = async (body: object) => refusal(await live('POST /v1/client_tokens', body))
  assert.equal(await mint({ assistant_id: 'asst_none' }), [400, 'assistant_id', undefined])
  assert.equal(await mint({ agent_user_id: 'usr_none' }), [400, 'agent_user_id', undefined])
  const invited = (await live('POST /v1/invitations', { email: 'new@example.com' })).body.user_id
  assert.equal(await mint({ agent_user_id: invited }), [409, null, 'not_active'])
  const assistant_id = (await live('POST /v1/assistants', { name: 'a' })).body.id
  assert.equal(await mint({ agent_user_id: invited, assistant_id }), [400, 'agent_user_id', undefined])
  const pairs = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'v']))
  assert.is((await mint({ metadata: pairs }))[0], 400)
  await close()
})

test.run()
