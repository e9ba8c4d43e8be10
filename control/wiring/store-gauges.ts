import { Gauge, type Registry } from 'prom-client'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db } from '../kernel/store/store.ts'
import { AGENT_STATES } from '../queues/agent-schema.ts'
import { waitedMs } from '../queues/waiting-calls.ts'

/** How long values are cached, however often collectors ask [ms]. */
const KEEP_MS = 5000
const UP: readonly (string | null)[] = ['reachable', 'registered']

/** Gauges read from the database: calls of this node; agents, lines and trunks of all organisations. */
export class StoreGauges {
  readonly #db: Db
  readonly #now: () => Date
  #readAt = Number.NEGATIVE_INFINITY
  readonly #calls: Gauge<'direction'>
  readonly #agents: Gauge<'state'>
  readonly #waiting: Gauge
  readonly #longest: Gauge
  readonly #trunks: Gauge<'connection_id'>

  constructor(registry: Registry, db: Db, now: () => Date) {
    this.#db = db
    this.#now = now
    const gauge = <L extends string = never>(name: string, help: string, labelNames: L[] = []) =>
      new Gauge<L>({ name: `tandem_${name}`, help, labelNames, registers: [registry] })
    this.#calls = gauge('calls_running', 'Calls of this node that have not ended', ['direction'])
    this.#agents = gauge('agents', 'Active members by presence; the same on every node', ['state'])
    this.#waiting = gauge('queue_waiting', 'Calls that wait in queues; the same on every node')
    this.#longest = gauge('queue_longest_wait_seconds', 'Waiting time of the call that has waited longest')
    this.#trunks = gauge(
      'trunk_up',
      '1: a connection is registered or reachable; 0: it is not; the same on every node',
      ['connection_id'],
    )
  }

  /** Called before each collection. If the database cannot be queried, the last values stay. */
  async refresh(): Promise<void> {
    const now = this.#now()
    if (Math.abs(now.getTime() - this.#readAt) < KEEP_MS) return
    this.#readAt = now.getTime()
    const all = [this.#readCalls(), this.#readAgents(), this.#readLines(now.toISOString()), this.#readTrunks()]
    await Promise.all(all).catch(() => {})
  }

  async #readCalls(): Promise<void> {
    const rows = await this.#db
      .selectFrom('calls')
      .select(({ fn }) => ['direction', fn.countAll<number | string>().as('n')])
      .where('node_id', '=', nodeOf(this.#db))
      .where('ended_at', 'is', null)
      .where('kind', '=', 'party')
      .groupBy('direction')
      .execute()
    for (const direction of ['inbound', 'outbound'] as const) {
      this.#calls.set({ direction }, Number(rows.find(row => row.direction === direction)?.n ?? 0))
    }
  }

  async #readAgents(): Promise<void> {
    const rows = await this.#db
      .selectFrom('users')
      .leftJoin('agent_statuses', 'agent_statuses.id', 'users.id')
      .select(({ fn }) => ['agent_statuses.status as state', fn.countAll<number | string>().as('n')])
      .where('users.status', '=', 'active')
      .groupBy('agent_statuses.status')
      .execute()
    for (const state of AGENT_STATES) {
      const fitting = rows.filter(row => (row.state ?? 'offline') === state)
      this.#agents.set(
        { state },
        fitting.reduce((sum, row) => sum + Number(row.n), 0),
      )
    }
  }

  async #readLines(at: string): Promise<void> {
    const rows = await this.#db.selectFrom('queue_calls').selectAll().execute()
    const waits = rows.map(row => waitedMs(this.#db, row, at))
    this.#waiting.set(rows.length)
    this.#longest.set(Math.max(0, ...waits) / 1000)
  }

  async #readTrunks(): Promise<void> {
    const rows = await this.#db
      .selectFrom('connections')
      .select(['id', 'status'])
      .where('enabled', '=', 1)
      .where('status', 'is not', null)
      .execute()
    this.#trunks.reset()
    for (const { id, status } of rows) this.#trunks.set({ connection_id: id }, UP.includes(status) ? 1 : 0)
  }
}
