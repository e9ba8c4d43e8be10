import type { Commands, ToneSource } from '../../media/protocol.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import type { CallRow } from './tables.ts'

/** Ringing and busy tone of the country of the call's connection, else of the organisation's. */
export async function toneOf(db: Db, name: 'ringback' | 'busy', call: CallRow | undefined): Promise<ToneSource> {
  if (call === undefined) return { kind: 'tone', name }
  const scoped = forTenant(db, tenantOf(call))
  const connection = call.connection_id === null ? undefined : await scoped.find('connections', call.connection_id)
  const own = connection?.number_country ?? null
  const organisation = db.selectFrom('organisations').select('country').where('id', '=', call.organisation_id)
  const country = own ?? (await organisation.executeTakeFirst())?.country ?? null
  return { kind: 'tone', name, ...(country !== null && { country }) }
}

/** What a caller hears while somebody is rung. */
export async function ringback(
  db: Db,
  call: CallRow,
  legId: string,
  playId = 'calling',
): Promise<Commands['leg.play']['request']> {
  return { legId, playId, sources: [await toneOf(db, 'ringback', call)], loop: true, hangupAfter: null }
}
