import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as assert from 'uvu/assert'
import { suite } from '../harness.ts'
import { FuzzedNight } from './fuzzed-night.ts'

const test = suite('sip/fuzz')

/** `TANDEM_FUZZ_MESSAGES=1000000 npm test -- sip/fuzz` is a long run; `FUZZ_SEED` sets another seed. */
const MESSAGES = Number(process.env.TANDEM_FUZZ_MESSAGES ?? 20_000)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapMb(): number {
  collect()
  return process.memoryUsage().heapUsed / 2 ** 20
}

test(
  'whatever comes over the wire, each call ends once on each side, and nothing is left of it',
  () => {
    const night = new FuzzedNight(1)
    night.round()
    const before = heapMb()
    while (night.messages < MESSAGES) {
      night.round()
      assert.equal(night.wrong, [])
      for (const { sessions, transactions, deadline } of night.left()) {
        assert.equal([sessions, transactions, deadline], [0, 0, null], `after ${night.messages} messages`)
      }
    }
    const after = heapMb()
    console.log(`${night.messages} messages; heap ${before.toFixed(1)} MB, then ${after.toFixed(1)} MB`)
    // Bounded tables (nonces, addresses that failed) may fill up; a leak of 100 bytes per message would be 100 MB in a million messages.
    assert.ok(after - before < 8, `${before} MB, then ${after} MB`)
  },
  { timeoutMs: 30 * 60_000 },
)

test.run()
