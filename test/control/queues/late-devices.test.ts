import * as assert from 'uvu/assert'
import { clientTokenKey, insertClientToken, signClientToken } from '../../../control/browsers/client-token.ts'
import { Devices } from '../../../control/browsers/devices.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { devicesOf } from '../../../control/queues/agents/devices.ts'
import { endRegistrations } from '../../../control/queues/agents/shut-out.ts'
import { PhoneSubscriptions } from '../../../control/queues/agents/subscriptions.ts'
import { supervise, transferBlind } from '../../../control/queues/call-handling.ts'
import { followDevices, GRACE_MS } from '../../../control/queues/presence.ts'
import { ha1 } from '../../../sip/auth/digest.ts'
import type { ModelLeg } from '../../fakes/media-model.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { until } from '../calls-world.ts'
import { VAULT } from '../whole-app.ts'
import { makeQueueWorld, type QueueWorld } from './queue-world.ts'

const test = suite('control/queues/late-devices')
const SECOND = 1000
/** How long a member rings who is called directly. */
const RINGS_S = 30

/** Members whose softphones and phones are what they say over the channel, admitted by the real judges. */
class Scene {
  readonly world: QueueWorld
  readonly userId: string

  constructor(world: QueueWorld, userId: string) {
    this.world = world
    this.userId = userId
  }

  static async open(): Promise<Scene> {
    const world = await makeQueueWorld({ devicesOf, followDevices }, true, ({ store, clock }, centre) => {
      const deps = { store, vault: VAULT, now: clock.now, log: silent, centre, sipHost: 'tandem.test' }
      const unused = {
        booking: undefined as never,
        timezoneOf: undefined as never,
        devicesOf: undefined as never,
        feed: undefined as never,
        search: undefined as never,
        models: undefined as never,
        meter: undefined as never,
        limit: undefined as never,
        subscriptions: new PhoneSubscriptions(store),
      }
      return new Devices({ ...deps, ...unused, publicUrl: 'http://tandem.test' })
    })
    return new Scene(world, await world.addAgent('ann'))
  }

  /** A page knocks with a token of the member; it is in when this resolves, unless `knock` is all that happens. */
  async knock(browserId: string): Promise<void> {
    const { store, tenant, clock, media } = this.world
    const fields = { assistant_id: null, agent_user_id: this.userId, origin: null, metadata: '{}', ttlS: 60 }
    const row = await insertClientToken(store.db, tenant, fields, clock.now())
    const token = await signClientToken(row, await clientTokenKey(store, VAULT))
    media.emit('browser.connecting', { browserId, use: 'phone', token, origin: null, host: '192.0.2.1' })
  }

  async connect(browserId: string): Promise<void> {
    await this.knock(browserId)
    await this.world.settle()
  }

  /** Media has lost the page; control is told by `tell`. */
  lose(browserId: string): void {
    this.world.media.closedBrowsers.add(browserId)
  }

  async tell(browserId: string, forGood = false): Promise<void> {
    this.world.media.emit('browser.closed', { browserId, forGood })
    await this.world.settle()
  }

  async callIn(): Promise<string> {
    const legId = await this.world.callUser(this.userId)
    await this.world.settle()
    return legId
  }

  /** Rings at this page, or at a phone. */
  ringsAt(device: string): ModelLeg[] {
    return [...this.world.media.legs.values()].filter(leg => leg.dialled === device && leg.state === 'dialing')
  }

  rings(): Promise<object[]> {
    return this.world.store.db.selectFrom('rings').selectAll().execute()
  }

  /** For the caller, who hears ringback until it ends. */
  async endedReason(legId: string): Promise<string | null> {
    const rows = this.world.store.db.selectFrom('participants').select(['step', 'leave_reason']).where('id', '=', legId)
    const row = await rows.executeTakeFirstOrThrow()
    return row.step === 'calling' ? null : `${row.step} ${row.leave_reason}`
  }

  async close(): Promise<void> {
    await this.world.close()
  }
}

test('a call for a member whose softphone was lost a moment ago waits for it: back, it rings for what is left of the time', async () => {
  const scene = await Scene.open()
  await scene.connect('brw_1')
  scene.lose('brw_1')
  await scene.tell('brw_1')
  await scene.world.later(2 * SECOND)
  const caller = await scene.callIn()
  assert.is(scene.world.media.legs.get(caller)?.playId, 'calling', 'the caller hears that it rings')
  assert.is(scene.world.handed.length, 0)
  await scene.world.later(5 * SECOND)
  await scene.connect('brw_2')
  const [rung] = scene.ringsAt('brw_2')
  assert.is(rung?.timeoutS, RINGS_S - 5)
  scene.world.media.pickUp(rung?.legId ?? '')
  await scene.world.settle()
  assert.is(rung?.roomId, scene.world.media.legs.get(caller)?.roomId, 'they talk')
  await scene.close()
})

