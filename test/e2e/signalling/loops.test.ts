import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const test = sharedSuite('e2e/signalling/loops')
const NUMBER = '+14155550142'
const FLOWS_NUMBER = '+14155550143'

/** Calls of this number go to a queue that sends them on to it, over this far end. */
async function sendsOn(at: Product, to: Product['sip']): Promise<void> {
  await at.ok('POST', '/connections', { name: 'Carrier', kind: 'trunk', host: to.host, port: to.port })
  const queue = await at.ok('POST', '/queues', {
    name: 'Sent on',
    overflow: { when_no_agents: true, action: 'number', number: NUMBER },
  })
  await at.ok('POST', '/inbound_routes', {
    match: { to: NUMBER },
    target: { type: 'queue', id: queue.id },
    answer: 'when_answered',
  })
}

const callsTo = async (at: Product, number: string): Promise<number> =>
  (await at.all('/calls?direction=inbound')).filter(({ to }) => to.includes(number)).length

test(
  'a number that leads back to itself by way of its carrier goes round until Max-Forwards is used up: 483 (RFC 7332)',
  async () => {
    await sendsOn(product, product.sip)
    const phone = await Phone.open('circler')
    const call = await phone.dial(NUMBER, product.sip, { maxForwards: 3 })
    assert.is((await call.outcome).status, 483)
    assert.is(await callsTo(product, NUMBER), 4)
    await product.until(
      'each of them shows the cause of a 483 (RFC 3398 §8.2.6.1), which it was refused with',
      async () =>
        (await product.all('/calls?direction=inbound'))
          .filter(({ to }) => to.includes(NUMBER))
          .every(({ cause }) => cause?.q850 === 25)
          ? true
          : null,
    )
    await phone.close()
  },
  { timeoutMs: 60_000 },
)

test(
  'a flow that hands its caller to a number that leads back to it goes round no longer, though each round is answered',
  async () => {
    const nodes = [
      { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'on' }] },
      { key: 'on', type: 'transfer', target: { type: 'number', id: FLOWS_NUMBER }, transitions: [] },
    ]
    const { id } = await product.ok('POST', '/flows', { name: 'On', kind: 'ivr', graph: { kind: 'ivr', nodes } })
    await product.ok('POST', `/flows/${id}/publish`, {})
    await product.ok('POST', '/inbound_routes', { match: { to: FLOWS_NUMBER }, target: { type: 'flow', id } })
    const phone = await Phone.open('flowing')
    const call = await phone.dial(FLOWS_NUMBER, product.sip, { maxForwards: 3 })
    assert.is((await call.outcome).status, 200)
    await product.until('all rounds are over', async () => {
      const calls = (await product.all('/calls?direction=inbound')).filter(({ to }) => to.includes(FLOWS_NUMBER))
      return calls.length > 0 && calls.every(({ ended_at: endedAt }) => endedAt !== null) ? true : null
    })
    assert.is(await callsTo(product, FLOWS_NUMBER), 4)
    await phone.close()
  },
  { timeoutMs: 60_000 },
)

test(
  'two systems that send each other a call give it up by 483, and nothing of it is left at either',
  async () => {
    const other = await Product.start()
    try {
      const ours = await product.ok('GET', '/connections')
      for (const { id, name } of ours.data) if (name === 'Carrier') await product.ok('DELETE', `/connections/${id}`)
      const before = await callsTo(product, NUMBER)
      await product.ok('POST', '/connections', { name: 'Other', kind: 'trunk', ...other.sip })
      await sendsOn(other, product.sip)
      const phone = await Phone.open('between')
      const call = await phone.dial(NUMBER, product.sip, { maxForwards: 5 })
      assert.is((await call.outcome).status, 483)
      assert.equal([(await callsTo(product, NUMBER)) - before, await callsTo(other, NUMBER)], [3, 3])
      for (const at of [product, other]) {
        await at.until('every call is over', async () =>
          (await at.all('/calls')).every(({ ended_at: endedAt }) => endedAt !== null) ? true : null,
        )
      }
      await phone.close()
    } finally {
      await other.stop()
    }
  },
  { timeoutMs: 60_000 },
)

test.run()
