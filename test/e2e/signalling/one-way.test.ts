import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { tone } from '../../../bench/voices.ts'
import { callFrom } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const test = sharedSuite('e2e/signalling/one-way')

async function oneWayLegs(): Promise<number> {
  const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
  const [, count] = /^tandem_one_way_legs_total (\d+)$/m.exec(metrics) ?? []
  return Number(count ?? 0)
}

test(
  'a phone whose audio stops is told of by an event and a metric while its call runs; one that speaks is not',
  async () => {
    const earlier = (await product.all('/events?type=call.audio.one_way')).length
    const before = await oneWayLegs()
    const [speaker, silent] = [await Phone.open('speaker'), await Phone.open('silent')]
    const speaking = await speaker.call('1002', product.sip, { voice: tone(440) })
    const call = await silent.call('1002', product.sip, { voice: tone(440) })
    const { id } = await callFrom(product, 'silent')
    await call.heard.next(500, 0)
    // Its RTP sockets are closed, as behind a firewall that has forgotten it; signalling goes on.
    call.audio.close()
    const oneWay = async () => {
      const told = await product.all('/events?type=call.audio.one_way')
      return told.length > earlier ? told.slice(earlier) : null
    }
    const told = await product.until('one-way audio', oneWay)
    assert.equal(
      told.map(({ data }) => data.object.call_id),
      [id],
    )
    assert.ok(told[0].data.object.packets_received > 0, 'it was heard before')
    assert.is((await product.ok('GET', `/calls/${id}`)).status, 'in_progress')
    assert.is(await oneWayLegs(), before + 1)
    await call.hangup()
    await speaking.hangup()
  },
  { timeoutMs: 60_000 },
)

test.run()
