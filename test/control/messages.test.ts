import * as assert from 'uvu/assert'
import { nodeOf } from '../../control/kernel/store/node.ts'
import { forTenant } from '../../control/kernel/tenancy.ts'
import type { MediaPort } from '../../control/media-link/events.ts'
import { deliveryTold, giveUpLost } from '../../control/messages/delivery.ts'
import { textsOfPhones } from '../../control/messages/from-phone.ts'
import { suite } from '../harness.ts'
import { addMember, makeWholeApp, VAULT, type WholeApp } from './whole-app.ts'

const test = suite('control/messages')

class Office {
  readonly app: WholeApp
  readonly take: ReturnType<typeof textsOfPhones>

  constructor(app: WholeApp) {
    this.app = app
    this.take = textsOfPhones({ store: app.store, vault: VAULT, now: app.clock.now, sipHost: 'tandem.test' })
  }

  get tenant() {
    return { organisationId: this.app.ours.organisationId, livemode: true }
  }

  async member(name: string, extension: string, phones = 1): Promise<string> {
    const id = await addMember(this.app.live, `${name}@example.com`, { extension })
    await this.app.live(`POST /v1/users/${id}/sip_credential`)
    for (let n = 0; n < phones; n++) {
      await forTenant(this.app.store.db, this.tenant).insert('sip_registrations', {
        ...{
          user_id: id,
          contact: `sip:${name}${n}@192.0.2.7`,
          node: nodeOf(this.app.store.db),
          call_id: 'c',
          cseq: 1,
        },
        ...{ transport: 'udp', host: '192.0.2.7', port: 5060, registered_at: '2020-01-01T00:00:00.000Z' },
        expires_at: '2099-01-01T00:00:00.000Z',
      })
    }
    return id
  }

  /** What the phone of this member is answered. */
  async text(userId: string, to: string, text: string): Promise<number> {
    const account = await forTenant(this.app.store.db, this.tenant).find('sip_credentials', userId)
    return this.take({ account: account!, to, text }, undefined as unknown as MediaPort)
  }

  // biome-ignore lint/suspicious/noExplicitAny: objects of the API.
  async list(): Promise<any[]> {
    return (await this.app.live('GET /v1/messages')).body.data
  }

  async told(id: string, sipCode: number): Promise<void> {
    const at = this.app.clock.now().toISOString()
    await this.app.store.transaction(trx => deliveryTold(trx, id, sipCode, at))
  }

  async events(): Promise<string[]> {
    const { body } = await this.app.live('GET /v1/events')
    return body.data.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith('message.'))
  }
}

test('a text to a colleague is taken with 202 and delivered by the first phone that takes it; its events tell', async () => {
  const office = new Office(await makeWholeApp())
  const [ann, bob] = [await office.member('ann', '201'), await office.member('bob', '202', 2)]
  assert.is(await office.text(ann, '202', 'Lunch at one?'), 202)
  const [message] = await office.list()
  assert.equal(
    [message.direction, message.from_user_id, message.to_user_id, message.to, message.text, message.status],
    ['inbound', ann, bob, '202', 'Lunch at one?', 'queued'],
  )
  await office.told(message.id, 486)
  assert.is((await office.list())[0].status, 'queued', 'the other phone may take it yet')
  await office.told(message.id, 200)
  assert.equal([(await office.list())[0].status, (await office.list())[0].sip_code], ['delivered', 200])
  assert.equal(await office.events(), ['message.delivered', 'message.received'])
  await office.app.live(`DELETE /v1/messages/${message.id}`)
  assert.equal(await office.events(), [], 'a deleted text is not kept in its events')
})

test('a text to the organisation, or to what leads to no person, is answered 200 and its webhooks hear of it', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  await office.app.live('POST /v1/inbound_routes', { match: { to: '1004' }, target: { type: 'echo' } })
  assert.is(await office.text(ann, 'tandem', 'hello'), 200)
  assert.is(await office.text(ann, '1004', 'hello'), 200)
  assert.equal(await office.events(), ['message.received', 'message.received'])
})

test('a text to nobody is 404, to a number outside too, to a colleague without a phone 480', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  await office.member('bob', '202', 0)
  assert.is(await office.text(ann, '299', 'x'), 404)
  assert.is(await office.text(ann, '+15557654321', 'x'), 404)
  assert.is(await office.text(ann, '202', 'x'), 480)
  assert.equal(await office.list(), [])
})

test('a card number is not kept, neither in the message nor in its event', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  await office.text(ann, 'tandem', 'it is 4111 1111 1111 1111 thanks')
  const { body } = await office.app.live('GET /v1/events')
  for (const kept of [JSON.stringify(await office.list()), JSON.stringify(body)]) {
    assert.not.match(kept, '4111 1111')
    assert.match(kept, 'thanks')
  }
})

test('a phone sends 20 texts at once at most', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  for (let n = 0; n < 20; n++) assert.is(await office.text(ann, 'tandem', 'x'), 200)
  assert.is(await office.text(ann, 'tandem', 'x'), 503)
})

test('POST /messages sends to the phones of a member; without one it is 409, to nobody and too long 400', async () => {
  const office = new Office(await makeWholeApp())
  const [ann, bob] = [await office.member('ann', '201'), await office.member('bob', '202', 0)]
  const made = await office.app.live('POST /v1/messages', { to_user_id: ann, text: 'Your shift begins.' })
  assert.equal([made.status, made.body.status, made.body.direction], [201, 'queued', 'outbound'])
  await office.told(made.body.id, 408)
  assert.equal((await office.app.live(`GET /v1/messages/${made.body.id}`)).body.status, 'failed')
  assert.equal(await office.events(), ['message.failed'])
  assert.is((await office.app.live('POST /v1/messages', { to_user_id: bob, text: 'x' })).status, 409)
  assert.is((await office.app.live('POST /v1/messages', { to_user_id: 'usr_none', text: 'x' })).status, 400)
  assert.is((await office.app.live('POST /v1/messages', { to_user_id: ann, text: 'ü'.repeat(700) })).status, 400)
  assert.is((await office.app.test('POST /v1/messages', { to_user_id: ann, text: 'x' })).status, 400)
})

test('a text of which nobody tells any more has failed after a minute', async () => {
  const office = new Office(await makeWholeApp())
  const ann = await office.member('ann', '201')
  const { body } = await office.app.live('POST /v1/messages', { to_user_id: ann, text: 'x' })
  const later = (ms: number) => new Date(office.app.clock.now().getTime() + ms)
  await giveUpLost(office.app.store, later(59_000))
  assert.is((await office.app.live(`GET /v1/messages/${body.id}`)).body.status, 'queued')
  await giveUpLost(office.app.store, later(61_000))
  assert.is((await office.app.live(`GET /v1/messages/${body.id}`)).body.status, 'failed')
})

test.run()
