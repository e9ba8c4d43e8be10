import { type Place, rowsOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import { comeBack, goWithout, noteDeviceless } from './agent-status.ts'
import type { Step } from './deps.ts'
import type { AgentStatusRow } from './tables.ts'

/**
 * Presence follows devices. A member without a registered phone or an open softphone on any node becomes offline after a delay that allows
 * for a reload or a network loss. Once there is a device again, the member gets back the status that was set last.
 */

export const GRACE_MS = 20_000

/** Updates all organisations; each agent in a step of its own, which reads the agent's state again. */
export async function followDevices(db: Db, now: Date, step: Step): Promise<void> {
  const at = now.toISOString()
  const lost = new Date(now.getTime() - GRACE_MS).toISOString()
  const isDue = (row: AgentStatusRow): boolean => row.deviceless_since === null || row.deviceless_since <= lost
  for (const before of (await without(db, at)).filter(isDue)) {
    await step(null, async trx => {
      const row = sameOf(await without(trx, at), before)
      if (row?.deviceless_since === null) await noteDeviceless(trx, row, at)
      else if (row !== undefined && isDue(row)) await goWithout(trx, row, at)
    })
  }
  for (const before of await withAgain(db, at)) {
    await step(null, async trx => {
      const row = sameOf(await withAgain(trx, at), before)
      if (row !== undefined) await comeBack(trx, row, at)
    })
  }
}

const sameOf = (rows: readonly AgentStatusRow[], { id, livemode }: AgentStatusRow): AgentStatusRow | undefined =>
  rows.find(row => row.id === id && row.livemode === livemode)

/** Agents who are available or away and have no device. */
const without = (db: Db, at: string): Promise<AgentStatusRow[]> =>
  rowsOf(
    db,
    'agents without devices',
    place =>
      db
        .selectFrom('agent_statuses as s')
        .selectAll('s')
        .where('s.status', 'in', ['available', 'away'])
        .where(({ not, or, exists }) => not(or([exists(phonesOf(db, place)), exists(softphonesOf(db))]))),
    { at },
  )

/** Agents who have a device again. */
const withAgain = (db: Db, at: string): Promise<AgentStatusRow[]> =>
  rowsOf(
    db,
    'agents with devices again',
    place =>
      db
        .selectFrom('agent_statuses as s')
        .selectAll('s')
        .where('s.deviceless_since', 'is not', null)
        .where(({ or, exists }) => or([exists(phonesOf(db, place)), exists(softphonesOf(db))])),
    { at },
  )

/** Phones whose registration is valid at `at`. */
const phonesOf = (db: Db, place: Place) =>
  db
    .selectFrom('sip_registrations as r')
    .select('r.user_id')
    .whereRef('r.organisation_id', '=', 's.organisation_id' as never)
    .whereRef('r.livemode', '=', 's.livemode' as never)
    .whereRef('r.user_id', '=', 's.id' as never)
    .where('r.expires_at', '>', place('at'))

const softphonesOf = (db: Db) =>
  db
    .selectFrom('browser_sessions as b')
    .select('b.user_id')
    .whereRef('b.organisation_id', '=', 's.organisation_id' as never)
    .whereRef('b.livemode', '=', 's.livemode' as never)
    .whereRef('b.user_id', '=', 's.id' as never)