test('a softphone that was lost and does not come back is waited for as long as presence waits for it, and then nobody answers', async () => {
  const scene = await Scene.open()
  await scene.connect('brw_1')
  scene.lose('brw_1')
  await scene.tell('brw_1')
  await scene.world.later(5 * SECOND)
  await scene.callIn()
  await scene.world.later(GRACE_MS - 6 * SECOND)
  assert.is(scene.world.handed.length, 0)
  await scene.world.later(SECOND)
  assert.equal(scene.world.handed[0]?.program, { type: 'voicemail', queueId: null, userId: scene.userId })
  assert.equal(await scene.rings(), [])
  await scene.callIn()
  assert.is(scene.world.handed.length, 2, 'the next one waits for nobody')
  await scene.close()
})

test('a softphone that was closed on purpose is waited for by nobody', async () => {
  const scene = await Scene.open()
  await scene.connect('brw_1')
  scene.lose('brw_1')
  await scene.tell('brw_1', true)
  await scene.callIn()
  assert.is(scene.world.handed.length, 1)
  await scene.close()
})

test('a softphone whose end control has not been told of yet is waited for: the ring outlives the leg that media does not know', async () => {
  const scene = await Scene.open()
  await scene.connect('brw_1')
  scene.lose('brw_1')
  await scene.callIn()
  assert.is(scene.world.handed.length, 0)
  await scene.tell('brw_1')
  assert.is((await scene.rings()).length, 1)
  await scene.connect('brw_2')
  assert.is(scene.ringsAt('brw_2').length, 1)
  await scene.close()
})

test('a softphone that control has let in and media has not opened yet rings once it is open, and once only', async () => {
  const scene = await Scene.open()
  const { media, store, tenant, clock } = scene.world
  const connected_at = clock.now().toISOString()
  await forTenant(store.db, tenant).insert('browser_sessions', {
    ...{ id: 'brw_1', user_id: scene.userId, node: 'node', origin: null, device: null, connected_at },
  })
  scene.lose('brw_1')
  await scene.callIn()
  media.closedBrowsers.delete('brw_1')
  media.emit('browser.connected', { browserId: 'brw_1', goesOn: null })
  await scene.world.settle()
  assert.is(scene.ringsAt('brw_1').length, 1)
  await scene.close()
})

test('a second softphone that opens while the first one rings, rings too; one that goes on with the ring does not ring twice', async () => {
  const scene = await Scene.open()
  await scene.connect('brw_1')
  await scene.callIn()
  await scene.world.later(3 * SECOND)
  await scene.connect('brw_2')
  assert.is(scene.ringsAt('brw_2')[0]?.timeoutS, RINGS_S - 3)
  const { store, tenant, clock, media } = scene.world
  const connected_at = clock.now().toISOString()
  await forTenant(store.db, tenant).insert('browser_sessions', {
    ...{ id: 'brw_3', user_id: scene.userId, node: 'node', origin: null, device: null, connected_at },
  })
  media.emit('browser.connected', { browserId: 'brw_3', goesOn: scene.ringsAt('brw_1')[0]?.legId ?? '' })
  await scene.world.settle()
  assert.equal([scene.ringsAt('brw_1').length, scene.ringsAt('brw_3').length], [1, 0])
  await scene.close()
})

test('a phone that registers while its member is rung rings too, and a REGISTER that says it is still there changes nothing', async () => {
  const scene = await Scene.open()
  const { store, tenant, clock, media, userId } = { ...scene.world, userId: scene.userId }
  await forTenant(store.db, tenant).insert('sip_credentials', {
    ...{ id: userId, username: 'live-ann', created: clock.now().toISOString() },
    ...{ ha1_md5: VAULT.seal(ha1('MD5', 'live-ann', 'tandem', 'pw'), userId), ha1_sha256: '' },
  })
  const flow = { instance: '<urn:uuid:1>', regId: 1 }
  const register = async (cSeq: number, uri = 'sip:ann@192.0.2.9'): Promise<void> => {
    media.emit('sip.register', {
      ...{ registerId: `reg_${cSeq}`, user: 'live-ann', contacts: [{ uri, expiresS: 600, flow }] },
      ...{ username: 'live-ann', algorithm: 'MD5', nonce: { value: 'n', count: cSeq }, callId: 'r', cSeq },
      source: { transport: 'tcp', host: '192.0.2.9', port: 5060 },
    })
    await scene.world.settle()
    // It is kept and answered beside the events of calls.
    await until(() => media.handled.filter(({ name }) => name === 'sip.register_reply').length === cSeq)
    await scene.world.settle()
  }
  const lastLogin = async () => (await forTenant(store.db, tenant).find('users', userId))?.last_login
  assert.is(await lastLogin(), null)
  await scene.connect('brw_1')
  assert.is(await lastLogin(), clock.now().toISOString(), 'its softphone has connected')
  await scene.callIn()
  await scene.world.later(3 * SECOND)
  await register(1)
  const registered = clock.now().toISOString()
  assert.is(await lastLogin(), registered)
  clock.advance(SECOND)
  assert.is(scene.ringsAt('sip:ann@192.0.2.9')[0]?.timeoutS, RINGS_S - 3)
  await register(2)
  assert.is(scene.ringsAt('sip:ann@192.0.2.9').length, 1)
  assert.is(await lastLogin(), registered)
  await register(3, 'sip:ann@192.0.2.9:1025')
  assert.is(scene.ringsAt('sip:ann@192.0.2.9').length, 1)
  assert.is(
    scene.ringsAt('sip:ann@192.0.2.9:1025').length,
    0,
    'the same phone over another connection: media calls it there',
  )
  await scene.close()
})

