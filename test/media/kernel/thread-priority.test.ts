import { readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import * as assert from 'uvu/assert'
import { loadHandOver } from '../../../media/kernel/thread-priority.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/thread priority')

const ROUND_ROBIN = 2

/** How this thread is scheduled (proc_pid_stat(5), fields 40 and 41), and its nice value. */
function own(): { policy: number; realTime: number; nice: number } {
  const fields = readFileSync('/proc/thread-self/stat', 'utf8').split(') ')[1]!.split(' ')
  return { policy: Number(fields[38]), realTime: Number(fields[37]), nice: Number(fields[16]) }
}

const before = getPriority()
const mayComeForward = ((): boolean => {
  try {
    setPriority(-1)
    return process.platform === 'linux'
  } catch {
    return false
  } finally {
    setPriority(before)
  }
})()

const sentence =
  'before other programs, no thread of audio overtakes who hands something over to it, and afterwards all is as before'
const check = async () => {
  setPriority(-5)
  try {
    const handOver = await loadHandOver()
    let during = own()
    handOver(() => {
      during = own()
    })
    assert.is(during.policy, ROUND_ROBIN)
    assert.ok(during.realTime > 10, `${during.realTime}: threads of audio have 10`)
    assert.equal(own(), { policy: 0, realTime: 0, nice: -5 })
    assert.throws(
      () =>
        handOver(() => {
          throw new Error('cannot be cloned')
        }),
      /cannot be cloned/,
    )
    assert.equal(own(), { policy: 0, realTime: 0, nice: -5 })
  } finally {
    setPriority(before)
  }
}
if (mayComeForward) test(sentence, check)
else test.skip(sentence, 'it takes Linux and CAP_SYS_NICE')

test('where the operator puts it behind other programs, it stays there', async () => {
  const handOver = await loadHandOver()
  let during = own()
  handOver(() => {
    during = own()
  })
  assert.equal(during, { policy: 0, realTime: 0, nice: before })
})

test.run()
