// One database: only SQLite has one connection, for which others may have to wait.
import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { type Place, rowsOf } from '../../../../control/kernel/store/compiled.ts'
import { revisionOf } from '../../../../control/kernel/store/shortcut.ts'
import { type Db, openStore, type Trx } from '../../../../control/kernel/store/store.ts'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { suite } from '../../../harness.ts'
import { makeWorld } from '../../app-harness.ts'
import { makeDatabase } from '../../database.ts'

const test = suite('control/kernel/store/shortcut')

const AT = '2026-11-21T10:00:00.000Z'

async function open() {
  const { target: file, remove } = await makeDatabase()
  const world = await makeWorld(await openStore(file))
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const addTeam = (db: Db, id: string) => forTenant(db, tenant).insert('teams', { id, name: id, created: AT })
  const teams = async (db: Db): Promise<string[]> => {
    const rows = await rowsOf(db, 'all teams', (_: Place) => db.selectFrom('teams').select('id').orderBy('id'), {})
    return rows.map(({ id }) => id)
  }
  const close = async (): Promise<void> => {
    await world.store.close()
    await remove()
  }
  return { ...world, file, addTeam, teams, close }
}

/** A transaction that stays open after its first statement until it is told to end. */
function begun(store: Awaited<ReturnType<typeof open>>['store'], first: (trx: Trx) => Promise<unknown>) {
  let end = (_error?: Error): void => {}
  let hasBegun = (): void => {}
  const begun = new Promise<void>(resolve => {
    hasBegun = resolve
  })
  const running = store.transaction(async trx => {
    await first(trx)
    await new Promise<void>((resolve, reject) => {
      end = error => (error === undefined ? resolve() : reject(error))
      hasBegun()
    })
  })
  return { begun, running, end: (error?: Error) => end(error) }
}

test('what a transaction has written is seen by itself, and by others once it is committed', async () => {
  const { store, addTeam, teams, close } = await open()
  let own: string[] = []
  const writing = begun(store, async trx => {
    await addTeam(trx, 'team_1')
    own = await teams(trx)
  })
  await writing.begun
  assert.equal(own, ['team_1'])
  const others = teams(store.db)
  writing.end(new Error('rolled back'))
  assert.equal(await others, [], 'it has waited: what it read was never taken back')
  await writing.running.catch(() => {})
  await addTeam(store.db, 'team_2')
  assert.equal(await teams(store.db), ['team_2'])
  await close()
})

test('what is written beside an open transaction is no part of it', async () => {
  const { store, addTeam, teams, close } = await open()
  const writing = begun(store, trx => addTeam(trx, 'team_1'))
  await writing.begun
  const beside = addTeam(store.db, 'team_2')
  writing.end(new Error('rolled back'))
  await writing.running.catch(() => {})
  await beside
  assert.equal(await teams(store.db), ['team_2'])
  await close()
})

test('a revision changes with every way to write to a table, and with no other', async () => {
  const { file, store, addTeam, close } = await open()
  const { db } = store
  let before = revisionOf(db, ['teams', 'users'])
  const changed = (): boolean => {
    const now = revisionOf(db, ['teams', 'users'])
    const isNew = now !== before
    before = now
    return isNew
  }
  assert.is(changed(), false)
  await db.selectFrom('teams').selectAll().execute()
  assert.is(changed(), false, 'it was read')
  await sql`update organisations set name = 'Other'`.execute(db)
  assert.is(changed(), false, 'another table was written to')
  await addTeam(db, 'team_1')
  assert.is(changed(), true, 'compiled once')
  await db.updateTable('teams').set({ name: 'Sales' }).execute()
  assert.is(changed(), true, 'built')
  await db.updateTable('teams').set({ name: 'Sales' }).returning('id').execute()
  assert.is(changed(), true, 'written and read in one')
  await sql`UPDATE teams SET name = 'Support'`.execute(db)
  assert.is(changed(), true, 'as text')
  await sql`insert or ignore into teams select * from teams`.execute(db)
  assert.is(changed(), true, 'in words that say nothing to us')
  await db.deleteFrom('teams').execute()
  assert.is(changed(), true, 'deleted')
  await store.transaction(trx => addTeam(trx, 'team_2'))
  assert.is(changed(), true, 'in a transaction')
  const other = await openStore(file)
  before = revisionOf(db, ['teams', 'users'])
  await other.db.updateTable('teams').set({ name: 'Sales' }).execute()
  assert.is(changed(), true, 'by another connection')
  await other.close()
  await close()
})

test('while a transaction is open nobody can say what is written', async () => {
  const { store, addTeam, close } = await open()
  const writing = begun(store, trx => addTeam(trx, 'team_1'))
  await writing.begun
  assert.is(revisionOf(store.db, ['teams']), null)
  writing.end()
  await writing.running
  assert.type(revisionOf(store.db, ['teams']), 'number')
  await close()
})

test('who watches the queries of a database sees all of them', async () => {
  const { store, teams, close } = await open()
  let seen = 0
  const watched = store.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      seen++
      return result
    },
  })
  await teams(watched)
  assert.is(seen, 1)
  await close()
})

test.run()
