import * as assert from 'uvu/assert'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import type { MediaPort } from '../../../../control/media-link/events.ts'
import { PhoneAsks } from '../../../../control/queues/agents/phone-asks.ts'
import { PhoneSubscriptions } from '../../../../control/queues/agents/subscriptions.ts'
import type { RingRow } from '../../../../control/queues/tables.ts'
import type { Events, PackageState, Request } from '../../../../media/protocol.ts'
import { ha1 } from '../../../../sip/auth/digest.ts'
import { suite } from '../../../harness.ts'
import { silent } from '../../app-harness.ts'
import { addMember, makeWholeApp, VAULT, type WholeApp } from '../../whole-app.ts'

const test = suite('control/queues/agents/subscriptions')

type Ask = Events['sip.ask']
type Account = { userId: string; username: string; password: string }

/** Control and what it tells media, which keeps subscriptions as the real one does. */
class Office {
  readonly app: WholeApp
  readonly told: Request<'sip.notify'>[] = []
  readonly running = new Map<string, string>()
  subscriptions: PhoneSubscriptions
  #asked = 0

  constructor(app: WholeApp) {
    this.app = app
    this.subscriptions = new PhoneSubscriptions(app.store)
  }

  async member(name: string, extension: string, by = this.app.live): Promise<Account> {
    const userId = await addMember(by, `${name}@example.com`, { extension })
    const { body } = await by(`POST /v1/users/${userId}/sip_credential`)
    return { userId, username: body.username, password: body.password }
  }

  get tenant() {
    return { organisationId: this.app.ours.organisationId, livemode: true }
  }

  /** What a phone is answered; null: its password was wrong. */
  async ask(phone: Account, to: string, what: Partial<Extract<Ask['what'], { method: 'SUBSCRIBE' }>> = {}) {
    const asks = new PhoneAsks({
      ...{
        store: this.app.store,
        vault: VAULT,
        now: this.app.clock.now,
        log: silent,
        subscriptions: this.subscriptions,
      },
      takeText: async () => 404,
    })
    let reply: (Request<'sip.ask_reply'> & { subscriptionId: string | null }) | null = null
    const wanted = ha1('MD5', phone.username, 'tandem', phone.password)
    const media = this.#media({
      'sip.ask_check': body => ({ isRight: body.ha1 === wanted }),
      'sip.ask_reply': body => {
        const isRunning = body.sipCode === 200 && what.isEnd !== true
        const subscriptionId = isRunning ? (what.subscriptionId ?? `sub_${this.#asked}`) : null
        if (subscriptionId !== null) this.running.set(subscriptionId, body.about)
        reply = { ...body, subscriptionId }
        return { subscriptionId }
      },
    })
    const ask: Ask = {
      askId: `ask_${++this.#asked}`,
      to,
      username: phone.username,
      algorithm: 'MD5',
      nonce: { value: `nonce of ${phone.username}`, count: this.#asked },
      source: { transport: 'udp', host: '198.51.100.7', port: 5060 },
      what: { method: 'SUBSCRIBE', package: 'dialog', subscriptionId: null, isEnd: false, ...what },
    }
    await asks.handle(ask, media)
    return reply as (Request<'sip.ask_reply'> & { subscriptionId: string | null }) | null
  }

  /** What has been told since the last look. */
  async look(): Promise<[string, PackageState | null][]> {
    const from = this.told.length
    await this.subscriptions.look(
      this.#media({
        'sip.notify': body => {
          this.told.push(body)
          return {}
        },
      }),
    )
    return this.told.slice(from).map(({ subscriptionId, state }) => [subscriptionId, state])
  }

  /** Control begins anew. */
  async restart(): Promise<void> {
    this.subscriptions = new PhoneSubscriptions(this.app.store)
    const subscriptions = [...this.running].map(([subscriptionId, about]) => ({ subscriptionId, about }))
    await this.subscriptions.recover(this.#media({ 'sip.subscriptions': () => ({ subscriptions }) }))
  }

  // biome-ignore lint/suspicious/noExplicitAny: bodies of several commands.
  #media(replies: Record<string, (body: any) => object>): MediaPort {
    return {
      request: async (name: string, body: object) => replies[name]!(body),
      settled: async () => {},
      isEnding: () => false,
    } as unknown as MediaPort
  }

  async ring(userId: string, changes: Partial<RingRow> = {}): Promise<void> {
    const scoped = forTenant(this.app.store.db, this.tenant)
    const at = this.app.clock.now().toISOString()
    await scoped.delete('rings').where('open_user', '=', userId).execute()
    await scoped.insert('rings', {
      ...{ id: 'ring_1', call_id: 'call_1', open_call: null, user_id: userId, open_user: userId, queue_id: null },
      ...{ callback_id: null, purpose: 'direct', state: 'ringing', started_at: at, deadline: at, leg_id: null },
      ...{ mode: null, payment: null, node_id: 'n', ...changes },
    })
  }

  async stop(userId: string): Promise<void> {
    await forTenant(this.app.store.db, this.tenant).delete('rings').where('open_user', '=', userId).execute()
  }

  async voicemail(id: string, userId: string, status: 'ready' | 'recording' = 'ready'): Promise<void> {
    await forTenant(this.app.store.db, this.tenant).insert('voicemails', {
      ...{ id, call_id: 'call_1', queue_id: null, user_id: userId, from_address: 'sip:2@127.0.0.1', status },
      ...{ file: null, duration_ms: 20, created: this.app.clock.now().toISOString() },
    })
  }
}

