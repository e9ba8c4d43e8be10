import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { callFrom, endedCall, HEARD_DBOV, UNHEARD_DBOV } from './scene.ts'
import { product, sharedSuite } from './shared-suite.ts'

const test = sharedSuite('e2e/queue')
const LIMIT = { timeoutMs: 60_000 }
const CALLER_HZ = 440
const ANN_HZ = 700
const BOB_HZ = 900

/** Waits until the call hears the tone, or no longer hears it. */
async function hears(call: PhoneCall, toneHz: number, isHeard: boolean): Promise<void> {
  let level = 0
  for (let tries = 0; tries < 20; tries++) {
    level = levelAt(toneHz, await call.heard.next(500))
    if (isHeard ? level > HEARD_DBOV : level < UNHEARD_DBOV) return
  }
  throw new Error(`${toneHz} Hz ${isHeard ? 'is not heard' : 'is still heard'}: ${level} dBov`)
}

test(
  'a caller who hangs up first: `call.ended` has the figures of both legs, as the call has later',
  async () => {
    const ann = await Phone.open('answerer')
    const [host = '', port = ''] = ann.uri.replace(/^sip:[^@]*@/, '').split(':')
    const trunk = await product.ok('POST', '/connections', { name: 'Outside', kind: 'trunk', host, port: Number(port) })
    const overflow = { when_no_agents: true, action: 'number', number: '+14155550143' }
    const { id: queueId } = await product.ok('POST', '/queues', { name: 'Hasty', overflow })
    await product.ok('POST', '/inbound_routes', { match: { to: '4001' }, target: { type: 'queue', id: queueId } })
    const phone = await Phone.open('hasty')
    const call = await phone.call('4001', product.sip)
    const atAnn = await ann.next()
    atAnn.answer()
    atAnn.say(tone(ANN_HZ))
    await hears(call, ANN_HZ, true)
    const { id } = await callFrom(product, 'hasty')
    await call.hangup()
    await endedCall(product, id)
    const ended = (await product.all(`/calls/${id}/events`)).find(({ type }) => type === 'call.ended')
    const { quality } = await product.ok('GET', `/calls/${id}`)
    const idsOf = (legs: { participant_id: string }[]): string[] => legs.map(leg => leg.participant_id)
    assert.is(quality.length, 2)
    assert.equal(idsOf(ended.data.object.quality), idsOf(quality))
    for (const { packets_received: received } of ended.data.object.quality) assert.ok(received > 20, `${received}`)
    await Promise.all([phone.close(), ann.close(), product.ok('DELETE', `/connections/${trunk.id}`)])
  },
  LIMIT,
)

test(
  'a queue overflows to a number: the caller talks with who answers there, is held, asked about, handed over, and hung up on',
  async () => {
    const [ann, bob] = [await Phone.open('ann'), await Phone.open('bob')]
    const [host = '', port = ''] = ann.uri.replace(/^sip:[^@]*@/, '').split(':')
    await product.ok('POST', '/connections', { name: 'Trunk', kind: 'trunk', host, port: Number(port) })
    const overflow = { when_no_agents: true, action: 'number', number: '+14155550142' }
    const { id: queueId } = await product.ok('POST', '/queues', { name: 'Help', overflow })
    await product.ok('POST', '/inbound_routes', { match: { to: '4000' }, target: { type: 'queue', id: queueId } })

    const phone = await Phone.open('queuer')
    const call = await phone.call('4000', product.sip)
    call.say(tone(CALLER_HZ))
    const atAnn = await ann.next()
    atAnn.answer()
    atAnn.say(tone(ANN_HZ))
    await hears(call, ANN_HZ, true)
    await hears(atAnn, CALLER_HZ, true)
    const { id } = await callFrom(product, 'queuer')

    await product.ok('POST', `/calls/${id}/hold`, {})
    await hears(call, ANN_HZ, false)
    await hears(atAnn, CALLER_HZ, false)
    assert.is((await product.ok('GET', `/calls/${id}`)).status, 'held')
    await product.ok('POST', `/calls/${id}/unhold`, {})
    await hears(call, ANN_HZ, true)

    await product.ok('POST', `/calls/${id}/transfer`, { type: 'attended', to: bob.uri })
    const atBob = await bob.next()
    atBob.answer()
    atBob.say(tone(BOB_HZ))
    await hears(atAnn, BOB_HZ, true)
    await hears(call, BOB_HZ, false)
    await product.ok('POST', `/calls/${id}/transfer/complete`, {})
    await hears(call, BOB_HZ, true)
    await hears(atBob, CALLER_HZ, true)

    await atBob.hangup()
    assert.is((await endedCall(product, id)).ended_reason, 'agent_hangup')
    const types = (await product.all(`/calls/${id}/events`)).map(({ type }) => type)
    for (const type of [
      'queue.call.joined',
      'queue.call.overflowed',
      'call.held',
      'call.resumed',
      'call.transferred',
    ]) {
      assert.ok(types.includes(type), `${type} is told`)
    }
    await Promise.all([phone.close(), ann.close(), bob.close()])
  },
  LIMIT,
)

test.run()
