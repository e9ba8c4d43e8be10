import { type Kysely, Migrator, sql } from 'kysely'
import { IS_NEWER } from '../faults.ts'
import type { Database } from '../tables.ts'
import { INDEXES_OF_ONE_CALL } from './400-449/425-of-one-call.ts'
import { MIGRATIONS } from './all.ts'

/** Migrations whose indexes are of large tables, and of columns that were there before: by the one that needs to be done already. */
const BESIDE = [{ migration: '425-of-one-call', after: '424-old-words', indexes: INDEXES_OF_ONE_CALL }]

/** Any number; nobody else takes this lock. Two nodes that start at once take turns. */
const LOCK = 425_425

/**
 * On PostgreSQL, builds indexes of large tables before the migration that adds them, while other nodes write there
 * (https://www.postgresql.org/docs/15/sql-createindex.html, "Building Indexes Concurrently"): in the migration's transaction, those would wait
 * until all of it is done, half a minute after 250,000 calls. Not on a new database. `made`: the migrations that it has.
 */
async function buildBeside(db: Kysely<Database>, made: ReadonlySet<string>): Promise<void> {
  for (const { migration, after, indexes } of BESIDE) {
    if (made.has(migration) || !made.has(after)) continue
    await db.connection().execute(async one => {
      await sql`select pg_advisory_lock(${LOCK})`.execute(one)
      try {
        for (const index of indexes) await build(one, index)
      } finally {
        await sql`select pg_advisory_unlock(${LOCK})`.execute(one)
      }
    })
  }
}

async function build(db: Kysely<Database>, index: string): Promise<void> {
  const name = index.split(' ')[0]!
  // One whose node has died half way is there, and of no use.
  const { rows } = await sql`select 1 from pg_index where indexrelid = to_regclass(${name}) and not indisvalid`.execute(
    db,
  )
  if (rows.length > 0) await sql.raw(`drop index concurrently ${name}`).execute(db)
  await sql.raw(`create index concurrently if not exists ${index}`).execute(db)
}

interface Parts {
  db: Kysely<Database>
  /** The same, for statements that take minutes. */
  slow: Kysely<Database>
  isServer: boolean
  /** A newer version may have migrated it while we served it. */
  mayBeNewer: boolean
}

/** All or nothing. Processes that start at once take turns: Kysely locks its migration table, or, on SQLite, the database. */
export async function migrate({ db, slow, isServer, mayBeNewer }: Parts): Promise<void> {
  const made = await madeMigrations(db)
  if (isUpToDate(made, mayBeNewer)) return
  if (isServer) await buildBeside(slow, made)
  // A version may bring a migration that was written before others which this database has already.
  const provider = { getMigrations: async () => MIGRATIONS }
  const migrator = new Migrator({ db: slow, provider, allowUnorderedMigrations: true })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/** At most starts there is nothing to migrate. Kysely would read every column of every table to find that out. */
const madeMigrations = (db: Kysely<Database>): Promise<Set<string>> =>
  sql<{ name: string }>`select name from kysely_migration`.execute(db).then(
    ({ rows }) => new Set(rows.map(({ name }) => name)),
    // There are no tables yet. Any other error will recur in the migration.
    () => new Set<string>(),
  )

function isUpToDate(made: ReadonlySet<string>, mayBeNewer: boolean): boolean {
  const newer = [...made].find(name => !(name in MIGRATIONS))
  if (newer !== undefined && !mayBeNewer) throw Object.assign(new Error(`it has ${newer}`), { code: IS_NEWER })
  return newer !== undefined || Object.keys(MIGRATIONS).every(name => made.has(name))
}
