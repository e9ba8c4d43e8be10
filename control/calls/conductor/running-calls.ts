import { type Fact, only } from '../../kernel/store/after-commit.ts'
import { rowsOf } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { CALL_BEGUN } from '../records.ts'
import type { CallRow, ParticipantRow } from '../tables.ts'

/** A call as it was when the store was last asked, or when it began. */
export interface RunningCall {
  call: CallRow
  legs: ParticipantRow[]
}

/** Remembers the running calls of this node, so that they can be ended even while the store is unavailable. */
export class RunningCalls {
  readonly #store: Store
  #calls: ReadonlyMap<string, RunningCall> = new Map()
  /** Those that began since the store was last asked. */
  readonly #begun = new Map<string, RunningCall>()

  constructor(store: Store) {
    this.#store = store
    const begun = ({ object }: Fact) => this.#begun.set((object as RunningCall).call.id, object as RunningCall)
    store.committed.add(only([CALL_BEGUN], begun))
  }

  /** To be called regularly. */
  async refresh(): Promise<void> {
    const before = [...this.#begun.keys()]
    const calls = await running(this.#store.db)
    const found = new Map<string, RunningCall>(calls.map(call => [call.id, { call, legs: [] }]))
    for (const leg of await legsOf(this.#store.db)) {
      for (const id of new Set([leg.call_id, leg.session_call_id])) found.get(id ?? '')?.legs.push(leg)
    }
    this.#calls = found
    for (const id of before) this.#begun.delete(id)
  }

  find({ organisationId, livemode }: Tenant, id: string): RunningCall | undefined {
    const found = this.#calls.get(id) ?? this.#begun.get(id)
    if (found?.call.organisation_id !== organisationId) return undefined
    return found.call.livemode === (livemode ? 1 : 0) ? found : undefined
  }
}

// Over all tenants; `find` tells them apart.

const running = (db: Db): Promise<CallRow[]> =>
  rowsOf(
    db,
    'running calls',
    place => db.selectFrom('calls').selectAll().where('node_id', '=', place('node')).where('ended_at', 'is', null),
    { node: nodeOf(db) },
  )

const legsOf = (db: Db): Promise<ParticipantRow[]> =>
  rowsOf(
    db,
    'legs of running calls',
    place =>
      db
        .selectFrom('participants')
        .innerJoin('calls', 'calls.id', 'participants.call_id')
        .selectAll('participants')
        .where('calls.node_id', '=', place('node'))
        .where('calls.ended_at', 'is', null)
        .orderBy('participants.id'),
    { node: nodeOf(db) },
  )
