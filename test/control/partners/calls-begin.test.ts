import * as assert from 'uvu/assert'
import { BrowserAdmission } from '../../../control/browsers/admission.ts'
import { type IncomingDeps, onIncoming } from '../../../control/calls/conductor/incoming-call.ts'
import type { FollowUp, FollowUpTask } from '../../../control/kernel/follow-ups.ts'
import type { Trx } from '../../../control/kernel/store/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import type { MediaPort } from '../../../control/media-link/events.ts'
import { textsOfPhones } from '../../../control/messages/from-phone.ts'
import { PhoneCalls } from '../../../control/queues/agents/phone-calls.ts'
import { placeMembersCall } from '../../../control/queues/agents/placed-calls.ts'
import { transferBlind } from '../../../control/queues/call-handling.ts'
import { DEFAULT_LIMITS, type Limits } from '../../../control/usage/client.ts'
import { count } from '../../../control/usage/ledger.ts'
import type { Events } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { ask, silent, type World } from '../app-harness.ts'
import { type CampaignWorld, makeCampaignWorld } from '../campaigns/campaign-world.ts'
import { addMember, DEAF_MEDIA, makeWholeApp, VAULT } from '../whole-app.ts'

const test = suite('control/partners/calls-begin')

const OUTSIDE = '+14155550142'
const request = { requestId: 'req_1', idempotencyKey: null }

/** Our organisation is run by theirs, which has set these limits. */
async function restrict({ store, ours, theirs }: World, now: Partial<Limits> & { suspended?: boolean } = {}) {
  const { suspended = false, ...limits } = now
  const partner = forTenant(store.db, { organisationId: theirs.organisationId, livemode: true })
  const change = { suspended: suspended ? 1 : 0, limits: JSON.stringify({ ...DEFAULT_LIMITS, ...limits }) }
  const at = '2026-11-21T09:00:00.000Z'
  if ((await partner.find('partner_organisations', ours.organisationId)) === undefined) {
    const row = { id: ours.organisationId, name: 'Client', created: at, updated: at, ...change }
    return partner.insert('partner_organisations', row)
  }
  await partner.change('partner_organisations', ours.organisationId, change)
}

/** What is refused, and how; the last one is no limit. */
const LIMITS = [
  [{ suspended: true }, 'organisation_suspended', 403],
  [{ concurrent_calls: 0 }, 'capacity_exhausted', 480],
  [{ call_minutes_per_month: 0 }, 'plan_limit', 403],
] as const

const NOTHING = { calls: 0, rings: 0 }
async function begun({ world: { store } }: CampaignWorld): Promise<typeof NOTHING> {
  const [calls, rings] = await Promise.all(
    (['calls', 'rings'] as const).map(table => store.db.selectFrom(table).selectAll().execute()),
  )
  return { calls: calls!.length, rings: rings!.length }
}

/** What follows the commits of a store is kept, and done when it is asked for. */
function followed(store: World['store']) {
  const waiting: FollowUp[] = []
  store.followUps.performedBy(async ({ run }) => void waiting.push(run))
  return async (media: MediaPort) => {
    for (const run of waiting.splice(0))
      await run({ media, conducting: { drive: async () => {} }, decide: async () => {} } as never)
  }
}

