import * as assert from 'uvu/assert'
import { afterOpenMinutes, DAYS, nextOpen, type OpeningHours } from '../../../control/organisation/business-hours.ts'
import { suite } from '../../harness.ts'

const test = suite('control/organisation/business-hours')

const WEEK: OpeningHours = {
  weekly: DAYS.slice(0, 5).map(day => ({ day, open: '09:00', close: '17:00' })),
  holidays: ['2026-11-23'],
}
const berlin = { hours: WEEK, timezone: 'Europe/Berlin' }
const next = (hours: typeof berlin, from: string) => nextOpen(hours, new Date(from))?.toISOString() ?? null
const after = (hours: typeof berlin, from: string, minutes: number) =>
  afterOpenMinutes(hours, new Date(from), minutes)?.toISOString() ?? null

test('a time in business hours stays; any other moves to the next opening, in the time zone of the organisation', () => {
  assert.is(next(berlin, '2026-11-19T10:00:00Z'), '2026-11-19T10:00:00.000Z')
  assert.is(next(berlin, '2026-11-19T07:59:59Z'), '2026-11-19T08:00:00.000Z', '09:00 in Berlin')
  assert.is(next(berlin, '2026-11-19T08:00:00Z'), '2026-11-19T08:00:00.000Z', 'the first moment is open')
  assert.is(next(berlin, '2026-11-19T16:00:00Z'), '2026-11-20T08:00:00.000Z', 'the last one is not')
  assert.is(next(berlin, '2026-11-20T16:00:00Z'), '2026-11-24T08:00:00.000Z', 'over the weekend and a holiday')
})

test('business hours keep their wall clock when summer time begins', () => {
  assert.is(next(berlin, '2026-03-27T18:00:00Z'), '2026-03-30T07:00:00.000Z')
  assert.is(next({ ...berlin, timezone: 'America/New_York' }, '2026-03-08T12:00:00Z'), '2026-03-09T13:00:00.000Z')
})

test('a time that the clock skips in spring is when it goes on: nobody is open when the clock shows that they are closed', () => {
  const daily = (open: string, close: string, timezone = 'Europe/Berlin') => ({
    hours: { weekly: DAYS.map(day => ({ day, open, close })), holidays: [] },
    timezone,
  })
  // Berlin goes from 02:00 to 03:00 at 01:00 UTC.
  assert.is(next(daily('01:30', '02:30'), '2026-03-29T00:59:00Z'), '2026-03-29T00:59:00.000Z')
  assert.is(next(daily('01:30', '02:30'), '2026-03-29T01:15:00Z'), '2026-03-29T23:30:00.000Z', 'at 03:15')
  assert.is(next(daily('02:30', '12:00'), '2026-03-29T00:00:00Z'), '2026-03-29T01:00:00.000Z')
  assert.is(next(daily('02:00', '03:00'), '2026-03-29T00:00:00Z'), '2026-03-30T00:00:00.000Z', 'not on that day')
  assert.is(next(daily('00:00', '00:30', 'Africa/Cairo'), '2026-04-23T12:00:00Z'), '2026-04-24T21:00:00.000Z')
  assert.is(next(daily('02:15', '24:00', 'Australia/Lord_Howe'), '2026-10-03T15:00:00Z'), '2026-10-03T15:30:00.000Z')
})

test('minutes count only while the organisation is open', () => {
  assert.is(after(berlin, '2026-11-19T10:00:00Z', 30), '2026-11-19T10:30:00.000Z')
  assert.is(after(berlin, '2026-11-19T15:30:00Z', 60), '2026-11-20T08:30:00.000Z')
  assert.is(after(berlin, '2026-11-19T15:30:00Z', 30), '2026-11-19T16:00:00.000Z')
  assert.is(after(berlin, '2026-11-20T15:00:00Z', 8 * 60 + 90), '2026-11-25T08:30:00.000Z')
})

test('spans that overlap or touch are one', () => {
  const weekly = [
    { day: 'monday' as const, open: '12:00', close: '24:00' },
    { day: 'monday' as const, open: '08:00', close: '13:00' },
  ]
  const hours = { hours: { weekly, holidays: [] }, timezone: 'UTC' }
  assert.is(after(hours, '2026-11-23T00:00:00Z', 16 * 60), '2026-11-24T00:00:00.000Z')
  assert.is(after(hours, '2026-11-23T00:00:00Z', 16 * 60 + 1), '2026-11-30T08:01:00.000Z')
})

test('without hours it is always open, and an empty week is never', () => {
  assert.is(next({ hours: null, timezone: 'UTC' } as never, '2026-11-22T03:00:00Z'), '2026-11-22T03:00:00.000Z')
  assert.is(next({ hours: { weekly: [], holidays: [] }, timezone: 'UTC' }, '2026-11-22T03:00:00Z'), null)
  assert.is(after({ hours: { weekly: [], holidays: [] }, timezone: 'UTC' }, '2026-11-22T03:00:00Z', 1), null)
})

test.run()
