import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, type PostgresPool, sql, type Transaction } from 'kysely'
import { FollowUps } from '../follow-ups.ts'
import { Turns } from '../turns.ts'
import { type Fact, following, type Sender, written } from './after-commit.ts'
import { Checkpoints } from './checkpoints.ts'
import { faultOf } from './faults.ts'
import { migrate } from './migrations/migrate.ts'
import { ONLY_NODE, sinceBoot } from './node.ts'
import { PreparedStatements, type Statements } from './prepared-statements.ts'
import { connectTo, readerDatabase, sqliteDatabase } from './sqlite.ts'
import type { Database } from './tables.ts'
import { WalSync } from './wal-sync.ts'

/** Runs queries: the database itself, or a transaction in it. */
export type Db = Kysely<Database> | Transaction<Database>
export type Trx = Transaction<Database>

/** Runs one of many steps in a transaction of its own; an exception does not stop the others. */
export type Step = (run: (trx: Trx) => Promise<unknown>) => Promise<void>

export type Engine = 'sqlite' | 'postgres'

export interface Store {
  readonly engine: Engine
  readonly db: Kysely<Database>
  /** The same, committed, for questions that may take long: on SQLite in a file they hold nobody up. No transactions, and no columns of octets. */
  readonly reads: Kysely<Database>
  /**
   * All or nothing: commits when `run` returns, rolls back when it throws. Transactions do not nest. They are serializable across processes: what
   * `run` has read still holds when it commits. On a conflict, `run` is rolled back and called again, so it must only query; its effects belong in
   * `afterCommit` and `followUp`. `gathers`: it writes many facts, and what belongs to all of them goes into the database together (`together`).
   */
  transaction<T>(run: (trx: Trx) => Promise<T>, options?: { gathers: boolean }): Promise<T>
  /** Something that is written in the transaction of an event by a noun above the event's. */
  readonly within: Set<(trx: Trx, fact: Fact) => Promise<void> | undefined>
  /** Listeners for what transactions of this process have committed. */
  readonly committed: Set<(fact: Fact) => void>
  /** Follow-ups of this process's transactions outside of the database. */
  readonly followUps: FollowUps
  /** Who delivers events from here; null: nobody in this process. */
  readonly outbox: { sender: Sender | null }
  /** Resolves when everything committed before the call survives a power cut; to be awaited before a write is acknowledged. */
  durable(): Promise<void>
  close(): Promise<void>
}

const NOTHING = { committed: (): void => {}, rolledBack: (): void => {} }

/** Attempts of a transaction, by what befalls it. A unique key that turned out taken was free when we looked: a retry finds its owner. */
const MAX_TRIES = { conflict: 12, taken: 3, outage: 1, other: 1 }
/**
 * After this many conflicts, a transaction queues with the others in the same situation and runs one after the other. If fifty write the same rows at
 * once (a campaign's calls that find their connection full), each attempt lets only one through, and the last would run out of attempts.
 */
const TRIES_BESIDE = 4
/** After this many it runs beside none of other nodes either (PostgreSQL): a long one would lose to many short ones each time. */
const TRIES_BESIDE_NODES = 7
const MAX_WAIT_MS = 400

/**
 * Opens the database, a `postgres://` URL (or connections to it) or a SQLite file (or `:memory:`, the image of a file, or statements on
 * one that is open), and migrates it. `node`: the asking node, if several share a database; `steadyMs`: its clock for durations; `mayBeNewer`: a
 * newer version may have migrated it while we served it, and has only added to it.
 */
export async function openStore(
  target: string | Buffer | PostgresPool | Statements,
  node = ONLY_NODE,
  steadyMs = sinceBoot,
  mayBeNewer = false,
): Promise<Store> {
  const isServer = typeof target === 'string' ? isPostgres(target) : 'connect' in target
  const engine = isServer ? 'postgres' : 'sqlite'
  // Loads the driver only if it is needed.
  const postgres = isServer ? await import('./postgres.ts') : null
  const db =
    postgres === null
      ? sqliteDatabase<Database>(statementsOn(target as string | Buffer | Statements), node, steadyMs)
      : postgres.postgresDatabase<Database>(
          typeof target === 'string' ? postgres.connectionsTo(target) : (target as PostgresPool),
          node,
          steadyMs,
        )
  try {
    const problem = (await postgres?.serverProblem(db)) ?? null
    if (problem !== null) throw new Error(problem)
    const unhurried = typeof target === 'string' ? postgres?.connectionsTo(target, postgres.UNHURRIED) : undefined
    const slow = unhurried === undefined ? db : postgres!.postgresDatabase<Database>(unhurried, node, steadyMs)
    await migrate({ db, slow, isServer, mayBeNewer }).finally(() => (slow === db ? null : slow.destroy()))
    // For what a statement of many rows is to take back if it fails, SQLite made a file. Not before: indexes of large tables are sorted in files.
    if (engine === 'sqlite') await sql`pragma temp_store = memory`.execute(db)
  } catch (error) {
    await db.destroy()
    throw error
  }
  // PostgreSQL itself syncs each commit, and batches the syncs.
  const file = engine === 'sqlite' && typeof target === 'string' && target !== ':memory:' ? target : null
  const log = file === null ? null : new WalSync(file)
  const checkpoints = file === null ? null : new Checkpoints(file)
  const reads = file === null ? db : readerDatabase<Database>(file, node, steadyMs)
  const within: Store['within'] = new Set()
  const committed: Store['committed'] = new Set()
  const followUps = new FollowUps()
  const turns = new Turns()
  const outbox: Store['outbox'] = { sender: null }
  return {
    engine,
    db,
    reads,
    within,
    committed,
    followUps,
    outbox,
    transaction: (run, { gathers } = { gathers: false }) =>
      retrying(async tries => {
        let then = NOTHING
        // SQLite, which has one writer at a time, has no other level.
        const serializable = db.transaction().setIsolationLevel('serializable')
        const running = serializable.execute(async raw => {
          await postgres?.takePart(raw, tries - TRIES_BESIDE_NODES)
          const { trx, ...ends } = following(raw, { within, committed, followUps, outbox }, gathers)
          then = ends
          const made = await run(trx)
          await written(trx)
          return made
        })
        const result = await running.catch((error: unknown) => {
          then.rolledBack()
          throw error
        })
        checkpoints?.noteCommit()
        then.committed()
        return result
      }, turns),
    durable: async () => log?.sync(),
    close: async () => {
      await checkpoints?.close()
      await log?.close()
      await reads.destroy()
      await db.destroy()
    },
  }
}

const statementsOn = (target: string | Buffer | Statements): Statements =>
  typeof target === 'string' || Buffer.isBuffer(target) ? new PreparedStatements(connectTo(target)) : target

const isPostgres = (target: string): boolean => /^postgres(ql)?:\/\//.test(target)

/** The only place that retries after conflicts. `turns`: the queue of transactions with repeated conflicts. */
async function retrying<T>(run: (tries: number) => Promise<T>, turns: Turns, tries = 1): Promise<T> {
  try {
    return await run(tries)
  } catch (error) {
    if (tries >= MAX_TRIES[faultOf(error) ?? 'other']) throw error
  }
  // After a random delay, so that the same transactions do not conflict again.
  await sleep(Math.random() * Math.min(MAX_WAIT_MS, 2 ** (tries + 2)))
  const again = (): Promise<T> => retrying(run, turns, tries + 1)
  return tries === TRIES_BESIDE ? turns.take('', again) : again()
}
