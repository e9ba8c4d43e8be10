import { durationOf } from '../../../control/calls/duration.ts'
import type { Db } from '../../../control/kernel/store/store.ts'
import type { Tenant } from '../../../control/kernel/tenancy.ts'
import type { Meter } from '../../../control/usage/tables.ts'

export type Sums = Partial<Record<Meter, number>>

const ofTenant = (tenant: Tenant | undefined) => (row: { organisation_id: string; livemode: number }) =>
  tenant === undefined || (row.organisation_id === tenant.organisationId && (row.livemode === 1) === tenant.livemode)

const sumOf = (numbers: number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** What the ledger must contain for all calls and streams of a tenant (absent: of all tenants), counted again from the objects themselves. */
export async function recount({ db }: { db: Db }, tenant?: Tenant): Promise<Sums> {
  const isOf = ofTenant(tenant)
  const calls = (await db.selectFrom('calls').selectAll().execute()).filter(isOf)
  const streams = (await db.selectFrom('media_streams').selectAll().execute()).filter(isOf)
  const [parties, sessions] = [calls.filter(one => one.kind === 'party'), calls.filter(one => one.kind !== 'party')]
  const lasted = (rows: typeof calls) =>
    sumOf(rows.map(row => (row.ended_at === null ? 0 : durationOf(row, row.ended_at))))
  return {
    calls: parties.length,
    answered_calls: parties.filter(one => one.answered_at !== null).length,
    call_ms: lasted(parties),
    conference_sessions: sessions.filter(one => one.answered_at !== null).length,
    conference_ms: lasted(sessions),
    media_streams: streams.length,
    stream_frames: sumOf(streams.filter(one => one.ended_reason !== null).map(one => one.frames_sent)),
  }
}

/** What the ledger contains: the sums of the entries that `recount` counts. */
export async function ledger(store: { db: Db }, tenant?: Tenant): Promise<Sums> {
  const sums: Sums = Object.fromEntries(Object.keys(await recount(store)).map(meter => [meter, 0]))
  const entries = await store.db.selectFrom('usage_entries').selectAll().execute()
  for (const { meter, quantity } of entries.filter(ofTenant(tenant)))
    if (meter in sums) sums[meter] = (sums[meter] ?? 0) + Number(quantity)
  return sums
}
