import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/conformance/older-settings')

/** Nouns whose settings are JSON in one column, and what an older version has stored at least. */
const NOUNS = [
  { path: '/queues', table: 'queues', body: { name: 'Support' }, stored: {} },
  { path: '/assistants', table: 'assistants', body: { name: 'Ann' }, stored: {} },
  { path: '/copilot_profiles', table: 'copilot_profiles', body: { name: 'Sales' }, stored: {} },
  { path: '/conference_rooms', table: 'conference_rooms', body: { name: 'Monday' }, stored: {} },
  { path: '/campaigns', table: 'campaigns', body: { name: 'Autumn' }, stored: {} },
  {
    ...{ path: '/sites', table: 'sites', body: { name: 'Shop', origins: ['https://example.com'] } },
    stored: { origins: ['https://example.com'] },
  },
] as const

for (const { path, table, body, stored } of NOUNS) {
  test(`${path}: a row of a version before, which knew fewer settings, has the defaults of the others`, async () => {
    const { live, store, close } = await makeWholeApp()
    const made = await live(`POST /v1${path}`, body)
    assert.ok(made.status === 201 || made.status === 200, made.text)
    const { id } = made.body
    const before = (await live(`GET /v1${path}/${id}`)).body
    const settings = JSON.stringify(stored)
    await sql`update ${sql.table(table)} set settings = ${settings} where id = ${id}`.execute(store.db)
    assert.equal((await live(`GET /v1${path}/${id}`)).body, before)
    const changed = await live(`PATCH /v1${path}/${id}`, { name: 'Another' })
    assert.is(changed.status, 200, changed.text)
    assert.is(changed.body.name, 'Another')
    assert.equal(Object.keys(changed.body).sort(), Object.keys(before).sort())
    await close()
  })
}

test.run()
