import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import { settingsOf } from './settings.ts'
import type { CallRow, ConferenceRoomRow, SessionStateRow } from './tables.ts'

/** Notes about a session by people or by a model. */
export interface SessionNotes {
  summary: string
  decisions: string[]
  action_items: string[]
}

export const NO_NOTES: SessionNotes = { summary: '', decisions: [], action_items: [] }

/** Whether a session is locked: as somebody set it, else from its start if the room says so, but not for who `waited` for the start. */
export async function isLocked(db: Db, session: CallRow, room: ConferenceRoomRow, waited = false): Promise<boolean> {
  const state = await forTenant(db, tenantOf(session)).find('session_states', session.id)
  return state?.locked == null ? settingsOf(room).lock_on_start && !waited : state.locked === 1
}

export const setLocked = (trx: Trx, session: CallRow, locked: boolean): Promise<void> =>
  save(trx, session, { locked: locked ? 1 : 0 })

export const setActiveSpeaker = (trx: Trx, session: CallRow, participantId: string | null): Promise<void> =>
  save(trx, session, { active_speaker: participantId })

export async function activeSpeakerOf(db: Db, session: CallRow): Promise<string | null> {
  return (await forTenant(db, tenantOf(session)).find('session_states', session.id))?.active_speaker ?? null
}

export const saveNotes = (trx: Trx, session: CallRow, notes: SessionNotes): Promise<void> =>
  save(trx, session, { notes: JSON.stringify(notes) })

/** The notes of those sessions that have any. */
export async function notesOf(db: Db, tenant: Tenant, ids: readonly string[]): Promise<Map<string, SessionNotes>> {
  if (ids.length === 0) return new Map()
  const rows = await forTenant(db, tenant).select('session_states').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.flatMap(row => (row.notes === null ? [] : [[row.id, JSON.parse(row.notes) as SessionNotes]])))
}

async function save(
  trx: Trx,
  session: CallRow,
  change: Partial<Pick<SessionStateRow, 'locked' | 'notes' | 'active_speaker'>>,
): Promise<void> {
  const scoped = forTenant(trx, tenantOf(session))
  if ((await scoped.find('session_states', session.id)) === undefined) {
    await scoped.insert('session_states', {
      id: session.id,
      locked: null,
      notes: null,
      active_speaker: null,
      ...change,
    })
  } else await scoped.change('session_states', session.id, change)
}
