import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { tone } from '../../../bench/voices.ts'
import { suite } from '../../harness.ts'
import { callFrom, curtain } from '../scene.ts'

const test = suite('e2e/signalling/one-way')
let product: Product

test.before(async () => {
  product = await Product.start()
})
test.after(() => curtain(product))

test(
  'a phone whose audio stops is told of by an event and a metric while its call runs; one that speaks is not',
  async () => {
    const [speaker, silent] = [await Phone.open('speaker'), await Phone.open('silent')]
    const speaking = await speaker.call('1002', product.sip, { voice: tone(440) })
    const call = await silent.call('1002', product.sip, { voice: tone(440) })
    const { id } = await callFrom(product, 'silent')
    await call.heard.next(500, 0)
    // Its sockets are gone, as behind a firewall that has forgotten it; signalling goes on.
    call.audio.close()
    const oneWay = async () => {
      const { body } = await product.api('GET', '/events?type=call.audio.one_way')
      return body.data.length === 0 ? null : body.data
    }
    const told = await product.until('one-way audio', oneWay)
    assert.equal(
      told.map(({ data }: { data: { object: { call_id: string } } }) => data.object.call_id),
      [id],
    )
    assert.ok(told[0].data.object.packets_received > 0, 'it was heard before')
    assert.is((await product.ok('GET', `/calls/${id}`)).status, 'in_progress')
    const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
    assert.match(metrics, /^tandem_one_way_legs_total 1$/m)
    await call.hangup()
    await speaking.hangup()
  },
  { timeoutMs: 60_000 },
)

test.run()
