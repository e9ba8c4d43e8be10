import { createHash } from 'node:crypto'
import { type ConnectionSpec, fitting, isFailure, isUndecided } from '../../media/protocol.ts'
import { only } from '../kernel/store/after-commit.ts'
import { rowsOf } from '../kernel/store/compiled.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import type { Vault } from '../kernel/vault.ts'
import type { MediaPort } from '../media-link/events.ts'
import { credentialsOf } from './account.ts'
import { addressOfRecord, sipHost } from './address.ts'
import { CONNECTION_CHANGED } from './networks.ts'
import { hostsOf } from './outbound.ts'
import { knownSources, trunkNetworks } from './sources.ts'
import type { ConnectionRow } from './tables.ts'

/** Interval of looking for changes by other nodes [ms]; changes by this node are known at once. */
const LOOK_MS = 10_000
/** Lease of a node on a connection [ms]. It is renewed after half of that. */
const LEASE_MS = 60_000
/** Connections read per query. */
const PAGE = 500

interface KeeperDeps {
  store: Store
  now: () => Date
  /** The host of our own SIP address, from which trunks are monitored. */
  sipHost: string
  /** Opens the passwords. */
  vault: Vault
  log: { warn(fields: object, message: string): void }
}

/**
 * Tells media where to register and which far ends to monitor. Each connection belongs to one node at a time, by a lease in its row: two
 * registrations of one account would make each call ring twice.
 */
export class ConnectionKeeper {
  readonly #deps: KeeperDeps
  /** The connections that media was last told, as JSON; null: unknown. */
  #told: string | null = null
  #toldNetworks: string | null = null
  /** Networks of connections, as last read. */
  #networks: readonly string[] = []
  /** Number of changes so far, and how many of them media knows. */
  #changes = 1
  #known = 0
  #lookedMs = 0
  /** What media is told about each of our connections, with the `updated` of the row that it was made from. */
  #specs = new Map<string, { updated: string; spec: ConnectionSpec | null }>()

