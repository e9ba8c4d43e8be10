import {
  type DataTypeNode,
  type Dialect,
  HandleEmptyInListsPlugin,
  Kysely,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  type PostgresPool,
  PostgresQueryCompiler,
  replaceWithNoncontingentExpression,
  sql,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import { IS_NEWER, OPEN_ADVICE } from './faults.ts'
import { NamedStatements } from './named-statements.ts'
import { ofNode, type SteadyClock } from './node.ts'
import { asPostgresText } from './postgres-text.ts'

/** Connections per control process. */
const MAX_CONNECTIONS = 16
/** How long a query waits for a connection, and a connection attempt for its server. */
const CONNECT_TIMEOUT_MS = 5000
const STATEMENT_TIMEOUT_MS = 15_000
/** For migrations, which take minutes where there are years of rows. */
export const UNHURRIED = { statement_timeout: 0, query_timeout: 0 }
/** The locks of a transaction whose process hangs are released after this. */
const IDLE_TRANSACTION_MS = 30_000
/** An idle connection is closed after this. */
const IDLE_CONNECTION_MS = 60_000
const OLDEST = { number: 150_000, name: '15' }

/**
 * PostgreSQL, configured to behave like SQLite, whatever the server's settings: `integer` has 64 bits, text is compared byte by
 * byte, and NUL, which its text cannot hold, becomes U+FFFD like other invalid characters.
 */
class Compiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    if (node.dataType === 'integer') this.append('bigint')
    else super.visitDataType(node)
    if (node.dataType === 'text' && this.parentNode?.kind === 'ColumnDefinitionNode') this.append(' collate "C"')
  }

  protected override addParameter(parameter: unknown): void {
    super.addParameter(asPostgresText(parameter))
  }
}

const dialectOn = (pool: PostgresPool, node: string, steadyMs: SteadyClock): Dialect => ({
  createDriver: () => new PostgresDriver({ pool }),
  createQueryCompiler: () => new Compiler(),
  createAdapter: () => ofNode(new PostgresAdapter(), node, steadyMs),
  createIntrospector: db => new PostgresIntrospector(db),
})

/** int8 and numeric (`count`, `sum`) arrive as text by default; ours are below 2^53. */
const NUMBERS: readonly number[] = [pg.types.builtins.INT8, pg.types.builtins.NUMERIC]
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text') =>
    NUMBERS.includes(oid) ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** The connections to the database at a `postgres://` URL, of which there is none yet. `options`: other than the product's. */
export function connectionsTo(url: string, options: pg.PoolConfig = {}): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    types,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // For a server that cannot even report that.
    query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    keepAlive: true,
    // What `Serializable` does not wait for.
    pipeline: true,
    // Idle connections do not keep the process alive.
    allowExitOnIdle: true,
    application_name: 'tandem',
    ...options,
  })
  // A broken connection leaves the pool, and its query fails. The next query opens another, or reports why it cannot.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return new NamedStatements(pool)
}

export function postgresDatabase<DB>(pool: PostgresPool, node: string, steadyMs: SteadyClock): Kysely<DB> {
  // `in ()`, which only SQLite knows, becomes false.
  const plugins = [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })]
  return new Kysely<DB>({ dialect: dialectOn(pool, node, steadyMs), plugins })
}

/** How long a transaction waits at first until it is alone: so do all that begin meanwhile, behind one whose process hangs. */
const ALONE_TIMEOUT_MS = 50

/**
 * Begins a serializable transaction: beside others, or, at an attempt above 0 to be alone, when these are over; then others wait. What is locked is a
 * table that nobody uses meanwhile, and before the transaction sees any rows (LOCK takes no snapshot): none of them changes while it waits.
 */
export async function takePart<DB>(trx: Transaction<DB>, attempt: number): Promise<void> {
  if (attempt > 0) await sql`set local lock_timeout = ${sql.lit(ALONE_TIMEOUT_MS * 2 ** attempt)}`.execute(trx)
  await sql`lock table kysely_migration in ${sql.raw(attempt > 0 ? 'exclusive' : 'row share')} mode`.execute(trx)
}

/** Why this server cannot hold our tables; null: it can. */
export async function serverProblem<DB>(db: Kysely<DB>): Promise<string | null> {
  const { rows } = await sql<{ version: number; name: string; encoding: string }>`
    select current_setting('server_version_num')::int as version, current_setting('server_version') as name,
      current_setting('server_encoding') as encoding`.execute(db)
  const { version = 0, name = '', encoding = '' } = rows[0] ?? {}
  if (version < OLDEST.number) return `it is PostgreSQL ${name}: use ${OLDEST.name} or later`
  return encoding === 'UTF8' ? null : `its encoding is ${encoding}: make it with ENCODING 'UTF8' TEMPLATE template0`
}

/** Advice for a server that was not reached, by SQLSTATE or Node's code. */
const ADVICE: [RegExp, string][] = [
  [/^28/, 'check user and password in TANDEM_DATABASE_URL'],
  [/^3D000$/, 'create that database, or name another one in TANDEM_DATABASE_URL'],
  [/^42501$/, 'grant the user CREATE on the schema, or make it the owner of the database'],
  [/^53300$/, 'allow the server more connections (max_connections)'],
  [/^IS_NEWER$/, OPEN_ADVICE[IS_NEWER]!],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'check the host in TANDEM_DATABASE_URL'],
]

/** One line that says what to change. `url` is shown without its password. */
export function describeOpenError(url: string, error: unknown): string {
  const { host, pathname } = new URL(url)
  const { code = '', message } = error as Error & { code?: string }
  const reason = message === '' ? code : message
  const advice = ADVICE.find(([pattern]) => pattern.test(code))?.[1] ?? 'start it, or correct TANDEM_DATABASE_URL'
  return `Cannot open the database ${host}${pathname} (${reason}): ${advice}.`
}