const lamp = (state: 'early' | 'confirmed' | null): PackageState => ({
  package: 'dialog',
  dialogs: state === null ? [] : [{ id: 'ring_1', direction: 'recipient', state }],
})

test('a phone hears of a colleague, by extension or account: rung, talking, free again; nobody’s number', async () => {
  const office = new Office(await makeWholeApp())
  const [ann, bob] = [await office.member('ann', '201'), await office.member('bob', '202')]
  assert.equal((await office.ask(ann, '202'))?.state, lamp(null))
  assert.is((await office.ask(ann, bob.username))?.sipCode, 200)
  assert.equal(await office.look(), [], 'nothing has changed')
  await office.ring(bob.userId)
  assert.equal(
    (await office.look()).map(([, state]) => state),
    [lamp('early'), lamp('early')],
  )
  await office.ring(bob.userId, { state: 'talking' })
  assert.equal((await office.look())[0]![1], lamp('confirmed'))
  await office.stop(bob.userId)
  assert.equal((await office.look())[0]![1], lamp(null))
})

test('a phone hears of nobody outside of its organisation and mode, and of nobody who is not there', async () => {
  const app = await makeWholeApp()
  const office = new Office(app)
  const ann = await office.member('ann', '201')
  const stranger = await office.member('eve', '203', app.test)
  for (const to of ['203', stranger.username, '299', '']) assert.is((await office.ask(ann, to))?.sipCode, 404, to)
})

test('a wrong password is answered by media, and begins nothing', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  assert.is(await office.ask({ ...ann, password: 'guessed' }, '201'), null)
  assert.is(office.subscriptions.size, 0)
})

test('messages that wait are the member’s own affair; each that is ready counts until it is deleted', async () => {
  const office = new Office(await makeWholeApp())
  const [ann, bob] = [await office.member('ann', '201'), await office.member('bob', '202')]
  const summary = { package: 'message-summary' } as const
  assert.is((await office.ask(ann, bob.username, summary))?.sipCode, 403)
  assert.equal((await office.ask(ann, ann.username, summary))?.state, { ...summary, waiting: 0, heard: 0 })
  await office.voicemail('vm_1', ann.userId)
  await office.voicemail('vm_2', ann.userId, 'recording')
  await office.voicemail('vm_3', bob.userId)
  assert.equal((await office.look())[0]![1], { ...summary, waiting: 1, heard: 0 })
  await forTenant(office.app.store.db, office.tenant).delete('voicemails').where('id', '=', 'vm_1').execute()
  assert.equal((await office.look())[0]![1], { ...summary, waiting: 0, heard: 0 })
})

test('a control process that begins anew goes on with what media has, and tells each what is so by now', async () => {
  const office = new Office(await makeWholeApp())
  const [ann, bob] = [await office.member('ann', '201'), await office.member('bob', '202')]
  const { subscriptionId } = (await office.ask(ann, '202'))!
  await office.ring(bob.userId)
  await office.restart()
  assert.equal(await office.look(), [[subscriptionId!, lamp('early')]])
  assert.equal(await office.look(), [])
})

test('a refresh is for the phone that subscribed; with no time it ends', async () => {
  const office = new Office(await makeWholeApp())
  const [ann, bob] = [await office.member('ann', '201'), await office.member('bob', '202')]
  const { subscriptionId } = (await office.ask(ann, '202'))!
  assert.is((await office.ask(bob, '202', { subscriptionId }))?.sipCode, 403)
  assert.is((await office.ask(ann, '', { subscriptionId }))?.sipCode, 200)
  assert.is(office.subscriptions.size, 1)
  assert.is((await office.ask(ann, '', { subscriptionId, isEnd: true }))?.sipCode, 200)
  assert.is(office.subscriptions.size, 0)
})

test('who is deactivated, and what is about whom, is told no more', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  await office.member('bob', '202')
  const { subscriptionId } = (await office.ask(ann, '202'))!
  await office.app.live(`PATCH /v1/users/${ann.userId}`, { status: 'deactivated' })
  assert.equal(await office.look(), [[subscriptionId!, null]])
  assert.is(office.subscriptions.size, 0)
})

test('a member has 200 subscriptions at most', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  for (let n = 0; n < 200; n++)
    office.subscriptions.begin(`s${n}`, `org live ${ann.userId} dialog ${ann.userId} ${ann.username}`, lamp(null))
  assert.is((await office.ask(ann, '201'))?.sipCode, 403)
})

test.run()
