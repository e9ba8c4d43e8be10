import * as assert from 'uvu/assert'
import { judge, refusedWith } from '../../bench/capacity/judge.ts'
import { findMost } from '../../bench/capacity/search.ts'
import type { LoadResult } from '../../bench/load/messages.ts'
import { suite } from '../harness.ts'

const test = suite('bench/capacity')

/** Tries of a machine that holds so many. */
async function search(limit: number, range: { first: number; unit: number; last: number; within: number }) {
  const tried: number[] = []
  const found = await findMost(range, async count => {
    tried.push(count)
    return { holds: count <= limit, result: count }
  })
  return { tried, most: found.most?.count ?? null, failed: found.failed?.count ?? null }
}

test('what holds is doubled until it does not, then the gap is halved', async () => {
  const { tried, most, failed } = await search(730, { first: 200, unit: 1, last: 4000, within: 0.08 })
  assert.equal(tried.slice(0, 6), [200, 400, 800, 800, 600, 700])
  assert.ok(most! <= 730 && failed! > 730 && failed! - most! <= 0.08 * failed!, `${most} to ${failed}`)
})

test('every count is whole rooms, and rooms that leave no count between end the search', async () => {
  const { tried, most, failed } = await search(130, { first: 200, unit: 100, last: 4000, within: 0.01 })
  assert.equal([most, failed], [100, 200])
  assert.ok(tried.every(count => count % 100 === 0))
})

test('a machine without a limit is tried up to the most, one that holds nothing down to one room', async () => {
  assert.equal(await search(1e9, { first: 200, unit: 3, last: 3999, within: 0.1 }), {
    tried: [201, 402, 804, 1608, 3216, 3999],
    most: 3999,
    failed: null,
  })
  const nothing = await search(0, { first: 200, unit: 3, last: 3999, within: 0.1 })
  assert.is(nothing.most, null)
  assert.is(nothing.failed, 3)
})

test('a count that fails once and then holds is held: others use the machine too', async () => {
  let isBusy = true
  const found = await findMost({ first: 10, unit: 1, last: 10, within: 0.1 }, async count => {
    const holds = !isBusy
    isBusy = false
    return { holds, result: count }
  })
  assert.is(found.most?.count, 10)
})

const measured = (more: object): LoadResult =>
  ({
    framesExpected: 100_000,
    framesHeard: 99_900,
    latencyMs: { count: 1, p50: 20, p95: 30, p99: 60, max: 90 },
    streams: null,
    paceLagMs: { count: 1, p50: 0, p95: 1, p99: 2, max: 9 },
    readLagMs: 20,
    ownCpuMs: 300,
    ...more,
  }) as LoadResult

test('p99 of 60 ms and one frame lost in a thousand hold, more does not', () => {
  assert.is(judge(measured({})).holds, true)
  const slow = judge(measured({ latencyMs: { count: 1, p50: 20, p95: 30, p99: 60.1, max: 90 } }))
  assert.equal([slow.holds, slow.why, slow.isOfLoad], [false, 'p99 60 ms', false])
  const lossy = judge(measured({ framesHeard: 99_899 }))
  assert.equal([lossy.holds, lossy.why], [false, 'lost 0.10 %'])
  assert.is(judge(measured({ framesExpected: 0, framesHeard: 0, latencyMs: null })).holds, false)
})

test('forked calls are judged by what their receiver got', () => {
  const streams = { open: 10, framesExpected: 1000, framesReceived: 990, framesMissing: 0, framesBroken: 0 }
  const judged = judge(measured({ streams: { ...streams, latencyMs: { count: 1, p50: 3, p95: 4, p99: 70, max: 80 } } }))
  assert.is(judged.why, 'p99 70 ms, lost 1.00 %')
})

test('a number of legs of which some are refused does not hold, and that ended it', () => {
  const refused = refusedWith(503)
  assert.equal([refused.holds, refused.why, refused.isOfLoad], [false, 'calls refused with 503', false])
})

test('a limit is said to be of the load when that was late, or its core full', () => {
  const lost = { framesHeard: 90_000 }
  assert.is(judge(measured({ ...lost, ownCpuMs: 900 })).isOfLoad, true)
  assert.is(judge(measured({ ...lost, paceLagMs: { count: 1, p50: 0, p95: 9, p99: 11, max: 20 } })).isOfLoad, true)
  assert.is(judge(measured({ ...lost, readLagMs: 900 })).isOfLoad, true)
  assert.is(judge(measured({ ownCpuMs: 900 })).isOfLoad, false)
})

test.run()
