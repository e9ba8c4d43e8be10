// Sleeps most: it waits most of the time, and judges only sounds that last.
import { networkInterfaces } from 'node:os'
import * as assert from 'uvu/assert'
import { Product } from '../../bench/product.ts'
import { bracketed } from '../../sip/message/uri.ts'
import { curtain, endedCall } from '../e2e/scene.ts'
import { UdpRelay } from '../e2e/udp-relay.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'

// A network that loses each message of a call once, so that its sender must retransmit it (RFC 3261 §17, §13.3.1.4, RFC 3262 §3).

const test = suite('interop/lossy')
const missing = missingPrograms('sipp')
/** Both address families, each with its own numbers: one for the echo, and one that rings with early media. */
const FAMILIES = [
  { name: 'IPv4', host: '127.0.0.1', echo: '4001', rings: '4002' },
  { name: 'IPv6', host: '::1', echo: '6001', rings: '6002' },
]
const hasSix = Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === '::1'))

let product: Product
test.before(async () => {
  if (missing !== null) return
  product = await Product.start({
    env: {
      TANDEM_SIP_HOST: hasSix ? '127.0.0.1,::1' : '127.0.0.1',
      TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8,::1/128',
    },
  })
  // The demo connection allows callers from this machine only by IPv4.
  await product.ok('POST', '/connections', { name: 'Six', kind: 'peer', allowed_ips: ['::1/128'] })
  const queue = await product.ok('POST', '/queues', { name: 'Nobody', overflow: { when_no_agents: false } })
  const target = { type: 'queue', id: queue.id }
  for (const { echo, rings } of FAMILIES) {
    await product.ok('POST', '/inbound_routes', { match: { to: echo }, target: { type: 'echo' } })
    await product.ok('POST', '/inbound_routes', { match: { to: rings }, target, answer: 'early_media' })
  }
})
test.after(() => curtain(product))

/** Messages that the network has lost, by the beginning of their first line and their CSeq. */
class Loss {
  readonly lost = new Set<string>()
  readonly relay: UdpRelay

  constructor(host: string) {
    this.relay = new UdpRelay(bytes => this.#passes(bytes), host)
  }

  #passes(bytes: Buffer): Buffer | null {
    const text = bytes.toString('latin1')
    const [, status, method] = /^(?:SIP\/2\.0 (\d+)|([A-Z]+) )/.exec(text) ?? []
    const name = `${status ?? method} of ${/^CSeq: (.*)\r$/m.exec(text)?.[1]}`
    // SIPp's scenario expects the 200 for CANCEL before the 487.
    const isFirst = !this.lost.has(name) && name !== '200 of 1 CANCEL'
    if (isFirst) this.lost.add(name)
    // SIPp sends no `rport` (RFC 3581), without which answers would bypass this network.
    return isFirst ? null : Buffer.from(text.replace(/^(Via: .*;branch=[^;\r]+)\r$/m, '$1;rport\r'), 'latin1')
  }
}

type Family = (typeof FAMILIES)[number]

const lossTest = (sentence: string, run: (loss: Loss, family: Family) => Promise<void>): void => {
  for (const family of FAMILIES) {
    const named = `${sentence} (${family.name})`
    const lacking = missing ?? (family.host === '::1' && !hasSix ? 'this machine has no IPv6' : null)
    const within = async (): Promise<void> => {
      const loss = new Loss(family.host)
      try {
        await run(loss, family)
      } finally {
        loss.relay.close()
      }
    }
    if (lacking === null) test(named, within, { timeoutMs: 60_000, together: true })
    else test.skip(named, lacking)
  }
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
  async (loss, { host, echo }) => {
    const port = await loss.relay.before(product.sip.port)
    const sipp = await Sipp.caller('call', { host, port }, { host, to: echo, lengthMs: 3000 })
    await sipp.passed()
    const parts = ['INVITE of 1 INVITE', '200 of 1 INVITE', 'ACK of 1 ACK', 'BYE of 2 BYE', '200 of 2 BYE']
    for (const part of parts) assert.ok(loss.lost.has(part), part)
    assert.is((await callTo(echo)).status, 'completed')
  },
)

lossTest(
  'a call that rings is cancelled though its 183, PRACK, CANCEL, 487 and ACK are each lost once',
  async (loss, { host, rings }) => {
    const port = await loss.relay.before(product.sip.port)
    const sipp = await Sipp.caller('ring-prack', { host, port }, { host, to: rings })
    await sipp.passed()
    const parts = ['183 of 1 INVITE', 'PRACK of 2 PRACK', '200 of 2 PRACK', 'CANCEL of 1 CANCEL', '487 of 1 INVITE']
    for (const part of parts) assert.ok(loss.lost.has(part), part)
    assert.is((await callTo(rings)).status, 'cancelled')
  },
)

lossTest(
  'a phone is rung and answers though our INVITE, its 180 and its 200 are each lost once',
  async (loss, { host }) => {
    const sipp = await Sipp.callee('answers', { host })
    const port = await loss.relay.before(sipp.port)
    const { id } = await product.ok('POST', '/calls', { to: `sip:callee@${bracketed(host)}:${port}` })
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
    )
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    for (const part of ['INVITE', '180', '200']) assert.ok(loss.lost.has(`${part} of 1 INVITE`), part)
    assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
  },
)

test.run()
