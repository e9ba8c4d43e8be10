import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { Context } from '../context.ts'
import { type Problem, problem } from '../errors.ts'

declare module '../../kernel/store/tables.ts' {
  interface Database {
    open_streams: OpenStreamTable
  }
}

/** A place that an event stream has of a limit; a stream of two limits has two. */
export interface OpenStreamTable {
  id: string
  /** An API key or an organisation in one mode. */
  subject: string
  /** Where it is open. The places of a lost node count for nothing. */
  node_id: string
  /** By then it is over, whatever became of its node. */
  ends_at: string
}

/** The longest that an event stream stays open; its client then connects again, and its key is checked again [ms]. */
export const LONGEST_STREAM_MS = 15 * 60 * 1000
/** A client that does not read keeps its stream a little longer [ms]. */
const GRACE_MS = 60_000
/** Streams at once with one key: a connection held open costs more than a request. */
export const MAX_STREAMS_PER_KEY = 10
const FULL_RETRY_S = 5

export interface StreamLimit {
  subject: string
  max: number
  /** As the refusal says it: "with this key". */
  whose: string
}

/** An open stream's place. */
export interface StreamPlace {
  /** Aborts when the stream is to end. */
  signal: AbortSignal
  /** Gives the place back; idempotent. */
  leave(): void
}

export const limitOfKey = ({ apiKeyId }: Context): StreamLimit => ({
  subject: apiKeyId,
  max: MAX_STREAMS_PER_KEY,
  whose: 'with this key',
})

export const limitOfOrganisation = ({ organisationId, livemode }: Tenant, max: number): StreamLimit => ({
  subject: `${organisationId} ${livemode}`,
  max,
  whose: 'of this organisation',
})

/** Counts the event streams that are open at all nodes, and ends those of this one when its server closes. */
export class OpenStreams {
  readonly #store: Store
  readonly #now: () => Date
  readonly #log: Pick<FastifyBaseLogger, 'warn'> | null
  readonly #here = new Set<AbortController>()

  constructor(store: Store, now: () => Date, log: Pick<FastifyBaseLogger, 'warn'> | null = null) {
    this.#store = store
    this.#now = now
    this.#log = log
  }

  /** A place within all limits, or 429 `stream_limit` for the first one that is reached. */
  async take(limits: readonly StreamLimit[]): Promise<StreamPlace | Problem> {
    const id = randomUUID()
    const now = this.#now()
    const full = await this.#store.transaction(async trx => {
      for (const limit of limits) if ((await openOf(trx, limit.subject, now)) >= limit.max) return limit
      const ends_at = new Date(now.getTime() + LONGEST_STREAM_MS + GRACE_MS).toISOString()
      const node_id = nodeOf(trx)
      await trx
        .insertInto('open_streams')
        .values(limits.map(({ subject }) => ({ id, subject, node_id, ends_at })))
        .execute()
      return null
    })
    if (full !== null)
      return problem('stream_limit', `Too many streams at once ${full.whose}.`, { retryAfterS: FULL_RETRY_S })
    const end = new AbortController()
    this.#here.add(end)
    return { signal: end.signal, leave: () => this.#leave(end, id) }
  }

  #leave(end: AbortController, id: string): void {
    if (!this.#here.delete(end)) return
    end.abort()
    // While the database is away the place stays taken until its end.
    this.#store.db
      .deleteFrom('open_streams')
      .where('id', '=', id)
      .execute()
      .catch(err => this.#log?.warn({ err }, 'the place of an event stream was not given back'))
  }

  /** Ends the streams of this node: the server closes. */
  close(): void {
    for (const end of this.#here) end.abort()
  }
}

async function openOf(trx: Trx, subject: string, now: Date): Promise<number> {
  const { open } = await trx
    .selectFrom('open_streams')
    .leftJoin('nodes', 'nodes.id', 'open_streams.node_id')
    .select(({ fn }) => fn.countAll<number | string>().as('open'))
    .where('subject', '=', subject)
    .where('ends_at', '>', now.toISOString())
    .where('nodes.lost_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(open)
}

/** The streams that this node had before it was started again: their clients have gone with it. */
export async function forgetStreams(db: Db): Promise<void> {
  await db.deleteFrom('open_streams').where('node_id', '=', nodeOf(db)).execute()
}

/** To be called from time to time. */
export async function sweepStreams(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('open_streams').where('ends_at', '<=', now.toISOString()).execute()
}
