import * as assert from 'uvu/assert'
import type { Product } from '../../bench/product.ts'
import { curtain } from '../e2e/scene.ts'
import { sharedProduct } from '../e2e/shared-product.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'

const test = suite('interop/ringing')
const missing = missingPrograms('sipp')
const LIMIT = { timeoutMs: 60_000 }

let product: Product
test.before(async () => {
  if (missing !== null) return
  product = await sharedProduct()
  const queue = await product.ok('POST', '/queues', { name: 'Nobody', overflow: { when_no_agents: false } })
  for (const [to, answer] of [
    ['5001', 'when_answered'],
    ['5002', 'early_media'],
  ]) {
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'queue', id: queue.id }, answer })
  }
})
test.after(() => curtain(product))

const sippTest = (sentence: string, run: () => unknown): void => {
  if (missing === null) test(sentence, run, LIMIT)
  else test.skip(sentence, missing)
}

/** A caller who gives up while it rings; its call is told as one that was never answered. */
async function rings(scenario: string, to: string): Promise<Sipp> {
  const sipp = await Sipp.caller(scenario, product.sip, { to })
  await sipp.passed()
  const call = await product.until('the call has ended', async () => {
    const found = (await product.all('/calls')).find(one => one.to.startsWith(`sip:${to}@`))
    return found?.ended_at == null ? null : found
  })
  assert.equal([call.status, call.answered_at, call.duration_ms], ['cancelled', null, 0])
  return sipp
}

sippTest('a call rings (180) until its caller cancels it: 487, and it was never answered', () =>
  rings('ring-cancel', '5001'),
)

sippTest(
  'a 183 with a description is sent again until its PRACK comes (RFC 3262 §3), and CANCEL ends the call',
  async () => {
    const sipp = await rings('ring-prack', '5002')
    assert.ok(sipp.received('SIP/2.0 183').length > 1)
  },
)

test.run()