test("a member's phone or softphone that dials: outside and inside, 403 or 480", async () => {
  const campaigns = await makeCampaignWorld()
  const { world } = campaigns
  const { store, clock, tenant } = world
  const [ann, bob] = [await world.addAgent('ann'), await world.addAgent('bob')]
  const users = forTenant(store.db, tenant)
  await users.change('users', bob, { extension: '302' })
  const user = (await users.find('users', ann))!
  const deps = { store, now: clock.now, sipHost: 'tandem.test', vault: VAULT, log: silent, centre: world.centre() }
  const device = { kind: 'leg' as const, legId: 'part_phone' }
  for (const [limits, code] of LIMITS) {
    await restrict(world, limits)
    for (const dialled of [OUTSIDE, '302']) {
      const refused = await placeMembersCall(deps, { tenant, user, device, dialled })
      assert.is(refused?.failure === 'not_allowed' ? refused.problem.problem : refused, code)
    }
    assert.equal(await begun(campaigns), NOTHING)
  }
  const secret = { ha1_md5: VAULT.seal('x', ann), ha1_sha256: VAULT.seal('x', ann), created: '' }
  await users.insert('sip_credentials', { id: ann, username: 'live-ann', ...secret })
  let answered: (sipCode: number) => void = () => {}
  const media = {
    request: async (name: string, body: { sipCode?: number }) => {
      if (name === 'leg.reject') answered(body.sipCode!)
      return { isRight: true }
    },
  } as unknown as MediaPort
  const party = { uri: 'sip:live-ann@tandem.test', user: 'live-ann', host: 'tandem.test' }
  const body: Events['leg.incoming'] = {
    ...{ legId: 'part_phone', from: party, to: { ...party, user: '302' }, source: { host: '192.0.2.1' } },
    ...{ sipCallId: 'c', digest: { username: 'live-ann', algorithm: 'MD5', nonce: { value: 'n', count: 0 } } },
  }
  const phones = new PhoneCalls(deps as never)
  for (const [limits, , sipCode] of LIMITS) {
    await restrict(world, limits)
    body.digest!.nonce.count++
    const run = followed(store)
    const answer = new Promise<number>(resolve => (answered = resolve))
    await store.transaction(trx => phones.incoming(trx, { body, at: '', seq: 1 } as never))
    await run(media)
    assert.is(await answer, sipCode)
  }
  await campaigns.close()
})

test('a call outside of which another has taken the last place while the member picked up is not begun', async () => {
  const campaigns = await makeCampaignWorld()
  const { world } = campaigns
  const { store, clock, tenant, media } = world
  const ann = await world.addAgent('ann')
  const user = (await forTenant(store.db, tenant).find('users', ann))!
  const deps = { store, now: clock.now, sipHost: 'tandem.test', vault: VAULT, centre: world.centre() }
  await restrict(world, { concurrent_calls: 1 })
  const device = { kind: 'browser' as const, browserId: 'page' }
  assert.is(await placeMembersCall(deps, { tenant, user, device, dialled: OUTSIDE }), null)
  await world.settle()
  await restrict(world, { concurrent_calls: 0 })
  media.pickUp([...media.legs.values()].find(leg => leg.dialled === 'page')!.legId)
  await world.settle()
  assert.equal([campaigns.dialled(), await begun(campaigns)], [[], NOTHING])
  assert.is([...media.legs.values()].length, 0, 'her page is free again')
  await campaigns.close()
})

test('due callbacks wait, of an assistant and of a queue, also when an agent has accepted one meanwhile', async () => {
  const campaigns = await makeCampaignWorld()
  const { world } = campaigns
  const ann = await world.addAgent('ann')
  const queue_id = await world.addQueue({ member_user_ids: [ann], wrap_up_seconds: 0 })
  const { id: assistant_id } = await campaigns.ask('POST /v1/assistants', { name: 'Back' })
  // None of them is due before the limits are set: whoever becomes available is looked for at once, beside this.
  const due_at = new Date(world.clock.now().getTime() + 30_000).toISOString()
  const first = { phone: '+14155550101', route: 'assistant', assistant_id }
  const second = { phone: '+14155550102', route: 'agent_queue', queue_id }
  for (const one of [first, second]) await campaigns.ask('POST /v1/callbacks', { ...one, due_at })
  await world.setStatus(ann, 'available')
  for (const [limits] of LIMITS) {
    await restrict(world, limits)
    await world.later(60_000)
    assert.equal([campaigns.dialled(), await begun(campaigns)], [[], NOTHING])
  }
  await restrict(world)
  await world.later(60_000)
  assert.equal(campaigns.dialled(), ['+14155550101'])
  await restrict(world, { suspended: true })
  const [ringing] = world.ringing(ann)
  world.media.pickUp(ringing!.legId)
  await world.settle()
  assert.equal(campaigns.dialled(), ['+14155550101'])
  assert.is(world.legOf(ann), undefined, 'she waits for nobody')
  await restrict(world)
  await world.later(60_000)
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.equal(campaigns.dialled(), ['+14155550101', '+14155550102'])
  await campaigns.close()
})

