import * as assert from 'uvu/assert'
import { retryAfterMs, retryDelayMs } from '../../../control/webhooks/schedule.ts'
import { suite } from '../../harness.ts'

const test = suite('control/webhooks/schedule')

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const delays = (livemode: boolean) =>
  Array.from({ length: 12 }, (_, made) => retryDelayMs(livemode, made, 0.5, null)).filter(delay => delay !== null)

test('attempts at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h', () => {
  const hours = [2, 5, 10, 14, 20, 24].map(count => count * HOUR)
  assert.equal(delays(true), [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...hours])
})

test('in test mode at once, then after 1 min and 1 h', () => {
  assert.equal(delays(false), [0, MINUTE, HOUR])
})

test('with 20 % jitter to both sides', () => {
  assert.is(retryDelayMs(true, 4, 0, null), 1.6 * HOUR)
  assert.is(retryDelayMs(true, 4, 1, null), 2.4 * HOUR)
})

test('Retry-After delays an attempt, brings none forward, and ends at a day', () => {
  assert.is(retryDelayMs(true, 1, 0.5, 90 * SECOND), 90 * SECOND)
  assert.is(retryDelayMs(true, 4, 0.5, 90 * SECOND), 2 * HOUR)
  assert.is(retryDelayMs(true, 1, 0.5, 1000 * HOUR), 24 * HOUR)
  assert.is(retryDelayMs(true, 10, 0.5, 90 * SECOND), null)
})

test('Retry-After is a number of seconds or a date (RFC 9110 §10.2.3), anything else is none', () => {
  const now = new Date('2026-11-21T10:00:00.000Z')
  assert.is(retryAfterMs('120', now), 120 * SECOND)
  assert.is(retryAfterMs('Sat, 21 Nov 2026 10:01:00 GMT', now), MINUTE)
  assert.is(retryAfterMs('Sat, 21 Nov 2026 09:00:00 GMT', now), 0)
  for (const bad of [undefined, '', '-1', 'soon', '1e9', '99999999999', '2026-11-21'])
    assert.is(retryAfterMs(bad, now), null)
})

test.run()
