import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/store/temporary files')

/** The open files of this process: SQLite removes a temporary one as soon as it has opened it. */
const OPEN = '/proc/self/fd'
const ROWS = 100
/** SQLite keeps 64 KB of what a statement is to take back in memory in any case. */
const LENGTH = 4000

/** The links of descriptors that are still open. */
const openFiles = (): string[] =>
  readdirSync(OPEN).flatMap(fd => {
    try {
      return [readlinkSync(join(OPEN, fd))]
    } catch {
      return []
    }
  })

test('a statement that changes many rows makes no file for what it would have to take back', async () => {
  if (!existsSync(OPEN)) return
  const directory = mkdtempSync(join(tmpdir(), 'temporary-'))
  const store = await openStore(join(directory, 'tandem.db'))
  const rows = Array.from({ length: ROWS }, (_, n) => ({ name: `n${n}`, value: 'x'.repeat(LENGTH) }))
  await store.db.insertInto('settings').values(rows).execute()
  const files = await store.transaction(async trx => {
    // Each row has a page of its own, and may meet another one of the same name.
    await sql`update settings set name = name || '+'`.execute(trx)
    return openFiles()
  })
  assert.equal(
    files.filter(file => file.includes('etilqs')),
    [],
  )
  await store.close()
  rmSync(directory, { recursive: true })
})

test.run()
