import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import * as assert from 'uvu/assert'
import { insertParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/ids.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal, type WholeApp } from '../whole-app.ts'

const test = suite('control/resources/reports')

const REPORT = { name: 'Calls', kind: 'calls', recipients: ['ann@example.com'] }

/** A mail server that keeps what it is given, and knows nobody called `nobody`. */
async function makeMailServer() {
  const mails: { from: string; to: string; text: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('nobody') ? Object.assign(new Error('No such mailbox'), { responseCode: 550 }) : null),
    onData: (stream, { envelope }, done) => {
      let text = ''
      stream.setEncoding('utf8')
      stream.on('data', chunk => {
        text += chunk
      })
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address).join(), text })
        done()
      })
    },
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    mails,
    url: `smtp://127.0.0.1:${port}?from=reports@tandem.test`,
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

const makeReportsApp = (smtpUrl: string | null): Promise<WholeApp> =>
  makeWholeApp({
    config: {
      allowPrivateUrls: [],
      dataDir: '/nowhere',
      httpHost: '127.0.0.1',
      httpPort: 8080,
      publicIp: null,
      sipHost: '127.0.0.1',
      smtpUrl,
    },
  })

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
        record: false,
        metadata: {},
        role: 'member',
        muted: false,
      },
      at,
    ),
  )
  return callId
}

/** An attachment of a mail, decoded. */
function attachment(text: string, type: string): Buffer {
  const part = text
    .split(/\r\n--/)
    .find(piece => piece.includes(`Content-Type: ${type}`) && piece.includes('filename='))
  const body = part?.slice(part.indexOf('\r\n\r\n') + 4) ?? ''
  return Buffer.from(body, 'base64')
}

test('a report is created with what it shows, when, as what and for whom', async () => {
  const { live, close } = await makeReportsApp(null)
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
      formats: { csv: true, pdf: true },
      created: '2026-11-21T10:00:00.000Z',
    },
  )
  assert.equal((await live(`GET /v1/reports/${made.body.id}`)).body, made.body)
  assert.equal((await live('GET /v1/reports')).body.data, [made.body])
  const refused = async (more: object) => refusal(await live('POST /v1/reports', { ...REPORT, ...more }))
  assert.equal(await refused({ recipients: ['x'] }), [400, 'recipients[0]', undefined])
  assert.equal(await refused({ recipients: [] }), [400, 'recipients', undefined])
  assert.equal(await refused({ kind: 'weather' }), [400, 'kind', undefined])
  assert.equal(await refused({ formats: { csv: false, pdf: false } }), [400, 'formats', undefined])
  assert.equal(await refused({ name: 'a\nBcc: b@example.com' }), [400, 'name', undefined])
  await close()
})

test('a run mails the rows of the last whole period as CSV and PDF to each recipient', async () => {
  const mail = await makeMailServer()
  const world = await makeReportsApp(mail.url)
  const { live, events, close } = world
  await addCall(world, '2026-11-19T23:59:59.999Z', '+15550001')
  const first = await addCall(world, '2026-11-20T00:00:00.000Z', '+15550002')
  const second = await addCall(world, '2026-11-20T23:59:59.999Z', '=HYPERLINK("http://x")')
  await addCall(world, '2026-11-21T00:00:00.000Z', '+15550003')
  const recipients = ['ann@example.com', 'bob@example.com']
  const { id } = (await live('POST /v1/reports', { ...REPORT, recipients })).body
  const made = await live(`POST /v1/reports/${id}/run`)
  assert.is(made.status, 201)
  assert.match(made.body.id, /^rptrun_/)
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
  assert.equal({ ...made.body, id: '' }, { id: '', ...expected })
  assert.equal(await events('report.run.completed'), [{ object: made.body }])
  assert.equal(mail.mails.map(({ from, to }) => [from, to]).sort(), [
    ['reports@tandem.test', 'ann@example.com'],
    ['reports@tandem.test', 'bob@example.com'],
  ])
  const [sent] = mail.mails
  assert.match(sent!.text, 'Subject: Calls: 2026-11-20 to 2026-11-21')
  assert.is(
    attachment(sent!.text, 'text/csv').toString(),
    [
      '\ufeffcall_id,created,direction,from,to,status,ended_reason,duration_s',
      `${first},2026-11-20T00:00:00.000Z,inbound,+15550002,1000,ringing,,`,
      `${second},2026-11-20T23:59:59.999Z,inbound,"'=HYPERLINK(""http://x"")",1000,ringing,,`,
      '',
    ].join('\r\n'),
  )
  const pdf = attachment(sent!.text, 'application/pdf')
  assert.is(pdf.subarray(0, 5).toString(), '%PDF-')
  assert.match(pdf.subarray(-10).toString(), '%%EOF')
  await close()
  await mail.close()
})

