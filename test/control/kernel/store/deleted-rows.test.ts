// One database: it is about what SQLite leaves in its file. PostgreSQL has its VACUUM.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { MIGRATIONS } from '../../../../control/kernel/store/migrations/all.ts'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { sqliteSearch } from '../../../../control/knowledge/sqlite-search.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/store/deleted rows')

test('what is deleted is not left in the file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'deleted-'))
  const file = join(directory, 'tandem.db')
  const said = Array.from({ length: 300 }, (_, n) => `my passphrase is ${n} ${'and so on '.repeat(n % 100)}`)
  const first = await openStore(file)
  const rows = said.map((value, n) => ({ name: `n${n}`, value }))
  await first.db.insertInto('settings').values(rows).execute()
  await first.close()
  assert.ok(readFileSync(file).includes('my passphrase'))
  const second = await openStore(file)
  await second.db.deleteFrom('settings').where('name', 'like', 'n%').execute()
  await second.close()
  assert.not.ok(readFileSync(file).includes('my passphrase'))
  rmSync(directory, { recursive: true })
})

const TENANT = { organisationId: 'org_1', livemode: true }
/** Begins like no other word, so the index writes it out. */
const WORD = 'zyzzyva'

test('nor are words of deleted documents in the search index, also where an older version has deleted them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'deleted-'))
  const file = join(directory, 'tandem.db')
  const passages = (document: string, last: string) =>
    ['and so on', last].map((text, n) => ({ id: `${document}-${n}`, text: `we sell ${text}` }))
  async function deleteOne(before: (store: Store) => Promise<unknown>): Promise<void> {
    const store = await openStore(file)
    await before(store)
    await store.transaction(trx => sqliteSearch.add(trx, TENANT, 'doc_1', passages('doc_1', WORD)))
    await store.transaction(trx => sqliteSearch.add(trx, TENANT, 'doc_2', passages('doc_2', 'shoes')))
    await store.transaction(trx => sqliteSearch.remove(trx, TENANT, 'doc_1', 9))
    await store.close()
  }
  await deleteOne(async () => {})
  assert.not.ok(readFileSync(file).includes(WORD), 'deleted now')
  await deleteOne(({ db }) => sql`insert into kb_search (kb_search, rank) values ('secure-delete', 0)`.execute(db))
  assert.ok(readFileSync(file).includes(WORD), 'deleted by an older version')
  const store = await openStore(file)
  await MIGRATIONS['414-words-deleted']!.up(store.db)
  await store.close()
  assert.not.ok(readFileSync(file).includes(WORD), 'after the upgrade')
  rmSync(directory, { recursive: true })
})

test.run()
