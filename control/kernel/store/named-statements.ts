import { createHash } from 'node:crypto'
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { STATEMENT_LOST } from './faults.ts'

/** Maximum number of statements that each connection keeps prepared; the server holds some 25 kB for each. */
const MAX_NAMED = 256
/** Texts of which it is remembered that they were sent once. */
const MAX_SEEN = 500

/** The tables have changed (another node migrated them), so that `select *` would have other columns. */
const OUTDATED = '0A000'
/** This connection of the server has not prepared it, or has already: a pooler hands its connections from one client to the other. */
const NOT_OURS: readonly unknown[] = ['26000', '42P05']
/** Nothing can be asked in this transaction any more. */
const FAILED_TRANSACTION = '25P02'

/**
 * A pool that names the statements which come again: each connection then parses and plans them once, which takes PostgreSQL several times as
 * long as to run most of ours. Only texts with parameters: without them they are few, or begin and end transactions.
 */
export class NamedStatements implements PostgresPool {
  readonly #pool: pg.Pool
  /** By text, of which they are made: behind a pooler another process may have prepared what has the same name. */
  readonly #names = new Map<string, string>()
  readonly #seen = new LRUCache<string, true>({ max: MAX_SEEN })
  /** How often the tables have changed. */
  #age = 0
  #isOff = false

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async connect(): Promise<PostgresPoolClient> {
    const client = await this.#pool.connect()
    const query = (text: string, values: readonly unknown[]) => this.#query(client, text, values)
    return { query: query as PostgresPoolClient['query'], release: () => client.release() }
  }

  end(): Promise<void> {
    return this.#pool.end()
  }

  #query(client: pg.PoolClient, text: string, values: readonly unknown[]): Promise<PostgresQueryResult<unknown>> {
    const name = values.length === 0 ? undefined : this.#nameOf(text)
    const plainly = () => client.query(text, values as unknown[]) as Promise<PostgresQueryResult<never>>
    if (name === undefined) return plainly()
    const named = client.query({ name, text, values: values as unknown[] }) as Promise<PostgresQueryResult<never>>
    return named.catch(async error => {
      if (!this.#isLost(error)) throw error
      return plainly().catch(second => {
        if (second.code !== FAILED_TRANSACTION) throw second
        throw Object.assign(new Error(error.message, { cause: error }), { code: STATEMENT_LOST })
      })
    })
  }

  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#isOff || this.#names.size >= MAX_NAMED) return known
    if (!this.#seen.has(text)) {
      this.#seen.set(text, true)
      return undefined
    }
    const digest = createHash('sha256').update(`${this.#age} ${text}`).digest('hex')
    const name = `tandem_${digest.slice(0, 40)}`
    this.#names.set(text, name)
    return name
  }

  /** Names are not used again for what they may no longer mean. */
  #isLost({ code }: pg.DatabaseError): boolean {
    if (NOT_OURS.includes(code)) this.#isOff = true
    else if (code !== OUTDATED) return false
    this.#age++
    this.#names.clear()
    return true
  }
}
