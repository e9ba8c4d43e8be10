import iconv from 'iconv-lite'
import * as assert from 'uvu/assert'
import { sweepImports } from '../../../control/imports/pieces.ts'
import { importHandler } from '../../../control/imports/run-job.ts'
import { SeenKeys } from '../../../control/imports/seen-keys.ts'
import type { ImportTarget } from '../../../control/imports/target.ts'
import { idAt } from '../../../control/kernel/ids.ts'
import { JobRunner } from '../../../control/kernel/jobs/runner.ts'
import { buildJobs } from '../../../control/wiring/background.ts'
import { IMPORT_TARGETS } from '../../../control/wiring/import-targets.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { APP_CONFIG, makeWholeApp, refusal, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/imports')
const TARGET = { target: 'do_not_call_numbers' }

interface ImportApp extends WholeApp {
  /** Imports a text; the import as it then is. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  run(content: string | Buffer, more?: object): Promise<any>
  runDue(): Promise<unknown>
  /** The lines of the report, without its head. */
  report(id: string): Promise<string[]>
}

let app: ImportApp
test.before(async () => {
  const world = await makeWholeApp()
  const jobs = buildJobs({ store: world.store, config: APP_CONFIG, vault: VAULT, now: world.clock.now, log: silent })
  await world.live('PATCH /v1/organisation', { country: 'IL' })
  app = {
    ...world,
    runDue: () => jobs.runDue(),
    run: async (content, more = {}) => {
      const file = { content_base64: Buffer.from(content).toString('base64'), filename: 'numbers.csv' }
      const made = await world.live('POST /v1/imports', { ...TARGET, file, ...more })
      assert.is(made.status, 201, made.text)
      assert.is(made.body.status, 'pending')
      await jobs.runDue()
      return (await world.live(`GET /v1/imports/${made.body.id}`)).body
    },
    report: async id => {
      const { text } = await world.live(`GET /v1/imports/${id}/errors`)
      const [head, ...lines] = text.split('\r\n')
      assert.is(head, '\ufeffline,code,column,value,message')
      return lines.slice(0, -1)
    },
  }
})
test.after(() => app.close())

const listed = async (): Promise<string[]> =>
  (await app.live('GET /v1/do_not_call?limit=100')).body.data.map(({ phone }: { phone: string }) => phone).reverse()

test('rows become numbers; each that does not is told of by its line, and nothing of the upload is kept', async () => {
  const done = await app.run(
    'Phone;Reason\r\n050-123-4567;"said; ""no"""\r\n\r\nnobody;x\r\n+972501234567;again\r\n;y\r\n+97252*;all\r\n1;2;3\r\n',
    { metadata: { from: 'crm' } },
  )
  assert.equal(done.rows, { read: 6, written: 2, duplicate: 1, failed: 3 })
  assert.equal([done.status, done.file.delimiter, done.metadata], ['completed', ';', { from: 'crm' }])
  assert.equal(await listed(), ['+972501234567', '+97252*'])
  const [first] = (await app.live('GET /v1/do_not_call?phone=%2B972501234567')).body.data
  assert.equal([first.reason, first.source, first.import_id], ['said; "no"', 'import', done.id])
  assert.equal(await app.report(done.id), [
    '4,invalid,phone,nobody,It is not a number in E.164 or in the local form of IL.',
    '5,duplicate,,+972501234567,"It already exists, or is earlier in the file."',
    '6,invalid,phone,,phone is missing.',
    '8,invalid,,,"The row has 3 cells, and the file 2 columns."',
  ])
  assert.equal(
    (await app.events('import.completed')).map(({ object }) => object.id),
    [done.id],
  )
  const pieces = app.store.db.selectFrom('import_pieces').select('file').where('import_id', '=', done.id)
  assert.equal(
    (await pieces.execute()).map(({ file }) => file),
    ['errors'],
  )
  assert.equal((await app.live('GET /v1/imports?status=completed')).body.data[0], done)
})