test('who was written down to be called when the organisation was suspended is not dialled, and is once it is not', async () => {
  const [back, cold] = ['+14155550101', '+14155550102']
  const campaigns = await makeCampaignWorld()
  const { world } = campaigns
  const { store, media } = world
  const { id: assistant_id } = await campaigns.ask('POST /v1/assistants', { name: 'Back' })
  // What follows the commits waits, as that of a process that dies there.
  const waiting: FollowUpTask[] = []
  store.followUps.performedBy(async task => void waiting.push(task))
  await campaigns.ask('POST /v1/callbacks', { phone: back, route: 'assistant', assistant_id, max_attempts: 1 })
  await world.centre().run(media)
  await campaigns.start([cold], { max_attempts: 1 })
  await campaigns.look()
  assert.is((await begun(campaigns)).calls, 2)
  await restrict(world, { suspended: true })
  store.followUps.performedBy(task => world.driver().perform(task, media))
  for (const task of waiting) store.followUps.begin(task)
  await world.settle()
  assert.equal([campaigns.dialled(), await world.events('call.answered')], [[], []])
  assert.equal(
    (await world.events('call.ended')).map(({ object }) => object.ended_reason),
    ['capacity', 'capacity'],
  )
  const callback = (await forTenant(store.db, world.tenant).findBy('callbacks', { phone: back }))!
  assert.equal([callback.status, callback.attempts, callback.last_result], ['pending', 0, 'capacity'])
  assert.equal([(await campaigns.contact(cold)).status, (await campaigns.contact(cold)).attempts], ['pending', 0])
  await campaigns.later(5 * 60_000)
  assert.equal(campaigns.dialled(), [])
  await restrict(world)
  await campaigns.later(60_000)
  assert.equal(campaigns.dialled().sort(), [back, cold])
  await campaigns.close()
})

test('a call of the API whose organisation is suspended while it is written down is not dialled', async () => {
  const campaigns = await makeCampaignWorld()
  const { store, ours, theirs } = campaigns.world
  const { id } = await campaigns.ask('POST /v1/assistants', { name: 'A' })
  await restrict(campaigns.world)
  const partner = { organisationId: theirs.organisationId, livemode: true }
  const suspend = async (trx: Trx) =>
    void (await forTenant(trx, partner).change('partner_organisations', ours.organisationId, { suspended: 1 }))
  store.within.add(suspend)
  const { request } = DEAF_MEDIA
  const asked: [string, string][] = []
  DEAF_MEDIA.request = (async (name: string, body: { legId: string }) => {
    asked.push([name, body.legId])
    return {}
  }) as never
  const refused = await campaigns.answer('POST /v1/calls', { to: OUTSIDE, assistant_id: id })
  DEAF_MEDIA.request = request
  store.within.delete(suspend)
  assert.equal(
    asked.map(([name]) => name),
    ['leg.reserve', 'leg.release'],
    'and its place is free at once',
  )
  assert.is(asked[0]![1], asked[1]![1])
  assert.is(refused.body.error.code, 'organisation_suspended', refused.text)
  const [call] = await store.db.selectFrom('calls').select(['status', 'ended_reason']).execute()
  assert.equal(call, { status: 'failed', ended_reason: 'capacity' })
  await campaigns.close()
})

