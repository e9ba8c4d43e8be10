import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import BetterSqlite3 from 'better-sqlite3'
import * as assert from 'uvu/assert'
import { Checkpoints } from '../../../../control/kernel/store/checkpoints.ts'
import { connectTo } from '../../../../control/kernel/store/sqlite.ts'
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

test('what was deleted is gone from the file and from its log soon after, however little is written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const file = join(folder, 'tandem.db')
  const sqlite = connectTo(file)
  const checkpoints = new Checkpoints(file, 50)
  const isLeft = () => [file, `${file}-wal`].some(path => readFileSync(path).includes('my passphrase'))
  sqlite.exec("create table said (words text); insert into said values ('my passphrase is new')")
  sqlite.exec('delete from said')
  assert.ok(isLeft())
  // Somebody who reads or writes meanwhile only delays that.
  const reader = new BetterSqlite3(file)
  const reading = reader.prepare('select name from sqlite_master').iterate()
  reading.next()
  checkpoints.noteCommit()
  await sleep(300)
  assert.ok(isLeft())
  reading.return!()
  while (isLeft()) await sleep(20)
  assert.is(statSync(`${file}-wal`).size, 0)
  sqlite.exec("insert into said values ('another')")
  await checkpoints.close()
  assert.is(reader.prepare('select words from said').pluck().get(), 'another')
  reader.close()
  sqlite.close()
  rmSync(folder, { recursive: true })
})

test.run()