test('encodings: UTF-16 and UTF-8 by their mark, Windows-1255 and -1252 and UTF-16 when they are said; bytes of another one are an error of their row', async () => {
  const hebrew = Buffer.from([0xf9, 0xec, 0xe5, 0xed])
  const files: [Buffer, object][] = [
    [Buffer.from('\ufeffphone,reason\n0541111111,שלום\n', 'utf16le'), {}],
    [Buffer.from('\ufeffphone,reason\n0541111112,שלום\n', 'utf8'), { encoding: 'windows-1252' }],
    [
      Buffer.concat([Buffer.from('phone,reason\n0541111113,'), hebrew, Buffer.from('\n')]),
      { encoding: 'windows-1255' },
    ],
    [Buffer.from('phone,reason\n0541111116,שלום\n', 'utf16le').swap16(), { encoding: 'utf-16be' }],
    [Buffer.from('phone,reason\n0541111117,שלום\n', 'utf16le'), { encoding: 'utf-16' }],
    [
      Buffer.concat([Buffer.from('phone,reason\n0541111118,'), Buffer.from([0x80, 0xe9, 0x0a])]),
      { encoding: 'windows-1252' },
    ],
    [Buffer.concat([Buffer.from('phone,reason\n0541111114,'), hebrew, Buffer.from('\n0541111115,x\n')]), {}],
  ]
  const all = []
  for (const [content, more] of files) all.push(await app.run(content, more))
  assert.equal(
    all.map(({ rows }) => rows.failed),
    [0, 0, 0, 0, 0, 0, 1],
  )
  const { data } = (await app.live('GET /v1/do_not_call?limit=7')).body
  assert.equal(
    data.map(({ reason }: { reason: string }) => reason),
    ['x', '€é', ...Array(5).fill('שלום')],
  )
})

test('NDJSON and a mapping of columns; files without a header are mapped by place', async () => {
  const ndjson = await app.run('{"Tel":"0551111111","reason":null}\n\nno json\n{"Tel":{"a":1}}\n', {
    ...{ format: 'ndjson', mapping: { phone: 'Tel' } },
  })
  assert.equal([ndjson.rows.written, ndjson.rows.failed, ndjson.file.delimiter], [1, 2, null])
  assert.equal(
    (await app.report(ndjson.id)).map(line => line.split(',')[0]),
    ['3', '4'],
  )
  const bare = await app.run('x\t0551111112\n', { header: false, mapping: { phone: '2', reason: '1' } })
  assert.equal([bare.rows.written, bare.file.delimiter], [1, '\t'])
})

test('what cannot fit is refused before anything is stored', async () => {
  const file = (text: string) => ({ content_base64: Buffer.from(text).toString('base64') })
  for (const [body, param] of [
    [{ file: file('a,b\n1,2\n') }, 'mapping'],
    [{ file: file('phone\n1\n'), mapping: { nothing: 'phone' } }, 'mapping'],
    [{ file: file('phone\n1\n'), mapping: { phone: 'Tel' } }, 'mapping'],
    [{ file: file('Tel\n1\n'), mapping: { phone: 'Tel', reason: 'Tel' } }, 'mapping'],
    [{ file: file('{"Tel":"1"}\n'), format: 'ndjson', mapping: { phone: 'Tel', reason: 'Tel' } }, 'mapping'],
    [{ file: file('') }, 'file'],
    [{ file: file('phone,reason\n0571111111,"never closed\n') }, 'file'],
    [{ file: {} }, 'file.content_base64'],
    [{ file: { ...file('phone\n'), content_sha256: '0'.repeat(64) } }, 'file.content_sha256'],
    [{ file: file('phone\n1\n'), target_id: 'x' }, 'target_id'],
    [{ file: file('phone\n1\n'), target: 'calls' }, 'target'],
    [{ file: file('{"phone":"1"}\n'), format: 'ndjson', delimiter: ';' }, 'delimiter'],
    [{ file: file('{"phone":"1"}\n'), format: 'ndjson', header: false }, 'header'],
  ] as const) {
    assert.equal(refusal(await app.live('POST /v1/imports', { ...TARGET, ...body })).slice(0, 2), [400, param])
  }
})