test('of several callbacks that are due at once no more are dialled than calls are left', async () => {
  const campaigns = await makeCampaignWorld()
  const { id: assistant_id } = await campaigns.ask('POST /v1/assistants', { name: 'Back' })
  for (const phone of ['+14155550101', '+14155550102', '+14155550103'])
    await campaigns.ask('POST /v1/callbacks', { phone, route: 'assistant', assistant_id })
  await restrict(campaigns.world, { concurrent_calls: 2 })
  await campaigns.world.later(60_000)
  assert.is(campaigns.dialled().length, 2)
  await campaigns.end(campaigns.dialled()[0]!, 'no_answer')
  await campaigns.world.later(60_000)
  assert.is(campaigns.dialled().length, 3)
  await campaigns.close()
})

test('a running call goes on, and is sent on to nobody outside: by transfer or by the overflow of its queue', async () => {
  for (const [limits, reached] of [
    [{ suspended: true }, []],
    [{ call_minutes_per_month: 1 }, []],
    // It counts already.
    [{ concurrent_calls: 1 }, [OUTSIDE]],
  ] as const) {
    const campaigns = await makeCampaignWorld()
    const { world } = campaigns
    const { tenant, clock } = world
    const ann = await world.addAgent('ann')
    const queue = await world.addQueue({ member_user_ids: [ann] })
    await world.setStatus(ann, 'available')
    const caller = await world.call(queue)
    await world.settle()
    world.media.pickUp(world.ringing(ann)[0]!.legId)
    await world.settle()
    const used = { sourceId: 'call_before', at: clock.now().toISOString(), amounts: { call_ms: 60_000 } }
    await world.store.transaction(trx => count(trx, tenant, used))
    await restrict(world, limits)
    await world.later(60_000)
    const callId = world.media.legs.get(caller)!.roomId!
    assert.ok(world.legOf(ann) !== undefined, 'they talk')
    const target = { type: 'number' as const, to: OUTSIDE }
    const by = { tenant, callId, request }
    await world.centre().handle(by, handling => transferBlind(handling, target, 'answerer'))
    await world.settle()
    assert.equal(campaigns.dialled(), reached)
    if (reached.length === 0) assert.is((await world.events('call.ended')).length, 1, 'who was sent on is told')
    await campaigns.close()
  }
  const campaigns = await makeCampaignWorld()
  const { world } = campaigns
  const none = { when_no_agents: true, assistant_id: null, user_id: null, queue_id: null }
  const overflow = { ...none, action: 'number', number: OUTSIDE }
  const queue = await world.addQueue({ overflow, max_wait_seconds: 10 })
  await world.call(queue)
  await restrict(world, { suspended: true })
  await world.later(60_000)
  assert.equal(campaigns.dialled(), [])
  await campaigns.close()
})

test('contacts of campaigns wait; the API answers why', async () => {
  const campaigns = await makeCampaignWorld()
  const { world } = campaigns
  const { id } = await campaigns.ask('POST /v1/assistants', { name: 'A' })
  await campaigns.start([OUTSIDE])
  for (const [limits, code] of LIMITS) {
    await restrict(world, limits)
    await campaigns.later(60_000)
    assert.equal(campaigns.dialled(), [])
    const refused = await campaigns.answer('POST /v1/calls', { to: OUTSIDE, assistant_id: id })
    assert.is(refused.body.error.code, code, refused.text)
    assert.is(refused.headers['retry-after'], code === 'capacity_exhausted' ? '5' : undefined)
  }
  await restrict(world)
  await campaigns.later(60_000)
  assert.equal(campaigns.dialled(), [OUTSIDE])
  await campaigns.close()
})