test('a period is whole by the clock of the organisation, or the one that is asked for', async () => {
  const { live, close } = await makeReportsApp(null)
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
  await close()
})

test('a delivery that fails is recorded with the reason, and the others are made', async () => {
  const mail = await makeMailServer()
  const { live, events, close } = await makeReportsApp(mail.url)
  const run = async (...recipients: string[]) => {
    const { id } = (await live('POST /v1/reports', { ...REPORT, recipients })).body
    return (await live(`POST /v1/reports/${id}/run`)).body
  }
  const some = await run('nobody@example.com', 'ann@example.com')
  assert.is(some.status, 'partially_sent')
  assert.match(some.error, 'No such mailbox')
  assert.equal(
    some.deliveries.map(({ status }: { status: string }) => status),
    ['failed', 'sent'],
  )
  assert.is((await run('nobody@example.com')).status, 'failed')
  assert.is((await events('report.run.completed')).length, 1)
  assert.is((await events('report.run.failed')).length, 1)
  await close()
  await mail.close()
})

test('a run without a mail server, or with one that is away, fails and says why', async () => {
  for (const [url, reason] of [
    [null, /TANDEM_SMTP_URL/],
    ['smtp://127.0.0.1:1', /ECONNREFUSED/],
  ] as const) {
    const { live, events, close } = await makeReportsApp(url)
    const { id } = (await live('POST /v1/reports', REPORT)).body
    const run = await live(`POST /v1/reports/${id}/run`)
    assert.equal([run.status, run.body.status], [201, 'failed'])
    assert.match(run.body.error, reason)
    assert.match(run.body.deliveries[0].error, reason)
    assert.equal(await events('report.run.failed'), [{ object: run.body }])
    await close()
  }
})

test('test mode mails nobody', async () => {
  const mail = await makeMailServer()
  const { test: inTest, close } = await makeReportsApp(mail.url)
  const { id } = (await inTest('POST /v1/reports', REPORT)).body
  const { body } = await inTest(`POST /v1/reports/${id}/run`)
  assert.equal([body.status, body.deliveries[0].status, body.livemode], ['completed', 'suppressed', false])
  assert.equal(mail.mails, [])
  await close()
  await mail.close()
})

test('a queues report has a row for each queue there was', async () => {
  const mail = await makeMailServer()
  const { live, close } = await makeReportsApp(mail.url)
  const queue = (await live('POST /v1/queues', { name: 'Support, first' })).body
  const { id } = (await live('POST /v1/reports', { ...REPORT, kind: 'queues', formats: { pdf: false } })).body
  const period = { period_from: '2026-11-21T00:00:00Z', period_to: '2026-11-22T00:00:00Z' }
  const { body } = await live(`POST /v1/reports/${id}/run`, period)
  assert.equal(body.artifacts, { csv: true, pdf: false })
  const csv = attachment(mail.mails[0]!.text, 'text/csv').toString()
  assert.is(csv.split('\r\n')[1], `${queue.id},"Support, first",2026-11-21T10:00:00.000Z,0,`)
  await close()
  await mail.close()
})

test('the runs of a report are listed newest first; an unknown ID answers 404 resource_missing', async () => {
  const { live, close } = await makeReportsApp(null)
  const [one, other] = [await live('POST /v1/reports', REPORT), await live('POST /v1/reports', REPORT)]
  const run = async (id: string) => (await live(`POST /v1/reports/${id}/run`)).body
  const [first, second] = [await run(one.body.id), await run(one.body.id)]
  await run(other.body.id)
  const path = `/v1/reports/${one.body.id}/runs`
  const { body } = await live(`GET ${path}`)
  assert.equal(body, { object: 'list', data: [second, first], has_more: false, next_cursor: null, url: path })
  assert.equal((await live(`GET ${path}?limit=1`)).body.data, [second])
  for (const line of ['GET /v1/reports/rpt_none/runs', 'GET /v1/reports/rpt_none', 'POST /v1/reports/rpt_none/run']) {
    const missing = await live(line)
    assert.equal([missing.status, missing.body.error.code], [404, 'resource_missing'])
  }
  await close()
})

test.run()