test('a trial counts as the import would, and writes nothing', async () => {
  const before = await listed()
  const csv = 'phone\n0561111111\n0541111111\n0561111111\nnobody\n'
  const trial = await app.run(csv, { dry_run: true })
  assert.equal(trial.rows, { read: 4, written: 1, duplicate: 2, failed: 1 })
  assert.equal(await listed(), before)
  const done = await app.run(csv)
  assert.equal(done.rows, trial.rows)
  assert.equal(await app.report(done.id), await app.report(trial.id))
})

test('a trial knows a number that was in an earlier batch of the file', async () => {
  const numbers = Array.from({ length: 200 }, (_, n) => `058${String(n).padStart(7, '0')}`)
  const trial = await app.run(['phone', ...numbers, numbers[0], numbers[1]].join('\n'), { dry_run: true })
  assert.equal(trial.rows, { read: 202, written: 200, duplicate: 2, failed: 0 })
})

test('a file that cannot be read to its end fails with the line, and what came before stays', async () => {
  const content = `{"phone":"0571111111"}\n{"phone":"${'0'.repeat(70_000)}"}\n`
  const failed = await app.run(content, { format: 'ndjson' })
  assert.equal([failed.status, failed.failure.code, failed.failure.line], ['failed', 'line_too_long', 2])
  assert.ok((await listed()).includes('+972571111111'))
  assert.equal(
    (await app.events('import.failed')).map(({ object }) => object.failure),
    [failed.failure],
  )
})

test('consents are imported with the import as their evidence; one that stands is a duplicate', async () => {
  const csv = 'phone,purpose,given_at,text\n0541111111,Call,2026-01-05,Yes\n0541111111,call,,\n0541111111,dance,,\n'
  const done = await app.run(csv, { target: 'consents' })
  assert.equal(done.rows, { read: 3, written: 1, duplicate: 1, failed: 1 })
  const [consent] = (await app.live('GET /v1/consents')).body.data
  assert.equal([consent.phone, consent.purpose, consent.status], ['+972541111111', 'call', 'active'])
  assert.equal([consent.evidence.type, consent.evidence.import_id, consent.evidence.text], ['import', done.id, 'Yes'])
})

test('a file comes as multipart too; the same key and content are one import; a cancelled one does nothing', async () => {
  const parts = (content: string) =>
    [
      '--cut\r\nContent-Disposition: form-data; name="target"\r\n\r\ndo_not_call_numbers\r\n',
      '--cut\r\nContent-Disposition: form-data; name="mapping"\r\nContent-Type: application/json\r\n\r\n{"phone":"Tel"}\r\n',
      '--cut\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n',
      `${content}\r\n--cut--\r\n`,
    ].join('')
  const headers = { 'content-type': 'multipart/form-data; boundary=cut', 'idempotency-key': 'once' }
  const content = 'Tel\n0581111111'
  const first = await app.live('POST /v1/imports', parts(content), { headers })
  assert.equal([first.status, first.body.file.filename, first.body.file.size_bytes], [201, 'a.csv', content.length])
  assert.is((await app.live('POST /v1/imports', parts(content), { headers })).body.id, first.body.id)
  assert.is(
    (await app.live('POST /v1/imports', parts('Tel\n1'), { headers })).body.error.code,
    'idempotency_key_reused',
  )
  const cancelled = await app.live(`POST /v1/imports/${first.body.id}/cancel`)
  assert.is(cancelled.body.status, 'cancelled')
  assert.is((await app.live(`POST /v1/imports/${first.body.id}/cancel`)).status, 409)
  assert.is((await app.run('phone\n0581111112\n')).rows.written, 1)
  assert.not((await listed()).includes('+972581111111'))
})

