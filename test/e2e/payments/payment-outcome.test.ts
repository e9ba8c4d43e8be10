import * as assert from 'uvu/assert'
import { Product } from '../../../bench/product.ts'
import { q850, type Reason } from '../../../sip/message/reason.ts'
import { suite } from '../../harness.ts'
import { curtain, endedCall, shopWith } from '../scene.ts'

const test = suite('e2e/payments/payment-outcome')
const SLOW = { timeoutMs: 60_000 }

let product: Product
test.before(async () => {
  product = await Product.start()
})
test.after(() => curtain(product))

const to = (next: string, value?: string) => ({
  condition: value === undefined ? { kind: 'always' } : { kind: 'outcome', value },
  next,
})
const PAYING = {
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('pay')] },
    {
      key: 'pay',
      type: 'payment',
      payment: { amount: '12.50' },
      transitions: [to('paid', 'paid'), to('failed')],
    },
    { key: 'paid', type: 'end' },
    { key: 'failed', type: 'end' },
  ],
}
const UNAVAILABLE: Reason = { protocol: 'SIP', cause: 503, text: 'Service Unavailable' }

test(
  'what the BYE of a payment line says (RFC 3326) decides: no reason (also as cause 0, which Asterisk sends for that), normal clearing, "normal, unspecified" and "interworking" are paid, anything else has failed',
  async () => {
    const { phone, line, flowId } = await shopWith(product, PAYING)
    const outcomes: [string, string][] = []
    for (const [name, reasons] of [
      ['none', []],
      ['0', [q850(0)]],
      ['16', [q850(16)]],
      ['31', [q850(31)]],
      ['127', [q850(127)]],
      ['38', [q850(38)]],
      ['SIP 503', [UNAVAILABLE]],
    ] as const) {
      const [ringing, atLine] = [phone.next(), line.next()]
      const { id } = await product.ok('POST', '/calls', { to: phone.uri, flow_id: flowId })
      ;(await ringing).answer()
      const paying = await atLine
      paying.answer()
      await product.until('capture is paused for it', async () => {
        const events = await product.all(`/calls/${id}/events`)
        return events.some(({ type }) => type === 'call.pci.paused') ? true : null
      })
      await paying.hangup(reasons)
      await endedCall(product, id)
      const { path } = await product.ok('GET', `/calls/${id}/flow_run`)
      outcomes.push([name, path.at(-1).node_key])
    }
    assert.equal(outcomes, [
      ['none', 'paid'],
      ['0', 'paid'],
      ['16', 'paid'],
      ['31', 'paid'],
      ['127', 'paid'],
      ['38', 'failed'],
      ['SIP 503', 'failed'],
    ])
    await Promise.all([phone.close(), line.close()])
  },
  SLOW,
)

test.run()
