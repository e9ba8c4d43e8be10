// Sleeps most: it waits through most of its time, and listens only for what lasts.
import * as assert from 'uvu/assert'
import { Product } from '../../bench/product.ts'
import { curtain, endedCall } from '../e2e/scene.ts'
import { UdpRelay } from '../e2e/udp-relay.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'

/** A network that loses each message of a call once: whoever has sent it must send it again (RFC 3261 §17, §13.3.1.4, RFC 3262 §3). */

const test = suite('interop/lossy')
const missing = missingPrograms('sipp')
const HOST = '127.0.0.1'

let product: Product
test.before(async () => {
  if (missing !== null) return
  product = await Product.start()
  const queue = await product.ok('POST', '/queues', { name: 'Nobody', overflow: { when_no_agents: false } })
  const target = { type: 'queue', id: queue.id }
  await product.ok('POST', '/inbound_routes', { match: { to: '5002' }, target, answer: 'early_media' })
})
test.after(() => curtain(product))

/** What the network has lost, by the start of its first line and its CSeq. */
class Loss {
  readonly lost = new Set<string>()
  readonly relay = new UdpRelay(bytes => {
    const text = bytes.toString('latin1')
    const [, status, method] = /^(?:SIP\/2\.0 (\d+)|([A-Z]+) )/.exec(text) ?? []
    const name = `${status ?? method} of ${/^CSeq: (.*)\r$/m.exec(text)?.[1]}`
    // The scenario wants the 200 of its CANCEL before the 487.
    const isFirst = !this.lost.has(name) && name !== '200 of 1 CANCEL'
    if (isFirst) this.lost.add(name)
    // SIPp asks for no answers to where it sends from (RFC 3581), and they would pass the network by.
    return isFirst ? null : Buffer.from(text.replace(/^(Via: .*;branch=[^;\r]+)\r$/m, '$1;rport\r'), 'latin1')
  })
}

const lossTest = (sentence: string, run: (loss: Loss) => Promise<void>): void => {
  const within = async (): Promise<void> => {
    const loss = new Loss()
    try {
      await run(loss)
    } finally {
      loss.relay.close()
    }
  }
  if (missing === null) test(sentence, within, { timeoutMs: 60_000, together: true })
  else test.skip(sentence, missing)
}

/** The one call to this number, over. */
const callTo = (to: string) =>
  product.until('the call has ended', async () => {
    const found = (await product.all('/calls')).filter(one => one.to.startsWith(`sip:${to}@`))
    assert.ok(found.length <= 1, 'one INVITE made several calls')
    return found[0]?.ended_at == null ? null : found[0]
  })

lossTest('a call is one call though its INVITE, 200, ACK, BYE and their answers are each lost once', async loss => {
  const port = await loss.relay.before(product.sip.port)
  const sipp = await Sipp.caller('call', { host: HOST, port }, { to: '1002', lengthMs: 3000 })
  await sipp.passed()
  const parts = ['INVITE of 1 INVITE', '200 of 1 INVITE', 'ACK of 1 ACK', 'BYE of 2 BYE', '200 of 2 BYE']
  for (const part of parts) assert.ok(loss.lost.has(part), part)
  assert.is((await callTo('1002')).status, 'completed')
})

lossTest('a call that rings is cancelled though its 183, PRACK, CANCEL, 487 and ACK are each lost once', async loss => {
  const port = await loss.relay.before(product.sip.port)
  const sipp = await Sipp.caller('ring-prack', { host: HOST, port }, { to: '5002' })
  await sipp.passed()
  const parts = ['183 of 1 INVITE', 'PRACK of 2 PRACK', '200 of 2 PRACK', 'CANCEL of 1 CANCEL', '487 of 1 INVITE']
  for (const part of parts) assert.ok(loss.lost.has(part), part)
  assert.is((await callTo('5002')).status, 'cancelled')
})

lossTest('a phone is rung and answers though our INVITE, its 180 and its 200 are each lost once', async loss => {
  const sipp = await Sipp.callee('answers')
  const port = await loss.relay.before(sipp.port)
  const { id } = await product.ok('POST', '/calls', { to: `sip:callee@${HOST}:${port}` })
  await product.until('it is answered', async () =>
    (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
  )
  await product.ok('POST', `/calls/${id}/hangup`)
  await sipp.passed()
  for (const part of ['INVITE', '180', '200']) assert.ok(loss.lost.has(`${part} of 1 INVITE`), part)
  assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
})

test.run()