test('a call from a connection is answered 480', async () => {
  const campaigns = await makeCampaignWorld()
  const { world } = campaigns
  const { store } = world
  const { id: connection_id } = await campaigns.ask('POST /v1/connections', {
    ...{ name: 'In', kind: 'peer', allowed_ips: ['192.0.2.9'] },
  })
  const route = { match: { connection_id, to: OUTSIDE }, target: { type: 'echo' } }
  await campaigns.ask('POST /v1/inbound_routes', route)
  const told: (number | string)[] = []
  const deps = {
    ...{ store, vault: VAULT, now: world.clock.now, centre: { refuses: async () => false } },
    log: { info: (_fields: object, message: string) => void told.push(message), warn: () => {} },
  } as unknown as IncomingDeps
  const media = {
    request: async (_name: string, { sipCode }: { sipCode: number }) => void told.push(sipCode),
  } as unknown as MediaPort
  const party = { uri: `sip:${OUTSIDE}@192.0.2.9`, user: OUTSIDE, host: '192.0.2.9' }
  const arrive = async (legId: string) => {
    const run = followed(store)
    const body = { legId, from: party, to: party, source: { host: '192.0.2.9' }, sipCallId: 'c', digest: null }
    await store.transaction((trx: Trx) => onIncoming(deps, trx, { body, at: '2026-11-21T10:00:00.000Z' } as never))
    await run(media)
    return told.splice(0)
  }
  for (const [limits] of LIMITS) {
    await restrict(world, limits)
    assert.equal(await arrive('part_1'), ['incoming call refused: its organisation may have no more', 480])
  }
  await restrict(world)
  assert.equal(await arrive('part_2'), ['incoming call'])
  await campaigns.close()
})

test("web calls and guests: a page is refused with the API's error, and its token is as good as before", async () => {
  const app = await makeWholeApp()
  const { store, clock } = app
  const { join_url } = (await app.live('POST /v1/conference_rooms', { name: 'Board' })).body
  const guest = (await app.live(`POST ${new URL(join_url).pathname}`, { name: 'Eve' })).body
  const assistant_id = (await app.live('POST /v1/assistants', { name: 'a' })).body.id
  const web = (await app.live('POST /v1/client_tokens', { assistant_id })).body
  const deps = {
    store,
    vault: VAULT,
    now: clock.now,
    log: silent,
    publicUrl: 'http://x',
    centre: { run: async () => {} },
  }
  const admission = new BrowserAdmission(deps)
  const told: unknown[] = []
  const media = {
    request: async (name: string, body: { status?: number; body?: { error: { code: string } } }) => {
      told.push(body.status === undefined ? name : [body.status, body.body?.error.code])
      return {}
    },
  } as unknown as MediaPort
  const knock = async (token: string) => {
    const run = followed(store)
    const body = { browserId: 'brw_1', use: 'call' as const, token, origin: null, host: '192.0.2.1' }
    await store.transaction(async trx => admission.connecting(trx, { at: '', body } as never))
    await run(media)
    return told.splice(0)
  }
  for (const token of [guest.client_token, web.token]) {
    assert.type(token, 'string')
    await restrict(app, { suspended: true })
    assert.equal(await knock(token), [[403, 'organisation_suspended']])
    await restrict(app, { concurrent_calls: 0 })
    assert.equal(await knock(token), [[429, 'capacity_exhausted']])
    await restrict(app)
    assert.equal(await knock(token), ['browser.admit'])
  }
  await app.close()
})

test('texts of phones and forms of websites are refused while the organisation is suspended', async () => {
  const app = await makeWholeApp()
  const { store, clock } = app
  const ann = await addMember(app.live, 'ann@example.com', { extension: '201' })
  await app.live(`POST /v1/users/${ann}/sip_credential`)
  const own = forTenant(store.db, { organisationId: app.ours.organisationId, livemode: true })
  const account = (await own.find('sip_credentials', ann))!
  const take = textsOfPhones({ store, vault: VAULT, now: clock.now, sipHost: 'tandem.test' })
  const text = () => take({ account, to: 'tandem', text: 'Hello' }, undefined as unknown as MediaPort)
  const origin = 'https://shop.example'
  const site = (await app.live('POST /v1/sites', { name: 'Shop', origins: [origin] })).body
  const look = async () => (await ask(app.app, `GET /sites/${site.id}/form`, { headers: { origin } })).status
  assert.equal([await text(), await look()], [200, 200])
  await restrict(app, { suspended: true })
  assert.equal([await text(), await look()], [403, 403])
  await restrict(app)
  assert.equal([await text(), await look()], [200, 200])
  await app.close()
})

test.run()
