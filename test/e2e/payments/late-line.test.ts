import * as assert from 'uvu/assert'
import { keysIn } from '../../../bench/phone/keypad.ts'
import type { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { StreamReceiver } from '../../../bench/stream-receiver.ts'
import { suite } from '../../harness.ts'
import { curtain, newRoom, paymentLine, seat } from '../scene.ts'

const test = suite('e2e/payments/late-line')

/** Pressed before the payment line is there, and after it. */
const EARLY = '4519'
const [CARD, TONES] = ['7620', '3890']

let product: Product
let line: Phone
test.before(async () => {
  product = await Product.start()
  line = await paymentLine(product)
})
test.after(() => curtain(product))

test(
  'a payment line that is called when the pause is on hears the keys from its first frame in the call on, and nobody else does',
  async () => {
    const room = await newRoom(product)
    const [payer, agent] = [await seat(product, room, 'payer'), await seat(product, room, 'agent')]
    const receiver = await StreamReceiver.listen()
    await product.ok('POST', `/calls/${payer.callId}/streams`, { url: receiver.url, tracks: 'both' })
    const stream = await receiver.until(() => receiver.streams[0])
    const paused = await product.ok('POST', `/calls/${payer.sessionId}/pci`, { action: 'pause' })
    assert.is(paused.destination_participant_id, null)
    await payer.call.press(EARLY, { as: 'rfc4733', gapMs: 60 })
    const ringing = line.next()
    await product.ok('POST', `/conference_rooms/${room.roomId}/participants`, { to: '+14155550142' })
    const paying = await ringing
    paying.answer()
    await paying.heard.next(1500)
    await payer.call.press(CARD, { as: 'rfc4733', gapMs: 60 })
    await product.until('the line has the keys', async () => paying.keysHeard === CARD || null)
    await paying.heard.next(300)
    await payer.call.press(TONES, { as: 'inband', toneMs: 80 })
    await product.until('the line hears the tones', async () => keysIn(paying.heard.samples()).endsWith(TONES) || null)
    assert.is(paying.keysHeard, CARD)
    assert.equal([agent.call.keysHeard, keysIn(agent.call.heard.samples())], ['', ''])
    assert.is(stream.keys, '')
    const resumed = await product.ok('POST', `/calls/${payer.sessionId}/pci`, { action: 'resume' })
    assert.is(resumed.paused, false)
    receiver.close()
  },
  { timeoutMs: 60_000 },
)

test(
  'where the first payment line hangs up in the pause, the next one that is called hears the keys',
  async () => {
    const room = await newRoom(product)
    const payer = await seat(product, room, 'payer')
    const paused = await product.ok('POST', `/calls/${payer.sessionId}/pci`, { action: 'pause' })
    assert.is(paused.destination_participant_id, null)
    for (const keys of [EARLY, CARD]) {
      const ringing = line.next()
      await product.ok('POST', `/conference_rooms/${room.roomId}/participants`, { to: '+14155550142' })
      const paying = await ringing
      paying.answer()
      await paying.heard.next(1500)
      await payer.call.press(keys, { as: 'rfc4733', gapMs: 60 })
      await product.until('the line has the keys', async () => paying.keysHeard === keys || null)
      await paying.hangup()
    }
  },
  { timeoutMs: 60_000 },
)

test.run()
