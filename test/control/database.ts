import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { Migrator, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { MIGRATIONS } from '../../control/kernel/store/migrations/all.ts'
import { ONLY_NODE, type SteadyClock, sinceBoot } from '../../control/kernel/store/node.ts'
import { connectionsTo, postgresDatabase } from '../../control/kernel/store/postgres.ts'
import { PreparedStatements } from '../../control/kernel/store/prepared-statements.ts'
import { connectTo, sqliteDatabase } from '../../control/kernel/store/sqlite.ts'
import { openStore, type Store } from '../../control/kernel/store/store.ts'
import { lentStatements } from './lent-statements.ts'

/**
 * The databases of tests. Without `TANDEM_TEST_DATABASE_URL` they are SQLite's. With it (the URL of any database of a PostgreSQL server,
 * with a user who may create databases) each is a database of its own there, copied from a template with the tables.
 */
const SERVER = process.env.TANDEM_TEST_DATABASE_URL

/** Prefix of all test databases on the server. */
const TEST_PREFIX = 'tandem_test'
/** Application name of connections that outlive a test. */
const KEPT = 'tandem kept'
/** Lock under which one of several simultaneous runs makes the template. */
const TEMPLATE_LOCK = 7_283_640

export const testEngine = SERVER === undefined ? 'sqlite' : 'postgres'

/** A database that several stores, and several processes, can open at once. */
interface TestDatabase {
  /** What `openStore` takes. */
  target: string
  /** Removes it. To be called when all stores on it are closed. */
  remove(): Promise<void>
}

/** `blank`: without tables. */
export async function makeDatabase({ blank = false } = {}): Promise<TestDatabase> {
  if (SERVER !== undefined) return blank ? makeBlank(SERVER) : makePostgres(SERVER)
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  if (!blank) writeFileSync(join(folder, 'tandem.db'), await sqliteImage())
  return { target: join(folder, 'tandem.db'), remove: async () => rmSync(folder, { recursive: true }) }
}

/** The database while it has not all migrations: `migrateTo(name)` brings it to what it was after that one. */
export function openMigrating(target: string) {
  const db =
    SERVER === undefined
      ? sqliteDatabase(new PreparedStatements(connectTo(target)), ONLY_NODE, sinceBoot)
      : postgresDatabase(connectionsTo(target), ONLY_NODE, sinceBoot)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } })
  const migrateTo = async (name: keyof typeof MIGRATIONS): Promise<void> => {
    const { error } = await migrator.migrateTo(name)
    if (error !== undefined) throw error
  }
  return { db, migrateTo }
}

/** A store on a database of its own, which is removed when the store is closed. */
export async function openTestStore(steadyMs?: SteadyClock): Promise<Store> {
  if (SERVER === undefined) return openStore(lentStatements(await sqliteImage()), ONLY_NODE, steadyMs)
  const database = await makeDatabase()
  const store = await openStore(lent(database.target), ONLY_NODE, steadyMs)
  const close = async (): Promise<void> => {
    await store.close()
    await database.remove()
  }
  return { ...store, close }
}

/** File of the image that the test command has made. */
const IMAGE = process.env.TANDEM_TEST_IMAGE
let image: Promise<Buffer> | null = null

/** The content of a SQLite file with the tables. Reading it takes a twentieth of the time of the migrations. */
function sqliteImage(): Promise<Buffer> {
  image ??= IMAGE === undefined ? makeImage() : readFile(IMAGE)
  return image
}

/** Writes the image for the other processes of a run, including products. */
export async function writeImage(file: string): Promise<void> {
  writeFileSync(file, await makeImage())
}

async function makeImage(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const file = join(folder, 'tandem.db')
  await (await openStore(file)).close()
  // A database in memory has no log.
  const database = new BetterSqlite3(file)
  database.pragma('journal_mode = DELETE')
  database.close()
  const bytes = readFileSync(file)
  rmSync(folder, { recursive: true })
  return bytes
}

/** Files that run one after the other share a slot, in which each reuses the databases of the one before. */
const SLOT = process.env.TANDEM_TEST_SLOT

let admin: pg.Pool | null = null
let template: Promise<string> | null = null
let made = 0
/** Databases of this process, and the unused ones, since emptying one costs a twentieth of copying the template. */
const all: string[] = []
const free: string[] = []

async function makePostgres(server: string): Promise<TestDatabase> {
  admin ??= new pg.Pool({ connectionString: server, max: 2, allowExitOnIdle: true })
  template ??= makeTemplate(admin, server)
  const name = free.pop() ?? `${TEST_PREFIX}_${SLOT ?? process.pid}_${(await template).slice(-8)}_${++made}`
  const target = urlOf(server, name)
  if (all.length === 0 && SLOT === undefined) process.once('beforeExit', removeAll)
  const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [name])
  const isEmpty = rowCount === 1 && (await empty(name, target))
  if (!isEmpty) {
    await endKept(target)
    await admin.query(`drop database if exists ${name} with (force)`)
    await admin.query(`create database ${name} template ${await template}`)
  }
  if (!all.includes(name)) all.push(name)
  return { target, remove: async () => void free.push(name) }
}