  constructor(deps: KeeperDeps) {
    this.#deps = deps
    deps.store.committed.add(only([CONNECTION_CHANGED], () => void this.#changes++))
  }

  /** To be called when media may be a new process: everything is sent again. */
  forget(): void {
    this.#told = null
    this.#toldNetworks = null
    this.#changes++
  }

  /** To be called regularly. Does not read all connections each time: with many of them, calls would have to wait. */
  async run(media: MediaPort): Promise<void> {
    const at = this.#deps.now()
    const changes = this.#changes
    const isDue = this.#known !== changes || Math.abs(at.getTime() - this.#lookedMs) >= LOOK_MS
    // Two changes by this node may have the same `updated`, so everything is read again.
    if (this.#known !== changes) this.#specs.clear()
    if (isDue) this.#networks = await trunkNetworks(this.#deps.store.db)
    await this.#tellNetworks(media, at)
    if (!isDue) return
    this.#lookedMs = at.getTime()
    if (await this.#look(media, at)) this.#known = changes
  }

  /** Sends our connections to media, if they have changed. False: media could not be told. */
  async #look(media: MediaPort, at: Date): Promise<boolean> {
    const { store, log } = this.#deps
    const kept = await this.#specsOf(await claim(store, at))
    const connections = fitting(kept)
    const text = JSON.stringify(connections)
    if (text === this.#told) return true
    if (connections.length < kept.length) log.warn({ kept: kept.length }, 'too many connections to keep up with all')
    const reply = await media.request('connections.set', { connections })
    if (!isFailure(reply)) this.#told = text
    else if (!isUndecided(reply)) log.warn({ reason: reply.message }, 'connections cannot be kept up with')
    return !isFailure(reply)
  }

  /** Reads only connections that have changed. */
  async #specsOf(ours: readonly Kept[]): Promise<ConnectionSpec[]> {
    const { store, sipHost, vault } = this.#deps
    const before = this.#specs
    const changed = ours.filter(({ id, updated }) => before.get(id)?.updated !== updated)
    this.#specs = new Map(ours.flatMap(({ id }) => (before.has(id) ? [[id, before.get(id)!]] : [])))
    for (let n = 0; n < changed.length; n += PAGE) {
      const ids = idsOf(changed.slice(n, n + PAGE))
      for (const row of await store.db.selectFrom('connections').selectAll().where('id', 'in', ids).execute()) {
        this.#specs.set(row.id, { updated: row.updated, spec: specOf(row, sipHost, vault) })
      }
    }
    return ours.flatMap(({ id }) => this.#specs.get(id)?.spec ?? [])
  }

  /** Sources for which media keeps capacity in a flood. */
  async #tellNetworks(media: MediaPort, at: Date): Promise<void> {
    const sources = await knownSources(this.#deps.store.db, at, this.#networks)
    const text = JSON.stringify(sources)
    if (text === this.#toldNetworks) return
    if (!isFailure(await media.request('sources.set', sources))) this.#toldNetworks = text
  }
}

/** Columns that decide which node a connection belongs to, and whether it has changed. */
const KEPT = ['id', 'host', 'enabled', 'kept_by', 'kept_until', 'updated'] as const
type Kept = Pick<ConnectionRow, (typeof KEPT)[number]>

const isWanted = (row: Kept): boolean => row.enabled === 1 && row.host !== null

/** Takes connections without a node, renews ours, releases those no longer wanted; returns ours. */
async function claim(store: Store, at: Date): Promise<Kept[]> {
  const { db } = store
  const me = nodeOf(db)
  const now = at.toISOString()
  const soon = new Date(at.getTime() + LEASE_MS / 2).toISOString()
  // Test mode reaches nobody outside.
  const all = await rowsOf(
    db,
    'live connections',
    () => db.selectFrom('connections').select(KEPT).where('livemode', '=', 1).orderBy('id'),
    {},
  )
  const isFree = (row: Kept): boolean => row.kept_until === null || row.kept_until <= now
  const mine = all.filter(row => isWanted(row) && (row.kept_by === me ? (row.kept_until ?? '') > now : false))
  const due = all.filter(row => isWanted(row) && (isFree(row) || (row.kept_by === me && row.kept_until! <= soon)))
  const unwanted = all.filter(row => !isWanted(row) && row.kept_by === me)
  if (unwanted.length > 0) await letGo(db, unwanted)
  if (due.length === 0) return mine
  const taken = await db
    .updateTable('connections')
    .set({ kept_by: me, kept_until: new Date(at.getTime() + LEASE_MS).toISOString() })
    .where('id', 'in', idsOf(due))
    // Checked again in the statement itself, so that of two nodes only one gets each connection.
    .where(({ eb, or }) => or([eb('kept_by', '=', me), eb('kept_until', 'is', null), eb('kept_until', '<=', now)]))
    .returning(KEPT)
    .execute()
  const ids = new Set(idsOf(due))
  return [...mine.filter(row => !ids.has(row.id)), ...taken].sort((a, b) => (a.id < b.id ? -1 : 1))
}

const idsOf = (rows: readonly Kept[]): string[] => rows.map(row => row.id)

async function letGo(db: Db, rows: readonly Kept[]): Promise<void> {
  await db
    .updateTable('connections')
    .set({ kept_by: null, kept_until: null, status: null, sip_code: null, service_route: '[]' })
    .where('id', 'in', idsOf(rows))
    .execute()
}

/** What media is told; null: the host or account cannot be written as a SIP URI. */
function specOf(row: ConnectionRow, ours: string, vault: Vault): ConnectionSpec | null {
  const host = sipHost(row.host ?? '')
  if (host === null) return null
  const { auth_username: username } = row
  const credentials = credentialsOf(vault, row)
  const isRegistration = row.kind === 'registration' && username !== null
  const from = isRegistration ? addressOfRecord(username, host) : `sip:tandem@${sipHost(ours)?.inUri ?? 'localhost'}`
  if (from === null) return null
  // Within a priority the heaviest host comes first, not a random one, which media would take for a change each time.
  const [via, ...others] = hostsOf(row, () => 0.5)
  return {
    connectionId: row.id,
    keep: isRegistration ? 'register' : 'ping',
    uri: `sip:${host.inUri}${row.port === 5060 || row.port === 0 ? '' : `:${row.port}`}`,
    from,
    via: via!,
    others,
    credentials,
    contactUser: `c${createHash('sha256')
      .update(`${row.id}\n${credentials?.password ?? null}`)
      .digest('hex')
      .slice(0, 24)}`,
  }
}
