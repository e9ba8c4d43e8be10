import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import * as assert from 'uvu/assert'
import { ownNodeId } from '../../../../control/kernel/data-dir.ts'
import { openConfiguredStore } from '../../../../control/kernel/store/configured-store.ts'
import { nodeOf } from '../../../../control/kernel/store/node.ts'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { vaultOf } from '../../../../control/kernel/vault.ts'
import { vaultFits } from '../../../../control/kernel/vault-check.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase, openTestStore, testEngine } from '../../database.ts'

const test = suite(`control/kernel/store/configured-store on ${testEngine}`)

const dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
test.after(() => rmSync(dataDir, { recursive: true }))

/** The one line that a database that cannot be opened gives. */
async function refusal(databaseUrl: string | null): Promise<string> {
  const opened = await openConfiguredStore({ dataDir, databaseUrl, nodeId: null }).catch((error: Error) => error)
  if (opened instanceof Error) return opened.message
  throw new Error('it was opened')
}

test('a broken file gives one line that says what to do', async () => {
  writeFileSync(join(dataDir, 'tandem.db'), 'not a database at all, as one can see from the first bytes of it')
  const line = await refusal(null)
  assert.match(line, /^Cannot open the database .*tandem\.db \(.*\): restore it, or move it away\.$/)
  rmSync(join(dataDir, 'tandem.db'))
})

test('a server that is not there gives one line that says what to do, without the password', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  const line = await refusal(`postgres://tandem:hunter2@127.0.0.1:${port}/tandem`)
  assert.is(
    line,
    `Cannot open the database 127.0.0.1:${port}/tandem (connect ECONNREFUSED 127.0.0.1:${port}): start it, or correct TANDEM_DATABASE_URL.`,
  )
})

test('a node has one name, made once', () => {
  const node = ownNodeId(dataDir)
  assert.match(node, /^node-[0-9a-f]{12}$/)
  assert.is(ownNodeId(dataDir), node)
})

test("a vault that is not the database's is found out", async () => {
  const store = await openTestStore()
  const [ours, theirs] = [vaultOf(new Uint8Array(32).fill(1)), vaultOf(new Uint8Array(32).fill(2))]
  assert.equal(
    [await vaultFits(store, ours), await vaultFits(store, ours), await vaultFits(store, theirs)],
    [true, true, false],
  )
  await store.close()
})

/** The database is handed on to the next test. */
async function forgetFuture(target: string): Promise<void> {
  const server = new pg.Client({ connectionString: target })
  await server.connect()
  await server.query("delete from kysely_migration where name = '999-future'")
  await server.end()
}

/** Opened, changed by `change`, and opened again as the configuration names it. */
async function reopened(change: (db: Store['db']) => Promise<unknown>): Promise<Store | Error> {
  const { target, remove } = await makeDatabase()
  const before = await openStore(target)
  await change(before.db)
  await before.close()
  const place =
    testEngine === 'postgres' ? { dataDir, databaseUrl: target } : { dataDir: dirname(target), databaseUrl: null }
  const opened = await openConfiguredStore({ ...place, nodeId: null }).catch((error: Error) => error)
  if (!(opened instanceof Error)) await opened.close()
  else if (testEngine === 'postgres') await forgetFuture(target)
  await remove()
  return opened
}

test('what stops a migration half way, such as a full disk or a kill, leaves the database as it was: the next start does it whole', async () => {
  const { target, remove } = await makeDatabase({ blank: true })
  const statements = testEngine === 'sqlite' ? new BetterSqlite3(target) : new pg.Client(target)
  const run = async (text: string) =>
    statements instanceof BetterSqlite3 ? statements.exec(text) : statements.query(text)
  if (!(statements instanceof BetterSqlite3)) await statements.connect()
  // The last of the tables of a migration that makes several.
  await run('create table kb_passages (id text)')
  const error = await openStore(target).catch((thrown: Error) => thrown)
  assert.match(String(error), /kb_passages.* already exists/)
  await run('drop table kb_passages')
  await (await openStore(target)).close()
  if (statements instanceof BetterSqlite3) statements.close()
  else await statements.end()
  await remove()
})

test('a database of an older version takes a migration that was written before others which it has already', async () => {
  const store = await reopened(async db => {
    await sql`alter table rings drop column payment`.execute(db)
    await sql`delete from kysely_migration where name = '110-payment-rings'`.execute(db)
  })
  assert.not.instance(store, Error)
})

test('a database of a newer version is not called broken', async () => {
  const refused = await reopened(db =>
    sql`insert into kysely_migration (name, timestamp) values ('999-future', '2027-01-01')`.execute(db),
  )
  assert.match(
    (refused as Error).message,
    /999-future\): start the newer version of Tandem that has used it, or restore/,
  )
})

test('a node that has served a database before goes on with it when a newer version has migrated it meanwhile', async () => {
  const { target, remove } = await makeDatabase()
  const store = await openStore(target)
  await sql`insert into kysely_migration (name, timestamp) values ('999-future', '2027-01-01')`.execute(store.db)
  await store.close()
  const again = await openStore(target, undefined, undefined, true)
  assert.ok(await again.db.selectFrom('settings').select('name').limit(1).execute())
  await again.close()
  if (testEngine === 'postgres') await forgetFuture(target)
  await remove()
})

if (testEngine === 'postgres') {
  test('the database that the configuration names is opened, as the node that it names', async () => {
    const { target, remove } = await makeDatabase()
    for (const nodeId of ['one', null]) {
      const store = await openConfiguredStore({ dataDir, databaseUrl: target, nodeId })
      assert.is(nodeOf(store.db), nodeId ?? ownNodeId(dataDir))
      assert.is(await store.transaction(async trx => nodeOf(trx)), nodeId ?? ownNodeId(dataDir))
      await store.close()
    }
    await remove()
  })

  test('a database that is not there, and a user that may not, give one line each', async () => {
    const { target, remove } = await makeDatabase()
    const other = new URL(target)
    other.pathname = '/tandem_test_nothing'
    assert.match(await refusal(other.href), /tandem_test_nothing.*: create that database, or name another one/)
    const stranger = new URL(target)
    stranger.username = 'tandem_test_nobody'
    assert.match(await refusal(stranger.href), /: check user and password in TANDEM_DATABASE_URL\.$/)
    await remove()
  })
}

test.run()