async function makeBlank(server: string): Promise<TestDatabase> {
  const { target, remove } = await makePostgres(server)
  const name = new URL(target).pathname.slice(1)
  await endKept(target)
  await admin?.query(`drop database ${name} with (force)`)
  await admin?.query(`create database ${name} encoding 'UTF8' template template0`)
  return { target, remove }
}

/** One connection to each is kept, because statements that it has prepared cost the server a twentieth. */
const cleaners = new Map<string, Cleaner>()

interface Cleaner {
  pool: pg.Pool
  /** Deletes every row. A single statement, since foreign keys are checked at its end. */
  deletion: pg.QueryConfig
}

/** Undefined table: a test has changed the tables. */
const UNDEFINED_TABLE = '42P01'

/** Deletes every row, and ends other connections. False: the database's tables have changed. */
async function empty(name: string, target: string): Promise<boolean> {
  const { pool, deletion } = cleaners.get(name) ?? (await makeCleaner(name, target))
  await pool.query(OTHERS_END)
  try {
    await pool.query(deletion)
    return true
  } catch (error) {
    if ((error as pg.DatabaseError).code !== UNDEFINED_TABLE) throw error
    cleaners.delete(name)
    return false
  }
}

/** Connections in a transaction are not idle. */
const OTHERS_END = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and not (application_name = '${KEPT}' and state = 'idle')`

/** Pools of connections for each database, kept because their prepared statements serve the next test too. */
const kept = new Map<string, PostgresPool>()

/** A pool for one store, which ends when all connections are given back. */
function lent(target: string): PostgresPool {
  const pool = kept.get(target) ?? connectionsTo(target, { application_name: KEPT, min: 2, idleTimeoutMillis: 2000 })
  kept.set(target, pool)
  let out = 0
  let allBack = (): void => {}
  const back = (): void => {
    if (--out === 0) allBack()
  }
  const connect = async (): Promise<PostgresPoolClient> => {
    out++
    try {
      const client = await pool.connect()
      const release = (): void => {
        client.release()
        back()
      }
      return { query: client.query, release }
    } catch (error) {
      back()
      throw error
    }
  }
  const end = async (): Promise<void> => {
    if (out > 0) await new Promise<void>(resolve => (allBack = resolve))
  }
  return { connect, end }
}

/** Ends kept connections before their database is removed. */
async function endKept(target: string): Promise<void> {
  await kept.get(target)?.end()
  kept.delete(target)
}

async function makeCleaner(name: string, target: string): Promise<Cleaner> {
  const pool = new pg.Pool({ connectionString: target, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
  // The database is removed, or a test has ended all connections: the next query makes another one.
  pool.on('error', () => {})
  const { rows } = await pool.query(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename not like 'kysely%'`,
  )
  const deletes = rows.map((row, i) => `d${i} as (delete from "${row.name}")`)
  // No row remains, so foreign keys need not be checked. Users without the right for this setting have them checked.
  await pool.query('set session_replication_role = replica').catch(() => {})
  const cleaner = { pool, deletion: { name: 'empty', text: `with ${deletes.join(', ')} select 1` } }
  cleaners.set(name, cleaner)
  return cleaner
}

async function removeAll(): Promise<void> {
  for (const name of all) await admin?.query(`drop database if exists ${name} with (force)`)
}

function urlOf(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** Another process of the same run may have more migrations, as with a noun of its own, and each goes on using its template. */
const KEPT_TEMPLATES = 3

/** Makes the template. Its name depends on the content of the migrations, so that a change of them makes a new one. */
async function makeTemplate(pool: pg.Pool, server: string): Promise<string> {
  const name = `${TEST_PREFIX}_template_${digestOfMigrations()}`
  const client = await pool.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
    // The newest first.
    const { rows } = await client.query('select datname from pg_database where datname like $1 order by oid desc', [
      `${TEST_PREFIX}_template_%`,
    ])
    if (rows.some(({ datname }) => datname === name)) return name
    // It has another name until it is complete.
    const draft = `${TEST_PREFIX}_template_draft`
    for (const old of [draft, ...rows.slice(KEPT_TEMPLATES).map(({ datname }) => datname)])
      await client.query(`drop database if exists ${old} with (force)`)
    await client.query(`create database ${draft} encoding 'UTF8' template template0`)
    await (await openStore(urlOf(server, draft))).close()
    await client.query(`alter database ${draft} rename to ${name}`)
    return name
  } finally {
    await client.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
    client.release()
  }
}

function digestOfMigrations(): string {
  const root = fileURLToPath(new URL('../../control/', import.meta.url))
  const migrations = join(root, 'kernel/store/migrations')
  const names = readdirSync(migrations, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  const files = [...names.map(name => join(migrations, name)), join(root, 'kernel/store/postgres.ts')]
  // The names of the migrations that this process has loaded, since the files may have changed.
  const hash = createHash('sha256').update(Object.keys(MIGRATIONS).join())
  for (const file of files.sort()) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}
