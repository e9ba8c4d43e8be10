// Wants the machine: it judges how soon a process is back, or how much load is borne, and takes more than a core.
import * as assert from 'uvu/assert'
import { Product } from '../../bench/product.ts'
import { curtain } from '../e2e/scene.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'

const test = suite('interop/sipp-rate')
const missing = missingPrograms('sipp')
const SENTENCE = 'fifty calls a second for five seconds all succeed, and leave nothing behind'
/** `npm run bench -- --calls` does so for longer. */
const [CALLS, RATE] = [250, 50]

let product: Product | undefined
test.after(() => curtain(product))

async function rush(): Promise<void> {
  product = await Product.start()
  const sipp = await Sipp.caller('call', product.sip, { to: '1002', calls: CALLS, rate: RATE, lengthMs: 500 })
  await sipp.passed()
  const calls = await product.until('all have ended', async () => {
    const all = await product!.all('/calls')
    return all.every(({ ended_at }) => ended_at !== null) ? all : null
  })
  assert.is(calls.length, CALLS)
  assert.ok(calls.every(({ status, ended_reason }) => status === 'completed' && ended_reason === 'caller_hangup'))
}

test(SENTENCE, rush, { timeoutMs: 60_000, missing })

test.run()
