import { createHash } from 'node:crypto'
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { STATEMENT_LOST } from './faults.ts'
import { Serializable } from './serializable.ts'

/** Maximum number of statements that each connection keeps prepared; each takes about 25 kB in the server. */
const MAX_NAMED = 256
/** Maximum number of remembered texts that were sent once. */
const MAX_SEEN = 500

/** Another node has migrated the tables, so that a prepared `select *` would have other columns ("cached plan must not change result type"). */
const OUTDATED = '0A000'
/** `pg` got no answer in time. It would send the next query behind the unanswered one, on a connection whose server may be gone for good. */
const UNANSWERED = 'Query read timeout'
/** The server's connection has not prepared the statement, or has already: a pooler (PgBouncer) gives clients each other's connections. */
const NOT_OURS: readonly unknown[] = ['26000', '42P05']
/** The transaction has failed already: PostgreSQL refuses every further statement in it. */
const FAILED_TRANSACTION = '25P02'

/**
 * A pool that names statements from their second use on, so that each connection parses and plans them only once: PostgreSQL takes several times as
 * long for that as for running most of ours. Only texts with parameters: those without are few, or begin and end transactions.
 */
export class NamedStatements implements PostgresPool {
  readonly #pool: pg.Pool
  /** By text. A name is a hash of its text, since behind a pooler other processes prepare statements on the same connection. */
  readonly #names = new Map<string, string>()
  readonly #seen = new LRUCache<string, true>({ max: MAX_SEEN })
  /** How often all names were given up; part of each hash. */
  #age = 0
  /** Behind a pooler: nothing is named any more. */
  #isOff = false

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async connect(): Promise<PostgresPoolClient> {
    const client = await this.#pool.connect()
    let unanswered: Error | undefined
    const failed = (error: Error): never => {
      if (error.message === UNANSWERED) unanswered = error
      throw error
    }
    const serializable = new Serializable()
    const query = (text: string, values: readonly unknown[]) =>
      unanswered === undefined
        ? serializable.answer(text, values, () => this.#query(client, text, values).catch(failed))
        : Promise.reject(unanswered)
    // With an error, the connection leaves the pool.
    return { query: query as PostgresPoolClient['query'], release: () => client.release(unanswered) }
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

  /** Whether the prepared statement is lost. Then all names are given up: later ones differ, since the server may still know the old ones. */
  #isLost({ code }: pg.DatabaseError): boolean {
    if (NOT_OURS.includes(code)) this.#isOff = true
    else if (code !== OUTDATED) return false
    this.#age++
    this.#names.clear()
    return true
  }
}
