import { buffer } from 'node:stream/consumers'
import * as assert from 'uvu/assert'
import { insertParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import type { JobRunner } from '../../../control/kernel/jobs/runner.ts'
import { type SendMail, smtpMailer } from '../../../control/kernel/mail/mail.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { lastPeriod, nextRun } from '../../../control/reports/period.ts'
import {
  artifactSize,
  MAX_ARTIFACT_BYTES,
  PieceWriter,
  readArtifact,
  removeArtifacts,
} from '../../../control/reports/pieces.ts'
import { reportRunHandler } from '../../../control/reports/run-job.ts'
import { startScheduledRuns } from '../../../control/reports/schedule.ts'
import { sweepReports } from '../../../control/reports/sweep.ts'
import { reportTable } from '../../../control/reports/table.ts'
import { buildJobs } from '../../../control/wiring/background.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { attachment, makeMailServer } from '../mail-server.ts'
import { APP_CONFIG, makeWholeApp, refusal, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/reports/reports')

const REPORT = { name: 'Calls', kind: 'calls', recipients: ['ann@example.com'] }

interface ReportsApp extends WholeApp {
  jobs: JobRunner
  /** Pieces of files that the database has of a run. */
  pieces(runId: string): Promise<number>
  /** Runs the report and all jobs that this makes due; the run as it then is. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  run(id: string, body?: object): Promise<any>
}

let mail: Awaited<ReturnType<typeof makeMailServer>>
/** Of all tests that do not move the clock: an app costs a second. */
let shared: ReportsApp
test.before(async () => {
  mail = await makeMailServer()
  shared = await makeReportsApp(mail.url)
})
test.beforeEach(() => {
  mail.mails.length = 0
})
test.after(async () => {
  await shared.close()
  await mail.close()
})

async function makeReportsApp(smtpUrl: string | null): Promise<ReportsApp> {
  const config = { ...APP_CONFIG, smtpUrl }
  const world = await makeWholeApp({ config })
  const jobs = buildJobs({ store: world.store, config, vault: VAULT, now: world.clock.now, log: silent })
  return {
    ...world,
    jobs,
    pieces: async runId => {
      const rows = world.store.db.selectFrom('report_artifacts').select('position').where('run_id', '=', runId)
      return (await rows.execute()).length
    },
    run: async (id, body) => {
      const queued = await world.live(`POST /v1/reports/${id}/run`, body)
      assert.equal([queued.status, queued.body.status, queued.body.finished_at], [201, 'queued', null], queued.text)
      await jobs.runDue()
      return (await world.live(`GET /v1/reports/${id}/runs/${queued.body.id}`)).body
    },
    close: async () => {
      await jobs.close()
      await world.close()
    },
  }
}

async function addCall(world: WholeApp, at: string, from: string): Promise<string> {
  const callId = newId('call')
  await world.store.transaction(trx =>
    insertParty(
      trx,
      { organisationId: world.ours.organisationId, livemode: true },
      {
        callId,
        legId: newId('participant'),
        direction: 'inbound',
        to: '1000',
        from,
        target: 'park',
        roomId: null,
        connectionId: null,
        metadata: {},
        role: 'member',
        muted: false,
      },
      at,
    ),
  )
  return callId
}

test('a report is created with what it shows, when, as what and for whom', async () => {
  const { live } = shared
  const made = await live('POST /v1/reports', REPORT)
  assert.is(made.status, 201)
  assert.match(made.body.id, /^rpt_/)
  assert.equal(
    { ...made.body, id: '' },
    {
      id: '',
      object: 'report',
      livemode: true,
      ...REPORT,
      period: 'day',
      schedule: null,
      next_run_at: null,
      formats: { csv: true, pdf: true },
      created: '2026-11-21T10:00:00.000Z',
    },
  )
  assert.equal((await live(`GET /v1/reports/${made.body.id}`)).body, made.body)
  assert.equal((await live('GET /v1/reports?limit=1')).body.data, [made.body])
  const refused = async (more: object) => refusal(await live('POST /v1/reports', { ...REPORT, ...more }))
  assert.equal(await refused({ recipients: ['x'] }), [400, 'recipients[0]', undefined])
  assert.equal(await refused({ kind: 'weather' }), [400, 'kind', undefined])
  assert.equal(await refused({ formats: { csv: false, pdf: false } }), [400, 'formats', undefined])
  assert.equal(await refused({ name: 'a\nBcc: b@example.com' }), [400, 'name', undefined])
})

test("the mail names the days of the period in the organisation's time zone, the last one included", async () => {
  const { live, run } = shared
  await live('PATCH /v1/organisation', { timezone: 'Asia/Jerusalem' })
  const { id } = (await live('POST /v1/reports', { ...REPORT, period: 'month', recipients: ['tel@example.com'] })).body
  const { period_from, period_to } = await run(id)
  assert.equal([period_from, period_to], ['2026-09-30T21:00:00.000Z', '2026-10-31T22:00:00.000Z'])
  const sent = mail.mails.find(({ to }) => to === 'tel@example.com')
  assert.match(sent!.text, /^Subject: Calls: 2026-10-01 to 2026-10-31\r?$/m)
  await live('PATCH /v1/organisation', { timezone: 'UTC' })
  mail.mails.length = 0
})

test('a run mails the rows of the last whole period as CSV and PDF to each recipient', async () => {
  const world = shared
  const { live, events, run } = world
  await addCall(world, '2026-11-19T23:59:59.999Z', '+15550001')
  const first = await addCall(world, '2026-11-20T00:00:00.000Z', '+15550002')
  const second = await addCall(world, '2026-11-20T23:59:59.999Z', '=HYPERLINK("http://x")')
  await addCall(world, '2026-11-21T00:00:00.000Z', '+15550003')
  const recipients = ['ann@example.com', 'bob@example.com']
  const { id } = (await live('POST /v1/reports', { ...REPORT, recipients })).body
  const made = await run(id)
  assert.match(made.id, /^rptrun_/)
  const expected = {
    object: 'report_run',
    livemode: true,
    report_id: id,
    status: 'sent',
    trigger: 'manual',
    period_from: '2026-11-20T00:00:00.000Z',
    period_to: '2026-11-21T00:00:00.000Z',
    started_at: '2026-11-21T10:00:00.000Z',
    finished_at: '2026-11-21T10:00:00.000Z',
    error: null,
    artifacts: { csv: true, pdf: true },
    recipients,
    deliveries: recipients.map(email => ({ email, status: 'sent', error: null })),
  }
  assert.equal({ ...made, id: '' }, { id: '', ...expected })
  assert.equal((await events('report.run.completed')).at(-1), { object: made })
  assert.equal(mail.mails.map(({ from, to }) => [from, to]).sort(), [
    ['reports@tandem.test', 'ann@example.com'],
    ['reports@tandem.test', 'bob@example.com'],
  ])
  const [sent] = mail.mails
  assert.match(sent!.text, /^Subject: Calls: 2026-11-20\r?$/m)
  assert.is(
    attachment(sent!, 'text/csv').toString(),
    [
      '\ufeffcall_id,created,direction,from,to,status,ended_reason,duration_s,queue_id,user_id',
      `${first},2026-11-20T00:00:00.000Z,inbound,+15550002,1000,ringing,,,,`,
      `${second},2026-11-20T23:59:59.999Z,inbound,"'=HYPERLINK(""http://x"")",1000,ringing,,,,`,
      '',
    ].join('\r\n'),
  )
  const pdf = attachment(sent!, 'application/pdf')
  assert.is(pdf.subarray(0, 5).toString(), '%PDF-')
  assert.match(pdf.subarray(-10).toString(), '%%EOF')
})

test('a period is whole by the clock of the organisation, or the one that is asked for', async () => {
  const { live } = shared
  await live('PATCH /v1/organisation', { timezone: 'America/New_York' })
  const period = async (unit: string, body?: object) => {
    const { id } = (await live('POST /v1/reports', { ...REPORT, period: unit })).body
    const run = await live(`POST /v1/reports/${id}/run`, body)
    return run.status === 201 ? [run.body.period_from, run.body.period_to] : refusal(run)
  }
  assert.equal(await period('day'), ['2026-11-20T05:00:00.000Z', '2026-11-21T05:00:00.000Z'])
  assert.equal(await period('week'), ['2026-11-09T05:00:00.000Z', '2026-11-16T05:00:00.000Z'])
  // The clocks went back on 1 November, after its midnight.
  assert.equal(await period('month'), ['2026-10-01T04:00:00.000Z', '2026-11-01T04:00:00.000Z'])
  const asked = { period_from: '2026-11-01T00:00:00+02:00', period_to: '2026-11-02T00:00:00Z' }
  assert.equal(await period('day', asked), ['2026-10-31T22:00:00.000Z', '2026-11-02T00:00:00.000Z'])
  assert.equal(await period('day', { period_from: asked.period_from }), [400, 'period_to', undefined])
  assert.equal(await period('day', { ...asked, period_to: asked.period_from }), [400, 'period_to', undefined])
  await live('PATCH /v1/organisation', { timezone: 'UTC' })
})

test('a delivery that fails is recorded with the reason, and the others are made', async () => {
  const { live, events, run } = shared
  const runFor = async (...recipients: string[]) =>
    run((await live('POST /v1/reports', { ...REPORT, recipients })).body.id)
  const some = await runFor('nobody@example.com', 'ann@example.com')
  assert.is(some.status, 'partially_sent')
  assert.match(some.error, 'No such mailbox')
  assert.equal(
    some.deliveries.map(({ status }: { status: string }) => status),
    ['failed', 'sent'],
  )
  assert.is((await runFor('nobody@example.com')).status, 'failed')
  assert.equal((await events('report.run.completed')).at(-1), { object: some })
  assert.is((await events('report.run.failed')).length, 1)
})

test('a run without a mail server, or with one that is away, fails and says why', async () => {
  for (const [url, reason] of [
    [null, /TANDEM_SMTP_URL/],
    ['smtp://127.0.0.1:1', /ECONNREFUSED/],
  ] as const) {
    const { live, events, clock, jobs, run, close } = await makeReportsApp(url)
    const { id } = (await live('POST /v1/reports', REPORT)).body
    const first = await run(id)
    // A server that is away may come back: it is tried four times.
    assert.is(first.status, url === null ? 'failed' : 'running')
    for (let tries = 1; tries < 4; tries++) {
      clock.advance(10 * 60_000)
      await jobs.runDue()
    }
    const over = (await live(`GET /v1/reports/${id}/runs/${first.id}`)).body
    assert.is(over.status, 'failed')
    assert.match(over.error, reason)
    assert.match(over.deliveries[0].error, reason)
    assert.equal(await events('report.run.failed'), [{ object: over }])
    await close()
  }
})

test('test mode mails nobody', async () => {
  const { test: inTest, jobs } = shared
  const { id } = (await inTest('POST /v1/reports', REPORT)).body
  const queued = (await inTest(`POST /v1/reports/${id}/run`)).body
  await jobs.runDue()
  const { body } = await inTest(`GET /v1/reports/${id}/runs/${queued.id}`)
  assert.equal([body.status, body.deliveries[0].status, body.livemode], ['completed', 'suppressed', false])
  assert.equal(mail.mails, [])
})

test('a report without recipients is made for the download, without a mail server too', async () => {
  const { live, run, close } = await makeReportsApp(null)
  const { recipients: _, ...report } = REPORT
  const made = (await live('POST /v1/reports', report)).body
  assert.equal(made.recipients, [])
  const { id, status, error, deliveries } = await run(made.id)
  assert.equal([status, error, deliveries], ['completed', null, []])
  assert.match((await live(`GET /v1/reports/${made.id}/runs/${id}/csv`)).text, 'call_id,created')
  assert.equal((await live(`PATCH /v1/reports/${made.id}`, { recipients: ['ann@example.com'] })).body.recipients, [
    'ann@example.com',
  ])
  assert.equal((await live(`PATCH /v1/reports/${made.id}`, { recipients: [] })).body.recipients, [])
  await close()
})

test('a queues report has a row for each queue there was, with the figures of the calls that left its line in the period', async () => {
  const { live, run, store, ours } = shared
  const queue = (await live('POST /v1/queues', { name: 'Support, first' })).body
  const quiet = (await live('POST /v1/queues', { name: 'Quiet' })).body
  const visits: [string, number, string][] = [
    ['answered', 60_000, '2026-11-20T23:59:59.999Z'],
    ['answered', 20_000, '2026-11-21T00:00:00.000Z'],
    ['answered', 40_001, '2026-11-21T12:00:00.000Z'],
    ['abandoned', 5000, '2026-11-21T23:59:59.999Z'],
    ['max_wait', 9000, '2026-11-21T13:00:00.000Z'],
    ['abandoned', 1, '2026-11-22T00:00:00.000Z'],
  ]
  for (const [outcome, wait_ms, left_at] of visits) {
    const call_id = await addCall(shared, '2026-01-01T00:00:00.000Z', '+15550009')
    const visit = { queue_id: queue.id, call_id, outcome, wait_ms, left_at }
    await forTenant(store.db, { organisationId: ours.organisationId, livemode: true }).insert('queue_visits', visit)
  }
  const { id } = (await live('POST /v1/reports', { ...REPORT, kind: 'queues', formats: { pdf: false } })).body
  const period = { period_from: '2026-11-21T00:00:00Z', period_to: '2026-11-22T00:00:00Z' }
  assert.equal((await run(id, period)).artifacts, { csv: true, pdf: false })
  const csv = attachment(mail.mails[0]!, 'text/csv').toString()
  assert.equal(csv.slice(1).trimEnd().split('\r\n'), [
    'queue_id,name,answered,abandoned,other,average_wait_ms,service_level_pct',
    `${queue.id},"Support, first",2,1,1,30001,33.3`,
    `${quiet.id},Quiet,0,0,0,,`,
  ])
})

test('the runs of a report are listed newest first; an unknown ID answers 404 resource_missing', async () => {
  const { live, run: runOf } = shared
  const [one, other] = [await live('POST /v1/reports', REPORT), await live('POST /v1/reports', REPORT)]
  const [first, second] = [await runOf(one.body.id), await runOf(one.body.id)]
  await runOf(other.body.id)
  const path = `/v1/reports/${one.body.id}/runs`
  const { body } = await live(`GET ${path}`)
  assert.equal(body, { object: 'list', data: [second, first], has_more: false, next_cursor: null, url: path })
  assert.equal((await live(`GET ${path}?limit=1`)).body.data, [second])
  for (const line of ['GET /v1/reports/rpt_none/runs', 'GET /v1/reports/rpt_none', 'POST /v1/reports/rpt_none/run']) {
    const missing = await live(line)
    assert.equal([missing.status, missing.body.error.code], [404, 'resource_missing'])
  }
})

test('a delivery that the server puts off is tried again, and nobody gets a mail twice', async () => {
  const { live, clock, jobs, run, close } = await makeReportsApp(mail.url)
  const recipients = ['ann@example.com', 'busy@example.com', 'bob@example.com']
  const { id } = (await live('POST /v1/reports', { ...REPORT, recipients })).body
  const first = await run(id)
  assert.equal([first.status, first.deliveries.length], ['running', 2])
  clock.advance(60_000)
  await jobs.runDue()
  clock.advance(60 * 60_000)
  await jobs.runDue()
  clock.advance(60 * 60_000)
  await jobs.runDue()
  const over = (await live(`GET /v1/reports/${id}/runs/${first.id}`)).body
  assert.is(over.status, 'partially_sent')
  assert.equal(
    over.deliveries.map(({ email, status }: { email: string; status: string }) => [email, status]),
    [
      ['ann@example.com', 'sent'],
      ['busy@example.com', 'failed'],
      ['bob@example.com', 'sent'],
    ],
  )
  assert.equal(mail.mails.map(({ to }) => to).sort(), ['ann@example.com', 'bob@example.com'])
  await close()
})

test('artifacts are downloaded whole or in part, by their own organisation and mode only', async () => {
  const { app, live, test: inTest, theirs, run } = shared
  const { id } = (await live('POST /v1/reports', { ...REPORT, formats: { pdf: true } })).body
  const { id: runId } = await run(id)
  const path = `/v1/reports/${id}/runs/${runId}`
  const csv = await live(`GET ${path}/csv`)
  assert.equal([csv.status, csv.headers['content-type']], [200, 'text/csv; charset=utf-8'])
  assert.match(csv.text, /^\ufeffcall_id,created,/)
  assert.is(Number(csv.headers['content-length']), Buffer.byteLength(csv.text))
  const part = await live(`GET ${path}/csv`, undefined, { headers: { range: 'bytes=3-9' } })
  assert.equal([part.status, part.text], [206, 'call_id'])
  const beyond = await live(`GET ${path}/csv`, undefined, { headers: { range: 'bytes=100000-' } })
  assert.is(beyond.status, 416)
  const pdf = await live(`GET ${path}/pdf`)
  assert.equal([pdf.status, pdf.headers['content-type'], pdf.text.slice(0, 5)], [200, 'application/pdf', '%PDF-'])
  for (const line of [`GET ${path}`, `GET ${path}/csv`, `GET ${path}/pdf`]) {
    assert.is((await inTest(line)).status, 404)
    assert.is((await live(line, undefined, { key: theirs.keys.live })).status, 404)
    assert.is((await app.inject({ url: line.slice(4) })).statusCode, 401)
  }
  const other = (await live('POST /v1/reports', { ...REPORT, formats: { pdf: false } })).body.id
  assert.equal(refusal(await live(`GET /v1/reports/${other}/runs/${runId}`)), [404, 'run_id', undefined])
  const onlyCsv = await run(other)
  assert.is((await live(`GET /v1/reports/${other}/runs/${onlyCsv.id}/pdf`)).status, 404)
})

test(
  'a report of many rows is read in pages, each row once and in order',
  async () => {
    const world = shared
    const tenant = { organisationId: world.ours.organisationId, livemode: true }
    const first = await addCall(world, '2020-11-20T00:00:00.000Z', '+15550002')
    const row = await world.store.db.selectFrom('calls').selectAll().where('id', '=', first).executeTakeFirstOrThrow()
    // Many at the same millisecond, across the border of a page.
    const rows = Array.from({ length: 2500 }, (_, i) => ({
      ...row,
      id: `call_${String(i).padStart(5, '0')}`,
      created:
        i < 700 ? '2020-11-20T01:00:00.000Z' : i < 1800 ? '2020-11-20T02:00:00.000Z' : '2020-11-20T03:00:00.000Z',
    }))
    for (let from = 0; from < rows.length; from += 250) {
      await world.store.db
        .insertInto('calls')
        .values(rows.slice(from, from + 250))
        .execute()
    }
    const ids: string[] = []
    const period = { from: '2020-11-20T00:00:00.000Z', to: '2020-11-21T00:00:00.000Z' }
    for await (const [id] of reportTable(world.store.db, tenant, 'calls', period).rows) ids.push(id!)
    assert.equal(ids, [first, ...rows.map(({ id }) => id)])
    const { id } = (await world.live('POST /v1/reports', REPORT)).body
    const run = await world.run(id, { period_from: period.from, period_to: period.to })
    const { text } = await world.live(`GET /v1/reports/${id}/runs/${run.id}/csv`)
    assert.is(text.trimEnd().split('\r\n').length, 2502)
  },
  { timeoutMs: 60_000 },
)

test("a scheduled report runs by itself at its time by the organisation's clock, and once for all that was missed", async () => {
  const { store, clock, live, jobs, close } = await makeReportsApp(null)
  await live('PATCH /v1/organisation', { timezone: 'America/New_York' })
  const made = (await live('POST /v1/reports', { ...REPORT, schedule: '30 7 * * *' })).body
  assert.is(made.next_run_at, '2026-11-21T12:30:00.000Z')
  const runs = async () => (await live(`GET /v1/reports/${made.id}/runs`)).body.data
  const look = async () => {
    await startScheduledRuns(store, clock.now())
    await jobs.runDue()
    return (await runs()).length
  }
  assert.is(await look(), 0)
  clock.advance(2.5 * 60 * 60_000)
  await Promise.all([startScheduledRuns(store, clock.now()), startScheduledRuns(store, clock.now())])
  assert.is(await look(), 1)
  const [first] = await runs()
  assert.equal(
    [first.trigger, first.period_from, first.period_to],
    ['schedule', '2026-11-20T05:00:00.000Z', '2026-11-21T05:00:00.000Z'],
  )
  clock.advance(3 * 24 * 60 * 60_000)
  assert.is(await look(), 2)
  assert.is((await live(`GET /v1/reports/${made.id}`)).body.next_run_at, '2026-11-25T12:30:00.000Z')
  await live('PATCH /v1/organisation', { timezone: 'Asia/Tokyo' })
  assert.is(await look(), 2)
  assert.is((await live(`GET /v1/reports/${made.id}`)).body.next_run_at, '2026-11-24T22:30:00.000Z')
  await live(`PATCH /v1/reports/${made.id}`, { schedule: null })
  clock.advance(7 * 24 * 60 * 60_000)
  assert.is(await look(), 2)
  await close()
})

test('days follow each other without a gap where the clock skips midnight in spring', () => {
  // Cairo goes from Thursday 24:00 on to Friday 01:00, on 30 April 2027.
  assert.equal(lastPeriod('day', new Date('2027-04-29T12:00:00Z'), 'Africa/Cairo'), {
    from: '2027-04-27T22:00:00.000Z',
    to: '2027-04-28T22:00:00.000Z',
  })
  assert.equal(lastPeriod('day', new Date('2027-04-30T12:00:00Z'), 'Africa/Cairo'), {
    from: '2027-04-28T22:00:00.000Z',
    to: '2027-04-29T22:00:00.000Z',
  })
})

test('days follow each other without a gap where the clock shows midnight twice in autumn', () => {
  // In the Azores it is 00:00 to 01:00 twice on 25 October 2026, from 00:00 UTC on.
  const day = (now: string) => lastPeriod('day', new Date(now), 'Atlantic/Azores')
  assert.equal(day('2026-10-25T00:30:00Z'), { from: '2026-10-24T00:00:00.000Z', to: '2026-10-25T00:00:00.000Z' })
  assert.equal(day('2026-10-25T12:00:00Z'), { from: '2026-10-24T00:00:00.000Z', to: '2026-10-25T00:00:00.000Z' })
  assert.equal(day('2026-10-26T12:00:00Z'), { from: '2026-10-25T00:00:00.000Z', to: '2026-10-26T01:00:00.000Z' })
})

test('a time that the clock skips in spring comes when it goes on, one that it shows twice comes once', () => {
  const next = (schedule: string, after: string) =>
    nextRun(schedule, 'America/New_York', new Date(after))?.toISOString()
  assert.is(next('30 2 * * *', '2026-03-07T12:00:00Z'), '2026-03-08T07:00:00.000Z')
  assert.is(next('30 2 * * *', '2026-03-08T07:00:00Z'), '2026-03-09T06:30:00.000Z')
  assert.is(next('30 1 * * *', '2026-11-01T00:00:00Z'), '2026-11-01T05:30:00.000Z')
  assert.is(next('30 1 * * *', '2026-11-01T05:30:00Z'), '2026-11-02T06:30:00.000Z')
})

test('a schedule is cron with five fields, at most once an hour, and comes some day', async () => {
  const { live } = shared
  const refused = async (schedule: string) => refusal(await live('POST /v1/reports', { ...REPORT, schedule }))
  for (const bad of [
    '* * * * *',
    '*/5 * * * *',
    '0 7 * *',
    '0 7 * * * *',
    '0 25 * * *',
    '0 0 31 2 *',
    '@daily',
    '1,2 * * * *',
  ]) {
    assert.equal(await refused(bad), [400, 'schedule', undefined], bad)
  }
})

test('a report is changed by what is sent; deleting it takes its runs and files with it', async () => {
  const { live, run, pieces } = shared
  const { id } = (await live('POST /v1/reports', REPORT)).body
  const changed = await live(`PATCH /v1/reports/${id}`, { recipients: ['bob@example.com'], formats: { pdf: false } })
  assert.equal([changed.body.recipients, changed.body.formats], [['bob@example.com'], { csv: true, pdf: false }])
  assert.equal((await live(`GET /v1/reports/${id}`)).body, changed.body)
  assert.equal(refusal(await live(`PATCH /v1/reports/${id}`, { formats: { csv: false } })), [400, 'formats', undefined])
  const { id: runId } = await run(id)
  assert.is(await pieces(runId), 1)
  assert.equal((await live(`DELETE /v1/reports/${id}`)).body, { object: 'report', id, deleted: true, livemode: true })
  assert.is(await pieces(runId), 0)
  assert.is((await live(`GET /v1/reports/${id}/runs/${runId}`)).status, 404)
})

test('a file of many pieces is served by any node as it was made, whole and in part', async () => {
  const { store, ours } = shared
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const name = { runId: 'rptrun_pieces', format: 'csv' as const }
  const bytes = Buffer.alloc(700_000, 0)
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 2_654_435_761) >>> 24
  const writer = new PieceWriter(store.db, tenant, name)
  for (let at = 0; at < bytes.length; at += 99_991) await writer.write(bytes.subarray(at, at + 99_991))
  await writer.end()
  assert.is(await artifactSize(store.db, tenant, name), bytes.length)
  const read = (first?: number, last?: number) => buffer(readArtifact(store.db, tenant, name, first, last))
  assert.ok((await read()).equals(bytes))
  for (const [first, last] of [
    [0, 0],
    [262_143, 262_144],
    [262_144, 524_287],
    [500_000, 699_999],
    [699_999, 699_999],
  ] as const) {
    assert.ok((await read(first, last)).equals(bytes.subarray(first, last + 1)), `${first} to ${last}`)
  }
  const elsewhere = { ...tenant, livemode: false }
  assert.is(await artifactSize(store.db, elsewhere, name), null)
  await removeArtifacts(store.db, tenant, name.runId)
  assert.is(await artifactSize(store.db, tenant, name), null)
})

test('while a long file is sent everybody else has their turn', async () => {
  const { store, ours } = shared
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const name = { runId: 'rptrun_turns', format: 'csv' as const }
  const writer = new PieceWriter(store.db, tenant, name)
  await writer.write(Buffer.alloc(10 * 256 * 1024, 1))
  await writer.end()
  let others = 0
  const timer = setImmediate(function turn() {
    others++
    if (!read) setImmediate(turn)
  })
  let read = false
  await buffer(readArtifact(store.db, tenant, name))
  read = true
  clearImmediate(timer)
  assert.ok(others >= 9, `${others} turns between ten pieces`)
  await removeArtifacts(store.db, tenant, name.runId)
})

test('a file that grows too large is refused with what to do about it', async () => {
  const { store, ours } = shared
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const writer = new PieceWriter(store.db, tenant, { runId: 'rptrun_large', format: 'csv' })
  await writer.write(Buffer.alloc(MAX_ARTIFACT_BYTES))
  const error = await writer
    .write(Buffer.alloc(1))
    .then(() => writer.end())
    .catch((reason: Error) => reason.message)
  assert.match(String(error), 'choose a shorter period')
  await removeArtifacts(store.db, tenant, 'rptrun_large')
})

test('a report has at most twenty runs that are not over', async () => {
  const { live, jobs } = shared
  const { id } = (await live('POST /v1/reports', { ...REPORT, formats: { pdf: false } })).body
  for (let i = 0; i < 20; i++) assert.is((await live(`POST /v1/reports/${id}/run`)).status, 201)
  assert.equal(refusal(await live(`POST /v1/reports/${id}/run`)), [409, null, 'too_many_runs'])
  await jobs.runDue()
  assert.is((await live(`POST /v1/reports/${id}/run`)).status, 201)
})

test('pieces without a run are swept, artifacts go after 90 days, and a run that no job will end is failed', async () => {
  const { store, clock, live, events, run, pieces, close } = await makeReportsApp(null)
  const { id } = (await live('POST /v1/reports', REPORT)).body
  const { id: runId } = await run(id)
  const piece = await store.db
    .selectFrom('report_artifacts')
    .selectAll()
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  await store.db
    .insertInto('report_artifacts')
    .values({ ...piece, run_id: 'rptrun_gone' })
    .execute()
  const made = await pieces(runId)
  const deps = { store, now: clock.now }
  await sweepReports(deps)
  assert.equal([await pieces('rptrun_gone'), await pieces(runId)], [0, made])
  const stuck = (await live(`POST /v1/reports/${id}/run`)).body.id
  clock.advance(2 * 60 * 60_000)
  await sweepReports(deps)
  assert.is((await live(`GET /v1/reports/${id}/runs/${stuck}`)).body.status, 'queued')
  await store.db.deleteFrom('jobs').execute()
  await sweepReports(deps)
  const failed = (await live(`GET /v1/reports/${id}/runs/${stuck}`)).body
  assert.equal([failed.status, failed.error], ['failed', 'The run was interrupted.'])
  assert.equal((await events('report.run.failed')).at(-1), { object: failed })
  clock.advance(91 * 24 * 60 * 60_000)
  await sweepReports(deps)
  assert.is(await pieces(runId), 0)
  assert.equal((await live(`GET /v1/reports/${id}/runs/${runId}`)).body.artifacts, { csv: false, pdf: false })
  assert.is((await live(`GET /v1/reports/${id}/runs/${runId}/csv`)).status, 404)
  await close()
})

test('a run that breaks is tried again, and failed with the reason when it never works', async () => {
  const { store, clock, live, events, jobs, run, close } = await makeReportsApp(null)
  await store.db.schema.alterTable('report_artifacts').renameTo('report_artifacts_elsewhere').execute()
  const { id } = (await live('POST /v1/reports', REPORT)).body
  const { id: runId, status } = await run(id)
  assert.is(status, 'running')
  for (let tries = 1; tries < 4; tries++) {
    clock.advance(10 * 60_000)
    await jobs.runDue()
  }
  const over = (await live(`GET /v1/reports/${id}/runs/${runId}`)).body
  assert.equal([over.status, over.error], ['failed', 'The report could not be made.'])
  assert.equal(await events('report.run.failed'), [{ object: over }])
  // The database is used again.
  await store.db.schema.alterTable('report_artifacts_elsewhere').renameTo('report_artifacts').execute()
  await close()
})

test('a run whose process ends in the middle goes on in the next one: nobody gets its mail twice', async () => {
  const { store, clock, ours, live, jobs } = shared
  const recipients = ['ann@example.com', 'bob@example.com', 'cid@example.com']
  const { id } = (await live('POST /v1/reports', { ...REPORT, recipients })).body
  const { id: run_id } = (await live(`POST /v1/reports/${id}/run`)).body
  const ended = new AbortController()
  const smtp = smtpMailer(mail.url)
  const sendMail: SendMail = async one => {
    await smtp(one)
    if (one.to === 'bob@example.com') ended.abort()
  }
  const job = { tenant: { organisationId: ours.organisationId, livemode: true }, run_id, request: null }
  const attempt = {
    id: '1',
    attempt: 1,
    signal: ended.signal,
    isLast: () => false,
    finish: async () => assert.unreachable(),
  }
  const first = reportRunHandler({ store, now: clock.now, sendMail })
  const error = await first.run(job, attempt).catch((reason: Error) => reason.name)
  assert.is(error, 'AbortError')
  assert.is((await live(`GET /v1/reports/${id}/runs/${run_id}`)).body.status, 'running')
  await jobs.runDue()
  assert.is((await live(`GET /v1/reports/${id}/runs/${run_id}`)).body.status, 'sent')
  const mine = mail.mails.filter(({ text }) => text.includes(`Message-ID: <${run_id}.`))
  assert.equal(mine.map(({ to }) => to).sort(), recipients)
})

test.run()
