import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { JobRunner } from '../../../control/kernel/jobs/runner.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { forgetHandler } from '../../../control/knowledge/forget-job.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import type { PassageSearch } from '../../../control/knowledge/search.ts'
import { suite } from '../../harness.ts'
import { silent } from '../silent.ts'
import { makeWholeApp, refusal, type WholeApp } from '../whole-app.ts'

const test = suite('control/knowledge/kb')

const HOURS = 'We are open from nine to five.\n\nOn Sundays the shop is closed.'
const REFUND = 'Refunds take ten days. Bring the receipt to the shop.'

const add = async (ask: WholeApp['live'], text: string, more: object = {}) =>
  (await ask('POST /v1/kb/documents', { text, ...more })).body

/** Names and scores of what a search answers. */
const found = async (ask: WholeApp['live'], query: string, more: object = {}) =>
  (await ask('POST /v1/kb/search', { query, ...more })).body.data.map(
    (passage: { document_name: string; score: number }) => [passage.document_name, passage.score],
  )

test('a document of text is ready to be searched, and tells it by kb.document.ready', async () => {
  const { live, events, close } = await makeWholeApp()
  const made = await live('POST /v1/kb/documents', { text: HOURS, name: 'Hours', metadata: { team: 'a' } })
  assert.is(made.status, 201)
  assert.match(made.body.id, /^kbd_/)
  assert.equal(
    { ...made.body, id: '' },
    {
      id: '',
      object: 'kb_document',
      livemode: true,
      name: 'Hours',
      status: 'ready',
      error: null,
      size_bytes: HOURS.length,
      passage_count: 1,
      metadata: { team: 'a' },
      created: '2026-11-21T10:00:00.000Z',
    },
  )
  assert.equal(await events('kb.document.ready'), [{ object: made.body }])
  assert.equal((await live(`GET /v1/kb/documents/${made.body.id}`)).body, made.body)
  assert.equal((await live('GET /v1/kb/documents')).body.data, [made.body])
  assert.is((await live('GET /v1/kb/documents/kbd_none')).status, 404)
  await close()
})

test('a file that is no text fails, and tells it by kb.document.failed', async () => {
  const { live, events, close } = await makeWholeApp()
  const upload = async (content: Buffer) => {
    const file = { content_base64: content.toString('base64'), filename: 'a.bin' }
    const { status, body } = await live('POST /v1/kb/documents', { file })
    return [status, body.status, body.error, body.name]
  }
  assert.equal(await upload(Buffer.from([0xff, 0xd8, 0xff])), [201, 'failed', 'not_text', 'a.bin'])
  assert.equal(await upload(Buffer.from('a\0b')), [201, 'failed', 'not_text', 'a.bin'])
  assert.equal(await upload(Buffer.from(' \n')), [201, 'failed', 'empty', 'a.bin'])
  assert.equal(await upload(Buffer.from('Gr\u00fc\u00dfe')), [201, 'ready', null, 'a.bin'])
  assert.is((await events('kb.document.failed')).length, 3)
  await close()
})

test('a document whose file has no name is called Document, and none has a blank name', async () => {
  const { live, close } = await makeWholeApp()
  const upload = (filename?: string) =>
    live('POST /v1/kb/documents', { file: { content_base64: 'QWxl', ...(filename !== undefined && { filename }) } })
  assert.is((await upload()).body.name, 'Document')
  for (const blank of ['', '  ']) assert.is((await upload(blank)).status, 400)
  await close()
})

