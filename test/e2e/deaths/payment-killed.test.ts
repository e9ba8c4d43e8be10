import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { readWav } from '../../../codecs/wav.ts'
import { suite } from '../../harness.ts'
import { leaksInFiles } from '../payments/leaks.ts'
import { curtain, endedCall, HEARD_DBOV, shopWith, UNHEARD_DBOV } from '../scene.ts'
import { killAndWait } from '../witness.ts'

const test = suite('e2e/deaths/payment-killed')
const CARD = '4929876543207986'
const CALLER_HZ = 440
/** The tone that the caller sends while capture is paused. */
const SECRET_HZ = 1900
/** Frequencies of in-band keys (ITU-T Q.23). */
const KEY_HZ = [697, 770, 852, 941, 1209, 1336, 1477]
/** 100 ms, as long as a key lasts [samples]. */
const PIECE = 800
const SLOW = { timeoutMs: 60_000 }

let product: Product
test.before(async () => {
  product = await Product.start()
})
test.after(() => curtain(product))

const to = (next: string) => ({ condition: { kind: 'always' }, next })
const PAYING = {
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('pay')] },
    { key: 'pay', type: 'payment', payment: { amount: '12.50', currency: 'EUR' }, transitions: [to('end')] },
    { key: 'end', type: 'end' },
  ],
}

test(
  'the payment line answers while control is dead: from the first that it hears of the caller, no key is anybody else’s',
  async () => {
    const { phone, line, flowId } = await shopWith(product, PAYING)
    const [ringing, atLine] = [phone.next(), line.next()]
    const { id } = await product.ok('POST', '/calls', { to: phone.uri, flow_id: flowId })
    const call = await ringing
    call.answer()
    call.say(tone(CALLER_HZ))
    const answering = await atLine
    const killed = killAndWait(product, 'control')
    answering.answer()
    let heard = false
    for (let tries = 0; tries < 100 && !heard; tries++) {
      heard = levelAt(CALLER_HZ, await answering.heard.next(100)) > HEARD_DBOV
    }
    assert.ok(heard, 'the payment line hears the caller')
    await call.press(CARD, { as: 'rfc4733', gapMs: 60 })
    await killed
    await product.ready()
    await product.until('the payment line has the card', async () => (answering.keysHeard === CARD ? true : null))
    await answering.hangup()
    await endedCall(product, id)
    const events = await product.all(`/calls/${id}/events`)
    const keys = events.filter(({ type }) => type === 'call.dtmf').map(({ data }) => data.object.digit)
    assert.is(keys.join(''), '*'.repeat(CARD.length))
    assert.equal(
      events.map(({ type }) => type).filter(type => type.startsWith('call.pci.')),
      ['call.pci.paused', 'call.pci.resumed'],
    )
    await Promise.all([phone.close(), line.close()])
  },
  SLOW,
)

for (const killed of [['media'], ['media', 'control']] as ('media' | 'control')[][]) {
  test(
    `${killed.join(' and ')} killed with -9 in a pause: the recording that is left holds what was said before, and nothing of the pause`,
    async () => {
      await product.ok('PATCH', '/organisation', { pci: { enabled: true } })
      const phone = await Phone.open(`paying-${killed.length}`)
      const ringing = phone.next()
      const { id } = await product.ok('POST', '/calls', { to: phone.uri, record: true })
      const call = await ringing
      call.answer()
      call.say(tone(CALLER_HZ))
      await product.until('it is recorded', async () => {
        const { body } = await product.api('GET', `/calls/${id}/recording`)
        return body.status === 'recording' ? true : null
      })
      await call.heard.next(2000)
      await product.ok('POST', `/calls/${id}/pci`, { action: 'pause' })
      call.say(tone(SECRET_HZ))
      await call.press(CARD.slice(0, 8), { as: 'inband' })
      await call.press(CARD.slice(8), { as: 'rfc4733', gapMs: 60 })
      await killAndWait(product, ...killed)
      await product.ready()
      await endedCall(product, id)
      const recording = await product.until('the recording is settled', async () => {
        const found = await product.ok('GET', `/calls/${id}/recording`)
        return found.status === 'recording' ? null : found
      })
      assert.is(recording.status, 'ready')
      const wav = readWav(await product.download(`/calls/${id}/recording/content`))
      if ('error' in wav) throw new Error(wav.error)
      // The other channel is what we play: a chime has frequencies near those of keys.
      const [caller, played] = wav.samples as [Int16Array, Int16Array]
      assert.ok(loudest(CALLER_HZ, caller) > HEARD_DBOV)
      for (const hz of [SECRET_HZ, ...KEY_HZ]) assert.ok(loudest(hz, caller) < UNHEARD_DBOV, `${hz} Hz was recorded`)
      assert.ok(loudest(SECRET_HZ, played) < UNHEARD_DBOV)
      assert.equal(leaksInFiles(product, [CARD]), [])
      await phone.close()
    },
    SLOW,
  )
}

/** The highest level of a frequency in any piece of a channel [dBov]. */
function loudest(hz: number, channel: Int16Array): number {
  let most = Number.NEGATIVE_INFINITY
  for (let from = 0; from + PIECE <= channel.length; from += PIECE) {
    most = Math.max(most, levelAt(hz, channel, from, from + PIECE))
  }
  return most
}

test.run()