test('a phone rings no more whose account ends while it rings; a softphone of its member rings on, and an answer that comes too late is none', async () => {
  for (const answersToo of [false, true]) {
    const scene = await Scene.open()
    const { store, tenant, clock, media } = scene.world
    const phone = 'sip:ann@192.0.2.9'
    await forTenant(store.db, tenant).insert('sip_registrations', {
      ...{ user_id: scene.userId, contact: phone, instance: null, reg_id: null, call_id: 'r', cseq: 1, path: '[]' },
      ...{ transport: 'tcp', host: '192.0.2.9', port: 5060, node: nodeOf(store.db) },
      registered_at: clock.now().toISOString(),
      expires_at: new Date(clock.now().getTime() + 600 * SECOND).toISOString(),
    })
    await scene.connect('brw_1')
    const caller = await scene.callIn()
    const [rung] = scene.ringsAt(phone)
    assert.ok(rung)
    await store.transaction(trx => endRegistrations(trx, tenant, scene.userId))
    if (answersToo) media.pickUp(rung.legId)
    await scene.world.settle()
    assert.not(media.legs.has(rung.legId), 'it is hung up')
    assert.equal([scene.ringsAt('brw_1').length, await scene.endedReason(caller)], [1, null])
    await scene.close()
  }
})

test('a queue does not wait for a softphone that is gone: the offer has failed', async () => {
  const scene = await Scene.open()
  const queue = await scene.world.addQueue({ member_user_ids: [scene.userId] })
  await scene.connect('brw_1')
  await scene.world.setStatus(scene.userId, 'available')
  await scene.world.call(queue)
  await scene.world.settle()
  const [rung] = scene.ringsAt('brw_1')
  scene.lose('brw_1')
  await scene.tell('brw_1')
  scene.world.media.hangUp(rung?.legId ?? '', 'caller_hangup')
  await scene.world.settle()
  assert.equal(await scene.rings(), [])
  await scene.connect('brw_2')
  await scene.world.later(6 * SECOND)
  assert.is(scene.ringsAt('brw_2').length, 1, 'its next turn')
  await scene.close()
})

test('a softphone that rings and is lost is waited for by a direct call; one that declines is not', async () => {
  for (const [reason, isWaitedFor] of [
    ['rtp_timeout', true],
    ['rejected', false],
  ] as const) {
    const scene = await Scene.open()
    await scene.connect('brw_1')
    await scene.callIn()
    const [rung] = scene.ringsAt('brw_1')
    scene.lose('brw_1')
    await scene.tell('brw_1')
    scene.world.media.hangUp(rung?.legId ?? '', reason)
    await scene.world.settle()
    assert.is((await scene.rings()).length, isWaitedFor ? 1 : 0, reason)
    await scene.close()
  }
})

test('a member whose softphone was lost a moment ago can be given a call, and asked to listen in; later it is unreachable', async () => {
  const scene = await Scene.open()
  const { world, userId } = scene
  const bob = await world.addAgent('bob')
  const via = { host: '192.0.2.8', port: 5060, transport: 'udp' as const }
  const at = world.clock.now()
  const expires_at = new Date(at.getTime() + 3_600_000).toISOString()
  await forTenant(world.store.db, world.tenant).insert('sip_registrations', {
    ...{ ...via, user_id: bob, contact: 'sip:bob@192.0.2.8', node: 'node', call_id: 'r', cseq: 1, expires_at },
    registered_at: at.toISOString(),
  })
  await scene.connect('brw_1')
  scene.lose('brw_1')
  await scene.tell('brw_1')
  const caller = await world.callUser(bob)
  await world.settle()
  world.media.pickUp(scene.ringsAt('sip:bob@192.0.2.8')[0]?.legId ?? '')
  await world.settle()
  const callId = world.media.legs.get(caller)?.roomId ?? ''
  const by = { tenant: world.tenant, callId, request: { requestId: newId('request'), idempotencyKey: null } }
  const listens = await world.centre().handle(by, handling => supervise(handling, { mode: 'monitor', userId }))
  assert.is(listens !== null && 'problem' in listens, false)
  await scene.connect('brw_2')
  assert.is(scene.ringsAt('brw_2').length, 1)
  scene.lose('brw_2')
  await scene.tell('brw_2')
  world.media.hangUp(scene.ringsAt('brw_2')[0]?.legId ?? '', 'rtp_timeout')
  await world.later(GRACE_MS)
  const refused = await world.centre().handle(by, handling => transferBlind(handling, { type: 'user', id: userId }))
  assert.is(refused?.details?.reason, 'agent_unreachable')
  await scene.close()
})

test.run()
