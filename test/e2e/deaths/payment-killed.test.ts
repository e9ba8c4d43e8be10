import * as assert from 'uvu/assert'
import { Product } from '../../../bench/product.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { suite } from '../../harness.ts'
import { curtain, endedCall, HEARD_DBOV, shopWith } from '../scene.ts'
import { killAndWait } from '../witness.ts'

const test = suite('e2e/deaths/payment-killed')
const CARD = '4929876543207986'
const CALLER_HZ = 440
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

test.run()