test('a document is sent as text or as a file, of at most 2 MB', async () => {
  const { live, close } = await makeWholeApp()
  const send = async (body: object) => refusal(await live('POST /v1/kb/documents', body))
  const file = { content_base64: 'SGVsbG8=' }
  assert.equal(await send({}), [400, 'text', undefined])
  assert.equal(await send({ text: 'Hello', file }), [400, 'file', undefined])
  assert.equal(await send({ file: { content_base64: '%' } }), [400, 'file.content_base64', undefined])
  assert.equal(await send({ text: 'a'.repeat(2 * 1024 * 1024 + 1) }), [400, 'text', undefined])
  assert.equal(await send({ text: 'a'.repeat(4 * 1024 * 1024) }), [400, 'text', undefined])
  assert.equal(await send({ text: 'a'.repeat(13 * 1024 * 1024) }), [400, null, undefined])
  assert.is(
    (await live('POST /v1/kb/documents', { text: `a${'\n'.repeat(2 * 1024 * 1024 - 1)}` })).status,
    201,
    'escaped',
  )
  assert.equal(await send({ text: 'Hello', url: 'x' }), [400, 'url', undefined])
  await close()
})

test('a search gives the passages that have words of the query, best first, in any form of a word and case', async () => {
  const { live, close } = await makeWholeApp()
  const hours = await add(live, HOURS, { name: 'Hours' })
  await add(live, REFUND, { name: 'Refunds' })
  assert.equal(await found(live, 'REFUND days?'), [['Refunds', 1]])
  assert.equal(await found(live, 'shop sunday'), [
    ['Hours', 1],
    ['Refunds', 0.5],
  ])
  assert.equal(await found(live, 'shop sunday', { min_score: 0.6 }), [['Hours', 1]])
  assert.equal(await found(live, 'shop sunday', { limit: 1 }), [['Hours', 1]])
  assert.equal(await found(live, 'refunds shop', { document_ids: [hours.id] }), [['Hours', 0.5]])
  assert.equal(await found(live, 'elephant'), [])
  const { body } = await live('POST /v1/kb/search', { query: 'sundays' })
  assert.equal(body, {
    object: 'kb_search',
    livemode: true,
    query: 'sundays',
    data: [
      {
        object: 'kb_passage',
        livemode: true,
        document_id: hours.id,
        document_name: 'Hours',
        position: 0,
        text: HOURS,
        score: 1,
      },
    ],
  })
  await close()
})

test('what a query holds is text, not an operator of the search', async () => {
  const { live, close } = await makeWholeApp()
  await add(live, REFUND, { name: 'Refunds' })
  for (const query of ['"', 'tenant : x', 'shop" OR "a', 'shop NOT refunds', '*', '(((', "'; drop table x"]) {
    assert.is((await live('POST /v1/kb/search', { query })).status, 200, query)
  }
  assert.equal(await found(live, 'AND OR NOT shop'), [['Refunds', 0.25]])
  await close()
})

test('a search finds nothing of another organisation or mode', async () => {
  const { live, test: inTest, close } = await makeWholeApp()
  const { id } = await add(live, REFUND)
  assert.equal(await found(inTest, 'refunds'), [])
  const answer = await inTest('POST /v1/kb/search', { query: 'refunds', document_ids: [id] })
  assert.equal(refusal(answer), [400, 'document_ids[0]', undefined])
  await close()
})

test('a document is downloaded as it was sent, byte for byte, also one that is no text, and by nobody else', async () => {
  const { app, live, test: inTest, ours, close } = await makeWholeApp()
  const bytes = Buffer.from([0xff, 0, 1, 2, 0xfe])
  const file = { content_base64: bytes.toString('base64'), filename: 'Größe "1".bin' }
  const failed = (await live('POST /v1/kb/documents', { file })).body
  assert.is(failed.status, 'failed')
  const read = await add(live, '\uFEFFWe open\r\nat nine. é', { name: "Bob's (1)*" })
  for (const [id, sent, name] of [
    [failed.id, bytes, "filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.bin"],
    [read.id, Buffer.from('\uFEFFWe open\r\nat nine. é'), "filename*=UTF-8''Bob%27s%20%281%29%2A"],
  ]) {
    const url = `/v1/kb/documents/${id}/content`
    const answer = await app.inject({ url, headers: { authorization: `Bearer ${ours.keys.live}` } })
    assert.is(answer.statusCode, 200)
    assert.ok(answer.rawPayload.equals(sent))
    assert.is(answer.headers['content-disposition'], `attachment; ${name}`)
    assert.is((await inTest(`GET ${url}`)).status, 404)
  }
  await close()
})

