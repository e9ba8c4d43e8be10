import * as assert from 'uvu/assert'
import { CapturePause, type PauseRequest } from '../../../media/rooms/capture-pause.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/capture-pause')

const WALL = Date.UTC(2026, 0, 2, 3, 4, 5)
const REQUEST: PauseRequest = { maxSeconds: 90, reason: 'payment', maskDtmf: true, destinationLegId: 'leg_pay' }
const RUNNING = {
  paused: false,
  reason: null,
  pausedAt: null,
  resumesAt: null,
  destinationLegId: null,
  maskDtmf: false,
}
const PAUSED = {
  paused: true,
  reason: 'payment',
  pausedAt: '2026-01-02T03:04:05.000Z',
  resumesAt: '2026-01-02T03:05:35.000Z',
  destinationLegId: 'leg_pay',
  maskDtmf: true,
}

const paused = (): CapturePause => {
  const pause = new CapturePause()
  pause.pause(REQUEST, 1000, WALL)
  return pause
}
const CONFLICT = 'conflict'

/** The specification's section "Call recording pause (card payment)", line by line. */
const TABLE: [
  sentence: string,
  from: () => CapturePause,
  act: (pause: CapturePause) => object | null,
  next: object,
  answer: unknown,
][] = [
  [
    'running, action pause: paused, resumes_at set',
    () => new CapturePause(),
    p => p.pause(REQUEST, 1000, WALL),
    PAUSED,
    PAUSED,
  ],
  ['paused, action resume: running', paused, p => p.resume(), RUNNING, RUNNING],
  ['paused, max_seconds elapsed: running, resumes by itself', paused, p => p.advance(91_000), RUNNING, RUNNING],
  [
    'paused, action pause: unchanged, 409',
    paused,
    p => p.pause({ ...REQUEST, reason: 'x' }, 2000, WALL),
    PAUSED,
    CONFLICT,
  ],
  ['running, action resume: unchanged, 409', () => new CapturePause(), p => p.resume(), RUNNING, CONFLICT],
  ['paused, the call ends: the pause ends with the call', paused, p => p.end(), RUNNING, RUNNING],
  ['running, the call ends: nothing changes', () => new CapturePause(), p => p.end(), RUNNING, null],
  ['paused, before max_seconds: unchanged', paused, p => p.advance(90_999), PAUSED, null],
  ['running, time passes: unchanged', () => new CapturePause(), p => p.advance(1e12), RUNNING, null],
]

for (const [sentence, from, act, next, answer] of TABLE) {
  test(sentence, () => {
    const pause = from()
    const given = act(pause)
    assert.equal(pause.state, next)
    assert.is(pause.paused, (next as typeof PAUSED).paused)
    if (answer === CONFLICT) assert.is((given as { failure: string }).failure, CONFLICT)
    else assert.equal(given, answer)
  })
}

test('a refused second pause does not move the deadline', () => {
  const pause = paused()
  pause.pause({ ...REQUEST, maxSeconds: 3600 }, 80_000, WALL + 79_000)
  assert.equal(pause.advance(91_000), RUNNING)
})

test('the deadline ends a pause once', () => {
  const pause = paused()
  assert.ok(pause.advance(91_000))
  assert.is(pause.advance(91_020), null)
})

test('a resumed pause leaves no deadline behind for the next one', () => {
  const pause = paused()
  pause.resume()
  pause.pause({ ...REQUEST, maxSeconds: 600 }, 80_000, WALL + 79_000)
  assert.is(pause.advance(91_000), null)
  assert.ok(pause.paused)
  assert.equal(pause.advance(680_000), RUNNING)
})

test('a length that no clock can hold is refused as a value', () => {
  for (const maxSeconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
    const pause = new CapturePause()
    const answer = pause.pause({ ...REQUEST, maxSeconds }, 0, WALL)
    assert.is('failure' in answer && answer.failure, 'invalid')
    assert.equal(pause.state, RUNNING)
  }
})

test.run()
