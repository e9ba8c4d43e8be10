import * as assert from 'uvu/assert'
import type { LoadResult } from '../../bench/load/messages.ts'
import type { SoakReport } from '../../bench/soak/run.ts'
import { type Sample, WATCHED, type Watched } from '../../bench/soak/samples.ts'
import { grows, median, trendOf } from '../../bench/soak/trend.ts'
import { growthOf, latenessAt, soakVerdict } from '../../bench/soak/verdict.ts'
import { suite } from '../harness.ts'

const test = suite('bench/soak')
const MB = 2 ** 20

test('the slope of points on a line is that of the line, without error', () => {
  const { slope, error } = trendOf([0, 1, 2, 5].map(x => ({ x, y: 3 * x + 7 })))!
  assert.ok(Math.abs(slope - 3) < 1e-9 && error < 1e-6)
  assert.is(trendOf([{ x: 0, y: 1 }]), null)
  assert.is(median([5, 1, 9]), 5)
})

test('what wavers does not grow, what rises steadily does, and a little is not told', () => {
  const wavering = Array.from({ length: 60 }, (_, x) => ({ x, y: 100 + 5 * Math.sin(x * 1.7) }))
  assert.is(grows(trendOf(wavering)!, 60, 1), false)
  const rising = wavering.map(({ x, y }) => ({ x, y: y + 0.5 * x }))
  assert.is(grows(trendOf(rising)!, 60, 1), true)
  assert.is(grows(trendOf(rising)!, 60, 40), false)
})

/** An hour, looked at each minute; a leak [MB per hour]. */
function soaked(leaks: Partial<Record<Watched, number>>, more: Partial<SoakReport> = {}, late = 0): SoakReport {
  const samples: Sample[] = Array.from({ length: 61 }, (_, minute) => ({
    at: 60 * minute,
    values: Object.fromEntries(
      WATCHED.map((name, n) => {
        // Caches fill in the first minutes, garbage comes and goes.
        const settled = 100 * MB * (1 - Math.exp(-minute / 3)) + MB * Math.sin(minute * (n + 2))
        return [name, name.endsWith('files') ? 300 + (minute % 5) : settled + ((leaks[name] ?? 0) * MB * minute) / 60]
      }),
    ) as Record<Watched, number>,
    slots: { all: 12_000 * minute, behind: 20 * minute, late: late * minute, skipped: 0 },
    lateness: [0.5, 2, 5, Number.POSITIVE_INFINITY].map((ms, n) => ({
      ms,
      slots: minute * [11_000, 11_980, 12_000 - late, 12_000][n]!,
    })),
  }))
  const load = {
    ...{ framesExpected: 100_000, framesHeard: 99_990, framesOwn: 0, framesStray: 0, packetsLate: 3, driftPpm: 1 },
    latencyMs: { count: 1, p50: 10, p95: 20, p99: 30, max: 50 },
  } as LoadResult
  return { parts: [{ at: 60, load }], samples, calls: 100, problems: [], ofMachine: null, ...more } as SoakReport
}

test('memory that settles and wavers holds; a leak of 30 MB an hour is named', () => {
  assert.equal(
    growthOf(soaked({})).filter(({ grows }) => grows),
    [],
  )
  assert.ok(soakVerdict(soaked({})).every(({ holds }) => holds))
  const failed = soakVerdict(soaked({ 'engine external': 30 })).filter(({ holds }) => !holds)
  assert.equal(
    failed.map(({ what }) => what),
    ['grows: engine external'],
  )
})

test('one slot in a thousand that is more than 5 ms late fails the verdict, and a call with a problem does', () => {
  const late = soakVerdict(soaked({}, {}, 13)).filter(({ holds }) => !holds)
  assert.is(late.length, 1)
  assert.match(late[0]!.what, /more than 5 ms late: 0.108 %/)
  const wrong = soakVerdict(soaked({}, { problems: ['a call was answered 500'] })).filter(({ holds }) => !holds)
  assert.match(wrong[0]!.what, /100 calls came and went, 1 with a problem/)
})

test('percentiles of lateness are those of the slots between the first look and the last', () => {
  const report = soaked({}, {}, 13)
  assert.equal(
    [0.5, 0.99, 0.999].map(share => latenessAt(report, share)),
    [0.5, 2, Number.POSITIVE_INFINITY],
  )
  // What was late before the first look is of no account.
  for (const { lateness } of report.samples) lateness.at(-1)!.slots += 5000
  assert.is(latenessAt(report, 0.99), 2)
})

test.run()
