import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import BetterSqlite3 from 'better-sqlite3'
import * as assert from 'uvu/assert'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/store/checkpoints')

/** More than the log may hold before it is copied, and less than a commit would copy by itself [bytes]. */
const ROW = 2 ** 20
const ROWS = 12

const fill = (store: Store, name: string) =>
  store.transaction(async trx => {
    for (let n = 0; n < ROWS; n++) {
      const values = { name: `${name}${n}`, value: 'x'.repeat(ROW) }
      await trx.insertInto('settings').values(values).execute()
    }
  })

/** What the file holds without its log. */
function countIn(file: string, name: string): number {
  const copy = `${file}.copy`
  copyFileSync(file, copy)
  const alone = new BetterSqlite3(copy)
  try {
    return alone.prepare<[string], number>('select count(*) from settings where name like ?').pluck().get(`${name}%`)!
  } catch {
    // Its tables are still in the log, or it was copied while it was written.
    return -1
  } finally {
    alone.close()
    rmSync(copy)
  }
}

test('what is committed gets from the log into the file beside other work, and all of it is there after the end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const file = join(folder, 'tandem.db')
  const store = await openStore(file)
  for (const name of ['first', 'second']) {
    await fill(store, name)
    assert.ok(countIn(file, name) <= 0, 'the commit has not copied it')
    while (countIn(file, name) < ROWS) await sleep(50)
  }
  await fill(store, 'last')
  await store.close()
  assert.is(countIn(file, 'last'), ROWS)
  await store.close()
  rmSync(folder, { recursive: true })
})

test.run()
