import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { Product } from '../../../bench/product.ts'
import { suite } from '../../harness.ts'
import { curtain } from '../scene.ts'
import { sharedProduct } from '../shared-product.ts'

const test = suite('e2e/signalling/loops')
const NUMBER = '+14155550142'

let product: Product
test.before(async () => {
  product = await sharedProduct()
})
test.after(() => curtain(product))

test(
  'a number that leads back to itself by way of its carrier goes round until Max-Forwards is used up: 483 (RFC 7332)',
  async () => {
    const { host, port } = product.sip
    await product.ok('POST', '/connections', { name: 'Carrier', kind: 'trunk', host, port })
    const queue = await product.ok('POST', '/queues', {
      name: 'Sent on',
      overflow: { when_no_agents: true, action: 'number', number: NUMBER },
    })
    await product.ok('POST', '/inbound_routes', {
      match: { to: NUMBER },
      target: { type: 'queue', id: queue.id },
      answer: 'when_answered',
    })
    const phone = await Phone.open('circler')
    const call = await phone.dial(NUMBER, product.sip, { maxForwards: 3 })
    assert.is((await call.outcome).status, 483)
    const calls = await product.all('/calls?direction=inbound')
    assert.is(calls.filter(({ to }) => to.includes(NUMBER)).length, 4)
    await phone.close()
  },
  { timeoutMs: 60_000 },
)

test.run()
