// Sleeps most: it waits most of the time, and judges only sounds that last.
import * as assert from 'uvu/assert'
import type { Product } from '../../../bench/product.ts'
import { curtain, endedCall } from '../../e2e/scene.ts'
import { missingPrograms, suite } from '../../harness.ts'
import { Loss, overUdp, SIX, testWays, WAYS, type Way, WaysProduct } from '../peers/ways.ts'

// A network that loses each message of a call once, so that its sender must retransmit it (RFC 3261 §17, §13.3.1.4, RFC 3262 §3).

const test = suite('interop/sessions/lossy')
const missing = missingPrograms('sipp', 'openssl')
/** Numbers of each address family: one for the echo, and one that rings with early media. */
const NUMBERS = [
  { echo: '4001', rings: '4002' },
  { echo: '6001', rings: '6002' },
] as const
const numbersOf = ({ host }: Way) => NUMBERS[host === SIX ? 1 : 0]

let ways: WaysProduct
let product: Product
test.before(async () => {
  if (missing !== null) return
  ways = await WaysProduct.start()
  product = ways.product
  const queue = await product.ok('POST', '/queues', { name: 'Nobody', overflow: { when_no_agents: false } })
  const target = { type: 'queue', id: queue.id }
  for (const { echo, rings } of NUMBERS) {
    await product.ok('POST', '/inbound_routes', { match: { to: echo }, target: { type: 'echo' } })
    await product.ok('POST', '/inbound_routes', { match: { to: rings }, target, answer: 'early_media' })
  }
})
test.after(async () => {
  ways?.close()
  await curtain(product)
})

const lossTest = (sentence: string, run: (loss: Loss, way: Way) => Promise<void>): void =>
  // SIPp's scenario expects the 200 for CANCEL before the 487.
  testWays(test, missing, sentence, way => run(new Loss(name => name !== '200 of 1 CANCEL'), way), WAYS.filter(overUdp))

const assertLost = ({ lost }: Loss, ...names: string[]): void => {
  for (const name of names) assert.ok(lost.has(name), name)
}

/** Resolves with the only call to this number, once it has ended. */
const callTo = (to: string) =>
  product.until('the call has ended', async () => {
    const found = (await product.all('/calls')).filter(one => one.to.startsWith(`sip:${to}@`))
    assert.ok(found.length <= 1, 'one INVITE made several calls')
    return found[0]?.ended_at == null ? null : found[0]
  })

lossTest(
  'a call is one call though its INVITE, 200, ACK, BYE and their answers are each lost once',
  async (loss, way) => {
    const { echo } = numbersOf(way)
    await (await ways.caller('call', way, { to: echo, lengthMs: 3000 }, loss.passes)).passed()
    assertLost(loss, 'INVITE of 1 INVITE', '200 of 1 INVITE', 'ACK of 1 ACK', 'BYE of 2 BYE', '200 of 2 BYE')
    assert.is((await callTo(echo)).status, 'completed')
  },
)

lossTest(
  'a call that rings is cancelled though its 183, PRACK, CANCEL, 487 and ACK are each lost once',
  async (loss, way) => {
    const { rings } = numbersOf(way)
    await (await ways.caller('ring-prack', way, { to: rings }, loss.passes)).passed()
    assertLost(loss, '183 of 1 INVITE', 'PRACK of 2 PRACK', '200 of 2 PRACK', 'CANCEL of 1 CANCEL', '487 of 1 INVITE')
    assert.is((await callTo(rings)).status, 'cancelled')
  },
)

lossTest(
  'a phone is rung and answers though our INVITE, its 180 and 200, our ACK and our BYE are each lost once',
  async (loss, way) => {
    const { sipp, uri } = await ways.callee('answers', way, {}, loss.passes)
    const { id } = await product.ok('POST', '/calls', { to: uri })
    await sipp.answered(product, id)
    await product.until('its 200 is acknowledged', async () => (sipp.received('ACK').length > 0 ? true : null))
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assertLost(loss, 'INVITE of 1 INVITE', '180 of 1 INVITE', '200 of 1 INVITE', 'ACK of 1 ACK', 'BYE of 2 BYE')
    assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
  },
)

lossTest(
  'a phone that rings reliably is told so though its 183, our PRACK, the 200 of that, and its 200 are each lost once (RFC 3262)',
  async (loss, way) => {
    const { sipp, uri } = await ways.callee('rings-reliably', way, {}, loss.passes)
    const { id } = await product.ok('POST', '/calls', { to: uri })
    await product.until('its 200 is acknowledged', async () => (sipp.received('ACK').length > 0 ? true : null))
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assertLost(loss, '183 of 1 INVITE', 'PRACK of 2 PRACK', '200 of 2 PRACK', '200 of 1 INVITE', 'ACK of 1 ACK')
    assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
  },
)

lossTest(
  'a phone that rings is cancelled though our CANCEL, its 487 and our ACK are each lost once',
  async (loss, way) => {
    const { sipp, uri } = await ways.callee('no-answer', way, {}, loss.passes)
    const { id } = await product.ok('POST', '/calls', { to: uri })
    await product.until('it rings', async () =>
      (await product.ok('GET', `/calls/${id}`)).status === 'ringing' ? true : null,
    )
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assertLost(loss, 'CANCEL of 1 CANCEL', '487 of 1 INVITE', 'ACK of 1 ACK')
    assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
  },
)

lossTest('whom we have called hangs up though its BYE and our 200 are each lost once', async (loss, way) => {
  const { sipp, uri } = await ways.callee('answers-and-hangs-up', way, {}, loss.passes)
  const { id } = await product.ok('POST', '/calls', { to: uri })
  await sipp.passed()
  assertLost(loss, 'BYE of 1 BYE', '200 of 1 BYE')
  assert.is((await endedCall(product, id)).ended_reason, 'caller_hangup')
})

lossTest('who has called us is hung up though our BYE and its 200 are each lost once', async (loss, way) => {
  const to = `${numbersOf(way).echo}9`
  await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'echo' } })
  const sipp = await ways.caller('hung-up', way, { to }, loss.passes)
  const { id } = await product.until('it has called', async () =>
    (await product.all('/calls?status=in_progress')).find(one => one.to.startsWith(`sip:${to}@`)),
  )
  await product.until('its ACK has come', async () => (loss.lost.has('ACK of 1 ACK') ? true : null))
  await product.ok('POST', `/calls/${id}/hangup`)
  await sipp.passed()
  assertLost(loss, 'BYE of 1 BYE', '200 of 1 BYE')
  assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
})

test.run()
