import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, getPriority } from 'node:os'
import * as assert from 'uvu/assert'
import { product, sharedSuite } from './shared-suite.ts'

const test = sharedSuite('e2e/priorities')

/** The nice values that a process's threads have. */
const nicesOf = (pid: number): number[] => [
  ...new Set(readdirSync(`/proc/${pid}/task`).map(thread => getPriority(Number(thread)))),
]

/** The scheduling policies (sched(7)) of those threads of a process that have this nice value. */
const policiesOf = (pid: number, nice: number): number[] => {
  const threads = readdirSync(`/proc/${pid}/task`).filter(thread => getPriority(Number(thread)) === nice)
  return [
    ...new Set(
      threads.map(thread =>
        Number(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ')[1]!.split(' ')[38]),
      ),
    ),
  ]
}
const OTHER = 0
const ROUND_ROBIN = 2

test(
  'the threads of audio are before all others, and every thread of control stands behind media, after a restart too',
  async () => {
    const ours = getPriority()
    const ofMedia = getPriority(product.pids.media)
    const ofAudio = ofMedia < 0 ? [ofMedia - 10] : []
    assert.equal(new Set(nicesOf(product.pids.media)), new Set([ofMedia, ...ofAudio]))
    // Audio gets a core as soon as it has work, and nothing else does.
    if (ofMedia < 0) assert.equal(policiesOf(product.pids.media, ofMedia - 10), [ROUND_ROBIN])
    assert.equal(policiesOf(product.pids.media, ofMedia), [OTHER])
    assert.ok(
      ofMedia === ours || (ours === 0 && ofMedia === -5),
      `media is at ${ofMedia}: as we are, or before other programs`,
    )
    // One that dies before the supervisor has heard that it serves is not started again.
    await product.until('the first screen', async () => (product.output.includes('Tandem') ? true : null))
    // A request makes the thread pool start its threads.
    await product.ok('GET', '/calls')
    assert.equal(nicesOf(product.pids.control), [ofMedia + 5])
    const killed = product.pids.control
    process.kill(killed, 'SIGKILL')
    await product.until('control is back', async () => {
      const { control } = product.pids
      return control > 0 && control !== killed ? true : null
    })
    await product.ready()
    assert.equal(nicesOf(product.pids.control), [ofMedia + 5])
  },
  { timeoutMs: 60_000 },
)

const flagsOf = (pid: number): string[] => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')

test('control waits for no other thread to collect its young garbage', () => {
  assert.ok(flagsOf(product.pids.control).includes('--no-parallel-scavenge'))
})

test('a thread of audio is stopped to collect all garbage only once the heap has doubled', () => {
  assert.ok(flagsOf(product.pids.media).includes('--heap-growing-percent=100'))
})

test('on a single core no other thread has to collect garbage before one of audio can go on', () => {
  const argv = flagsOf(product.pids.media)
  assert.is(argv.includes('--single-threaded-gc'), availableParallelism() === 1, argv.join(' '))
})

test.run()
