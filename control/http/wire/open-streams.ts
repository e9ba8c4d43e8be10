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

/** An event stream's place within a limit. A stream under two limits has two. */
interface OpenStreamTable {
  id: string
  /** An API key or an organisation in one mode. */
  subject: string
  /** The node where it is open. Places of a lost node do not count. */
  node_id: string
  /** It is over by then, whatever became of its node. */
  ends_at: string
}

/** Maximum duration of an event stream. Its client then reconnects, and its key is checked again [ms]. */
export const LONGEST_STREAM_MS = 15 * 60 * 1000
/** A client that does not read keeps its stream a little longer [ms]. */
const GRACE_MS = 60_000
/** Streams at once with one key: an open connection costs more than a request. */
export const MAX_STREAMS_PER_KEY = 10
const FULL_RETRY_S = 5
/** Time between two checks whether a stream still has its place [ms]. */
const LOOK_MS = 1000

export interface StreamLimit {
  subject: string
  max: number
  /** For the refusal, for example "with this key". */
  whose: string
}

/** An open stream's place. */
export interface StreamPlace {
  /** Aborted when the stream is to end. */
  signal: AbortSignal
  /** Releases the place; idempotent. */
  leave(): void
}

/** By the second one a stream ends with the organisation in which the key acts, which need not be its own. */
export const limitsOfKey = ({ apiKeyId, ...tenant }: Context): StreamLimit[] => [
  { subject: apiKeyId, max: MAX_STREAMS_PER_KEY, whose: 'with this key' },
  { subject: followedIn(tenant), max: Number.POSITIVE_INFINITY, whose: '' },
]

const followedIn = ({ organisationId, livemode }: Tenant): string => `${organisationId} ${livemode} followed`

export const limitOfOrganisation = ({ organisationId, livemode }: Tenant, max: number): StreamLimit => ({
  subject: `${organisationId} ${livemode}`,
  max,
  whose: 'of this organisation',
})

/** Counts the open event streams of all nodes, and ends those of this node when its server closes. */
export class OpenStreams {
  readonly #store: Store
  readonly #now: () => Date
  readonly #log: Pick<FastifyBaseLogger, 'warn'> | null
  readonly #here = new Map<string, AbortController>()
  #timer: NodeJS.Timeout | null = null

  constructor(store: Store, now: () => Date, log: Pick<FastifyBaseLogger, 'warn'> | null = null) {
    this.#store = store
    this.#now = now
    this.#log = log
  }

  /** A place within all limits, or 429 `stream_limit` for the first limit that is reached. */
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
    this.#here.set(id, end)
    this.#watch()
    return { signal: end.signal, leave: () => this.#leave(end, id) }
  }

  /** Runs only while streams are open. */
  #watch(): void {
    this.#timer ??= setTimeout(async () => {
      await this.look().catch(err => this.#log?.warn({ err }, 'the event streams could not be checked'))
      this.#timer = null
      if (this.#here.size > 0) this.#watch()
    }, LOOK_MS).unref()
  }

  /** Ends the streams of this node whose places were removed (`endStreams`), whichever node did it. */
  async look(): Promise<void> {
    const open = [...this.#here]
    if (open.length === 0) return
    const { db } = this.#store
    const rows = await db.selectFrom('open_streams').select('id').where('node_id', '=', nodeOf(db)).execute()
    const kept = new Set(rows.map(({ id }) => id))
    for (const [id, end] of open) if (!kept.has(id)) end.abort()
  }

  #leave(end: AbortController, id: string): void {
    if (!this.#here.delete(id)) return
    end.abort()
    // While the database is unavailable, the place stays taken until its end.
    this.#store.db
      .deleteFrom('open_streams')
      .where('id', '=', id)
      .execute()
      .catch(err => this.#log?.warn({ err }, 'the place of an event stream was not given back'))
  }

  /** Ends the streams of this node because its server closes. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const end of this.#here.values()) end.abort()
  }
}

/** The subjects of the streams of an organisation as a whole, in both modes. */
const organisationSubjects = (organisationId: string): string[] =>
  [true, false]
    .map(livemode => ({ organisationId, livemode }))
    .flatMap(tenant => [limitOfOrganisation(tenant, 0).subject, followedIn(tenant)])

/** Ends the streams of these keys, within a second of the commit on every node. */
export async function endStreams(trx: Trx, subjects: readonly string[]): Promise<void> {
  if (subjects.length === 0) return
  const ended = trx.selectFrom('open_streams').select('id').where('subject', 'in', subjects)
  await trx.deleteFrom('open_streams').where('id', 'in', ended).execute()
}

/** Ends all streams of an organisation, in the same way. */
export async function endStreamsOfAll(trx: Trx, organisationId: string): Promise<void> {
  const keys = await trx.selectFrom('api_keys').select('id').where('organisation_id', '=', organisationId).execute()
  await endStreams(trx, [...keys.map(({ id }) => id), ...organisationSubjects(organisationId)])
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

/** Removes the streams that this node had before its restart: their connections are gone. */
export async function forgetStreams(db: Db): Promise<void> {
  await db.deleteFrom('open_streams').where('node_id', '=', nodeOf(db)).execute()
}

/** To be called regularly. */
export async function sweepStreams(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('open_streams').where('ends_at', '<=', now.toISOString()).execute()
}
