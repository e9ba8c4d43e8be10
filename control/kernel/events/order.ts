import { PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { Db, Store } from '../store/store.ts'
import type { EventRow } from '../store/tables.ts'
import { forTenant, type Tenant } from '../tenancy.ts'
import type { EventType } from './catalog.ts'

/**
 * A position in the commit order of events. On SQLite transactions run one after the other, so IDs give that order. On PostgreSQL they do
 * not: of two transactions, the one that began first may commit last, and a reader that has passed the other's event would miss its events.
 */
export interface EventPlace {
  /** The transaction number of PostgreSQL; SQLite: always 0. */
  at: number
  /** Within a transaction events are ordered by their IDs. */
  id: string
}

/** After all events of a transaction: no ID sorts there. */
const LAST_ID = 'z'

const isServer = (db: Db): boolean => db.getExecutor().adapter instanceof PostgresAdapter
const numberIn = (db: Db): RawBuilder<number> => (isServer(db) ? sql<number>`written_by` : sql<number>`0`)

/** The position after everything complete: nothing will be committed before it any more. */
export async function endOfEvents(db: Db): Promise<EventPlace> {
  if (!isServer(db)) {
    const last = await db.selectFrom('events').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
    return { at: 0, id: last?.id ?? '' }
  }
  const { rows } = await sql<{ at: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as at`.execute(db)
  return { at: Number(rows[0]?.at ?? 0) - 1, id: LAST_ID }
}

/** Whether one position lies before another, or is the same. */
export const isBehind = (place: EventPlace, end: EventPlace): boolean =>
  place.at === end.at ? end.id >= place.id : end.at > place.at

/** The position of an event, or undefined if it is gone or another tenant's. */
export async function placeOfEvent(db: Db, tenant: Tenant, id: string): Promise<EventPlace | undefined> {
  const rows = forTenant(db, tenant).select('events').select(numberIn(db).as('at')).where('id', '=', id)
  const row = await rows.executeTakeFirst()
  return row && { at: Number(row.at), id }
}

interface PlacedEvent {
  place: EventPlace
  row: EventRow
}

/** The next events of a tenant after a position, in order, and the position reached with them. */
export async function eventsBehind(
  db: Db,
  tenant: Tenant,
  { at, id }: EventPlace,
  { types, limit }: { types: readonly EventType[] | null; limit: number },
): Promise<{ events: PlacedEvent[]; reached: EventPlace }> {
  // First, so that events committed during the query belong to the next one.
  const end = await endOfEvents(db)
  const rows = await between(db, tenant, { at, id }, end)
    .$if(types !== null, query => query.where('type', 'in', types ?? []))
    .limit(limit)
    .execute()
  const events = rows.map(row => ({ row, place: { at: Number(row.at), id: row.id } }))
  const last = events.at(-1)
  if (last !== undefined && events.length === limit) return { events, reached: last.place }
  // An event that was just committed may lie ahead of others that are still being written.
  return { events, reached: isBehind({ at, id }, end) ? end : { at, id } }
}

function between(db: Db, tenant: Tenant, from: EventPlace, end: EventPlace) {
  const rows = forTenant(db, tenant).select('events').selectAll().select(numberIn(db).as('at'))
  if (!isServer(db)) return rows.where('id', '>', from.id).orderBy('id')
  return rows
    .where(sql<boolean>`(written_by, id) > (${from.at}, ${from.id})`)
    .where(sql<boolean>`written_by <= ${end.at}`)
    .orderBy(sql`written_by`)
    .orderBy('id')
}

/**
 * PostgreSQL numbers transactions per server. In a database restored on another server, events may have numbers that this server has not
 * reached yet. They are moved before all others.
 */
export async function settleEvents({ engine, db, transaction }: Store, tenant: Tenant): Promise<void> {
  if (engine === 'sqlite') return
  const ahead = sql<boolean>`written_by >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`
  const found = await forTenant(db, tenant).select('events').select('id').where(ahead).limit(1).executeTakeFirst()
  if (found === undefined) return
  await transaction(trx =>
    forTenant(trx, tenant)
      .update('events')
      .set({ written_by: sql`0` } as never)
      .where(ahead)
      .execute(),
  )
}
