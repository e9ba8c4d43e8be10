import * as assert from 'uvu/assert'
import type { RoomSchedule } from '../../../../control/calls/settings.ts'
import { isJoinable } from '../../../../control/calls/steps/join-window.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/calls/steps/join-window')

const schedule = (recurrence: RoomSchedule['recurrence'], more: Partial<RoomSchedule> = {}): RoomSchedule => ({
  start_at: '2026-11-02T09:00:00Z',
  end_at: '2026-11-02T10:00:00Z',
  recurrence,
  timezone: 'UTC',
  ...more,
})
const at = (time: string, of: RoomSchedule): boolean => isJoinable(of, new Date(time))

test('a room with start_at null is always open', () => {
  assert.ok(at('2030-01-01T00:00:00Z', schedule('none', { start_at: null, end_at: null })))
})

test('a room can be joined from 15 minutes before an occurrence until 2 hours after it ends', () => {
  const once = schedule('none')
  assert.not(at('2026-11-02T08:44:59Z', once))
  assert.ok(at('2026-11-02T08:45:00Z', once))
  assert.ok(at('2026-11-02T12:00:00Z', once))
  assert.not(at('2026-11-02T12:00:01Z', once))
  assert.not(at('2026-11-03T09:00:00Z', once))
})

test('daily and weekly rooms open again, and never before their first occurrence', () => {
  assert.ok(at('2027-03-05T09:30:00Z', schedule('daily')))
  assert.not(at('2027-03-05T12:30:00Z', schedule('daily')))
  assert.not(at('2026-11-01T09:30:00Z', schedule('daily')))
  assert.ok(at('2026-11-16T09:30:00Z', schedule('weekly')))
  assert.not(at('2026-11-17T09:30:00Z', schedule('weekly')))
})

test('weekdays skips Friday and Saturday', () => {
  const open = ['01', '02', '03', '04', '05', '06', '07'].map(day =>
    at(`2026-12-${day}T09:30:00Z`, schedule('weekdays')),
  )
  // 4 December 2026 is a Friday.
  assert.equal(open, [true, true, true, false, false, true, true])
})

test('an occurrence keeps its wall-clock time across a change to summer time', () => {
  const berlin = schedule('daily', { timezone: 'Europe/Berlin' })
  assert.ok(at('2026-11-20T08:45:00Z', berlin))
  assert.ok(at('2027-06-20T07:45:00Z', berlin), '10:00 in Berlin is 08:00 UTC in summer')
  assert.not(at('2027-06-20T07:44:00Z', berlin))
})

test('an occurrence over a change of the clocks ends at its wall-clock time too', () => {
  // From 01:00 to 04:00 in Berlin; on 28 March 2027 that night has an hour less.
  const night = schedule('daily', {
    start_at: '2026-11-02T00:00:00Z',
    end_at: '2026-11-02T03:00:00Z',
    timezone: 'Europe/Berlin',
  })
  assert.ok(at('2027-03-28T04:00:00Z', night), '04:00 in Berlin is 02:00 UTC, and two hours more are left to join')
  assert.not(at('2027-03-28T04:00:01Z', night))
  assert.ok(at('2027-03-27T05:00:00Z', night))
})

test('weekdays are days of the time zone: a Thursday evening in New York is a Friday in UTC', () => {
  const evening = schedule('weekdays', {
    start_at: '2026-11-03T01:00:00Z',
    end_at: '2026-11-03T02:00:00Z',
    timezone: 'America/New_York',
  })
  assert.ok(at('2026-11-06T01:30:00Z', evening), 'Thursday, 20:30')
  assert.not(at('2026-11-07T01:30:00Z', evening), 'Friday, 20:30')
  assert.not(at('2026-11-08T01:30:00Z', evening), 'Saturday, 20:30')
  assert.ok(at('2026-11-09T01:30:00Z', evening), 'Sunday, 20:30')
})

test('a weekly occurrence of several days is open on each of them', () => {
  const days = schedule('weekly', { end_at: '2026-11-05T10:00:00Z' })
  assert.ok(at('2026-11-18T09:00:00Z', days))
  assert.ok(at('2026-11-19T12:00:00Z', days))
  assert.not(at('2026-11-19T12:00:01Z', days))
  assert.not(at('2026-11-22T12:00:00Z', days))
  assert.ok(at('2026-11-23T08:45:00Z', days))
})

test(
  'a schedule whose occurrence lasts for thousands of years is answered at once',
  () => {
    const endless = schedule('daily', { start_at: '0001-01-01T00:00:00Z', end_at: '9999-01-01T00:00:00Z' })
    assert.ok(at('2026-11-02T00:00:00Z', endless))
  },
  { timeoutMs: 1000 },
)

test.run()