test('a deleted document, its passages and its stored original are gone at once', async () => {
  const { live, close, store, ours } = await makeWholeApp()
  const { id } = await add(live, REFUND, { name: 'Gone' })
  await add(live, HOURS, { name: 'Hours' })
  const gone = await live(`DELETE /v1/kb/documents/${id}`)
  assert.equal(gone.body, { object: 'kb_document', id, deleted: true, livemode: true })
  assert.equal(await found(live, 'refunds receipt shop'), [['Hours', 1 / 3]])
  const tables = forTenant(store.db, { organisationId: ours.organisationId, livemode: true })
  assert.is(await tables.find('kb_originals', id), undefined)
  const passages = await tables.select('kb_passages').select('id').where('document_id', '=', id).execute()
  assert.equal(passages, [])
  for (const path of ['', '/content']) {
    assert.is((await live(`GET /v1/kb/documents/${id}${path}`)).status, 404)
  }
  assert.is((await live(`DELETE /v1/kb/documents/${id}`)).status, 404)
  await close()
})

test('the words of a deleted document leave the index a few passages at a time, for calls wait meanwhile; searches skip them at once', async () => {
  const { live, close, store, clock } = await makeWholeApp()
  const said = Array.from({ length: 30 }, (_, n) => `${`part ${n} `.repeat(100)}shop`).join('\n\n')
  const { id, passage_count } = await add(live, said, { name: 'Gone' })
  await add(live, HOURS, { name: 'Hours' })
  await live(`DELETE /v1/kb/documents/${id}`)
  assert.equal(await found(live, 'shop', { limit: 1 }), [['Hours', 1]])
  const removed: number[] = []
  const search = passageSearch(store.engine)
  const counted: PassageSearch = {
    ...search,
    remove: async (...of) => {
      removed.push(await search.remove(...of))
      return removed.at(-1)!
    },
  }
  const handlers = { 'kb.forget': forgetHandler(store, counted) }
  const jobs = new JobRunner({ store, now: clock.now, log: silent, handlers })
  await jobs.runDue()
  assert.equal([passage_count, removed], [30, [10, 10, 10, 0]])
  assert.is(
    await sql`select 1 from kb_search where document = ${id}`.execute(store.db).then(({ rows }) => rows.length),
    0,
  )
  assert.is(jobs.counters.done, 1)
  await close()
})

test('a deleted document leaves the lists that name it; the last of a list stays, for an empty one means all', async () => {
  const { live, close } = await makeWholeApp()
  const [hours, refund] = [(await add(live, HOURS)).id, (await add(live, REFUND)).id]
  const make = async (ids: string[]) => [
    (await live('POST /v1/assistants', { name: 'A', kb_document_ids: ids })).body,
    (await live('POST /v1/copilot_profiles', { name: 'P', kb: { document_ids: ids } })).body,
  ]
  const both = await make([hours, refund])
  const knowledge = { document_ids: [hours, refund] }
  const { body: tool } = await live('POST /v1/tools', { kind: 'search_knowledge', knowledge })
  const one = await make([refund])
  const none = await make([hours])
  assert.is((await live(`DELETE /v1/kb/documents/${refund}`)).status, 200)
  const lists = async ([assistant, profile]: { id: string }[]) => [
    (await live(`GET /v1/assistants/${assistant!.id}`)).body.kb_document_ids,
    (await live(`GET /v1/copilot_profiles/${profile!.id}`)).body.kb.document_ids,
  ]
  assert.equal(await lists(both), [[hours], [hours]])
  assert.equal(await lists(one), [[refund], [refund]])
  assert.equal(await lists(none), [[hours], [hours]])
  assert.equal((await live(`PATCH /v1/tools/${tool.id}`, { description: 'Opening hours.' })).status, 200)
  const versions = await Promise.all(
    [both, one, none].map(async ([, profile]) => (await live(`GET /v1/copilot_profiles/${profile.id}`)).body.version),
  )
  assert.equal(versions, [both[1].version + 1, one[1].version, none[1].version])
  await close()
})

test.run()