test("JSON parameters may come as files, as a browser's FormData sends them; other files may not", async () => {
  const parts = (mapping: string, type: string) =>
    [
      '--cut\r\nContent-Disposition: form-data; name="target"\r\n\r\ndo_not_call_numbers\r\n',
      `--cut\r\nContent-Disposition: form-data; name="mapping"; filename="blob"\r\nContent-Type: ${type}\r\n\r\n${mapping}\r\n`,
      '--cut\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\nTel\n1\r\n--cut--\r\n',
    ].join('')
  const post = (mapping: string, type = 'application/json') =>
    app.live('POST /v1/imports', parts(mapping, type), {
      headers: { 'content-type': 'multipart/form-data; boundary=cut' },
    })
  const made = await post('{"phone":"Tel"}')
  assert.equal([made.status, made.body.mapping], [201, { phone: 'Tel' }])
  await app.live(`POST /v1/imports/${made.body.id}/cancel`)
  for (const [mapping, type] of [['{"phone"'], ['Tel', 'text/csv'], [JSON.stringify('x'.repeat(70_000))]] as const)
    assert.equal(refusal(await post(mapping, type)).slice(0, 2), [400, 'mapping'])
})

test('parameters of a form are read as what they are: curl -F dry_run=true -F mapping={…} needs no type', async () => {
  const field = (name: string, value: string): string =>
    `--cut\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const post = (fields: Record<string, string>) =>
    app.live(
      'POST /v1/imports',
      [
        ...Object.entries({ target: 'do_not_call_numbers', ...fields }).map(([name, value]) => field(name, value)),
        '--cut\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nTel\n1\r\n--cut--\r\n',
      ].join(''),
      { headers: { 'content-type': 'multipart/form-data; boundary=cut' } },
    )
  const { body } = await post({ dry_run: 'true', mapping: '{"phone":"Tel"}', delimiter: ';' })
  assert.equal([body.dry_run, body.mapping, body.file.delimiter], [true, { phone: 'Tel' }, ';'])
  await app.live(`POST /v1/imports/${body.id}/cancel`)
  assert.equal(refusal(await post({ mapping: '{"phone":"Tel"}', dry_run: 'perhaps' })).slice(0, 2), [400, 'dry_run'])
})

test('a file whose first line is of another encoding is refused with those that there are', async () => {
  const file = { content_base64: iconv.encode('שם;טלפון\nדנה;0521234567', 'windows-1255').toString('base64') }
  const body = { target: 'do_not_call_numbers', mapping: { phone: 'טלפון' }, file }
  const refused = await app.live('POST /v1/imports', body)
  assert.equal(refusal(refused).slice(0, 2), [400, 'encoding'])
  assert.match(refused.body.error.message, 'windows-1255')
})

test('an import that goes on after a crash lets everybody else have their turn while it skips what is done', async () => {
  const rows = 20_000
  const lines = Array.from({ length: rows }, (_, i) => `+97253${1_000_000 + i}`)
  const file = { content_base64: Buffer.from(['phone', ...lines].join('\n')).toString('base64') }
  const { id } = (await app.live('POST /v1/imports', { ...TARGET, file })).body
  await app.store.db.updateTable('imports').set({ rows_read: rows, status: 'running' }).where('id', '=', id).execute()
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await app.runDue()
  isOver = true
  const done = (await app.live(`GET /v1/imports/${id}`)).body
  assert.equal([done.status, done.rows.read, done.rows.written], ['completed', rows, 0])
  assert.ok(turns >= rows / 200, `${turns} turns`)
})

test('an import that has come further than an attempt knows is tried again from there', async () => {
  const numbers = IMPORT_TARGETS.do_not_call_numbers!
  let writes = 0
  const beaten: ImportTarget = {
    ...numbers,
    write: async (trx, ...more) => {
      const isNew = await numbers.write(trx, ...more)
      if (writes++ === 0) await trx.updateTable('imports').set({ rows_read: 99 }).execute()
      return isNew
    },
  }
  const { store, clock } = app
  const handler = importHandler({ store, now: clock.now, targets: { do_not_call_numbers: beaten } })
  const jobs = new JobRunner({ store, now: clock.now, log: silent, handlers: { 'import.run': handler } })
  const file = { content_base64: Buffer.from('phone\n0581111119\n').toString('base64') }
  const { id } = (await app.live('POST /v1/imports', { ...TARGET, file })).body
  await jobs.runDue()
  assert.is((await app.live(`GET /v1/imports/${id}`)).body.status, 'running')
  clock.advance(1000)
  await jobs.runDue()
  const done = (await app.live(`GET /v1/imports/${id}`)).body
  assert.equal([done.status, done.rows.written, writes], ['completed', 1, 2])
})

test('the report is kept for 30 days; a file of which no import came is gone after an hour', async () => {
  const { id, finished_at } = await app.run('phone\nnobody\n')
  const { db } = app.store
  const lost = idAt('import', Date.parse(finished_at))
  await db.insertInto('import_pieces').values({ import_id: lost, file: 'source', position: 0, content: '' }).execute()
  const leftAfter = async (hours: number): Promise<string[]> => {
    await sweepImports(db, new Date(Date.parse(finished_at) + hours * 3_600_000))
    const rows = await db.selectFrom('import_pieces').select('import_id').where('import_id', 'in', [id, lost]).execute()
    return rows.map(row => row.import_id).sort()
  }
  assert.equal(await leftAfter(0.5), [id, lost].sort())
  assert.equal(await leftAfter(2), [id])
  assert.equal(await leftAfter(29 * 24), [id])
  assert.equal(await leftAfter(31 * 24), [])
})

test('rows of thousands of cells are written a few at a time, so that calls have their turn between them', async () => {
  const numbers = IMPORT_TARGETS.do_not_call_numbers!
  const sizes: number[] = []
  const counted: ImportTarget = {
    ...numbers,
    write: (trx, rows, ...more) => {
      sizes.push(rows.length)
      return numbers.write(trx, rows, ...more)
    },
  }
  const { store, clock } = app
  const handler = importHandler({ store, now: clock.now, targets: { do_not_call_numbers: counted } })
  const jobs = new JobRunner({ store, now: clock.now, log: silent, handlers: { 'import.run': handler } })
  const columns = Array.from({ length: 3000 }, (_, i) => `column_${i}`)
  const rows = Array.from({ length: 40 }, (_, i) => [`05833333${10 + i}`, ...columns.map(() => 'x')].join(','))
  const text = [['phone', ...columns].join(','), ...rows].join('\n')
  const file = { content_base64: Buffer.from(text).toString('base64') }
  const { id } = (await app.live('POST /v1/imports', { ...TARGET, file })).body
  await jobs.runDue()
  assert.is((await app.live(`GET /v1/imports/${id}`)).body.rows.written, 40)
  assert.equal(sizes, Array(10).fill(4))
})

test('progress is told every five seconds at most, with the rows so far', async () => {
  let seconds = 0
  const { store, clock } = app
  // Each batch takes two seconds.
  const now = (): Date => new Date(clock.now().getTime() + 1000 * seconds++)
  const handler = importHandler({ store, now, targets: IMPORT_TARGETS, batchRows: 1 })
  const jobs = new JobRunner({ store, now: clock.now, log: silent, handlers: { 'import.run': handler } })
  const numbers = Array.from({ length: 20 }, (_, i) => `05811121${10 + i}`)
  const file = { content_base64: Buffer.from(['phone', ...numbers].join('\n')).toString('base64') }
  const { id } = (await app.live('POST /v1/imports', { ...TARGET, file })).body
  await jobs.runDue()
  const told = (await app.events('import.progress')).filter(({ object }) => object.id === id)
  const rows = told.map(({ object }) => object.rows.written)
  assert.ok(rows.length >= 3 && rows.length <= 4, `${rows}`)
  assert.equal(
    rows,
    rows.toSorted((a: number, b: number) => a - b),
  )
})

test('ten imports wait at most', async () => {
  const file = { content_base64: Buffer.from('phone\n0591111111\n').toString('base64') }
  const made = []
  for (let i = 0; i < 11; i++) made.push(await app.live('POST /v1/imports', { ...TARGET, file }))
  assert.equal(
    made.map(({ status }) => status),
    [...Array(10).fill(201), 429],
  )
  for (const { body } of made.slice(0, 10)) await app.live(`POST /v1/imports/${body.id}/cancel`)
})

test('a trial knows each of many keys once', () => {
  const seen = new SeenKeys(20_000)
  const keys = Array.from({ length: 20_000 }, (_, i) => `+97250${1_000_000 + i}`)
  assert.ok(keys.every(key => seen.add(key)))
  assert.not(keys.some(key => seen.add(key)))
})

test('rows become contacts of a campaign: other columns are their metadata, and a number that it has already stays as it is', async () => {
  const [{ body: assistant }, { body: connection }] = await Promise.all([
    app.live('POST /v1/assistants', { name: 'Anna' }),
    app.live('POST /v1/connections', { name: 'Trunk', type: 'trunk', host: '192.0.2.7' }),
  ])
  const made = await app.live('POST /v1/campaigns', { name: 'Reminder', assistant_id: assistant.id })
  assert.is(made.status, 201, made.text + connection?.id)
  const { id } = made.body
  await app.live(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: '0521111111', name: 'First' }] })
  const done = await app.run(
    'phone,name,timezone,order,__proto__\n0521111111,Again,,1\n0521111112,Dana,Asia/Jerusalem,2,x\n0521111113,Noa,Mars/Base,3\n',
    { target: 'campaign_contacts', target_id: id },
  )
  assert.equal(done.rows, { read: 3, written: 1, duplicate: 1, failed: 1 })
  const { body } = await app.live(`GET /v1/campaigns/${id}/contacts`)
  assert.equal(
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
    body.data.map(({ phone, name, timezone, metadata }: any) => [phone, name, timezone, metadata]).reverse(),
    [
      ['+972521111111', 'First', null, {}],
      ['+972521111112', 'Dana', 'Asia/Jerusalem', JSON.parse('{"order": "2", "__proto__": "x"}')],
    ],
    'no column is lost, whatever it is called',
  )
  const none = { target: 'campaign_contacts', file: { content_base64: 'cGhvbmU=' } }
  assert.is((await app.live('POST /v1/imports', { ...none, target_id: 'cmp_none' })).status, 404)
  assert.equal(refusal(await app.live('POST /v1/imports', none)).slice(0, 2), [400, 'target_id'])
})

test('an import into a campaign that is archived or deleted meanwhile fails, and writes nothing any more', async () => {
  const file = { content_base64: Buffer.from('phone\n0521111114\n').toString('base64') }
  for (const line of ['POST /v1/campaigns/ID/archive', 'DELETE /v1/campaigns/ID']) {
    const { id } = (await app.live('POST /v1/campaigns', { name: 'Short' })).body
    const target = { target: 'campaign_contacts', target_id: id }
    const made = (await app.live('POST /v1/imports', { ...target, file })).body
    await app.live(line.replace('ID', id))
    await app.runDue()
    const { status, failure } = (await app.live(`GET /v1/imports/${made.id}`)).body
    assert.equal([status, failure.code], ['failed', 'target_refused'], line)
    const left = app.store.db.selectFrom('campaign_contacts').select('id').where('campaign_id', '=', id)
    assert.equal(await left.execute(), [])
  }
})

test.run()
