import type { PackageState } from '../../../media/protocol.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { UserRow } from '../../organisation/tables.ts'
import { allQueues, answeredBy } from '../settings/store.ts'
import type { RingRow } from '../tables.ts'

/** What a phone's lamp shows: how many messages wait for its member, or whether a colleague is on a call. */
export type Lamp = { package: PackageState['package']; userId: string }

/** Maximum number of dialogs reported for one member; usually one rings and one talks. */
const MAX_DIALOGS = 20

/** The states of lamps of one organisation and mode, in the same order. The number of queries does not depend on how many there are. */
export async function lampStates(db: Db, tenant: Tenant, lamps: readonly Lamp[]): Promise<PackageState[]> {
  const ids = [...new Set(lamps.map(({ userId }) => userId))]
  const users = await forTenant(db, tenant).select('users').selectAll().where('id', 'in', ids).execute()
  const idsOf = (wanted: Lamp['package']) => lamps.filter(lamp => lamp.package === wanted).map(({ userId }) => userId)
  const dialogs = await dialogsOf(db, tenant, idsOf('dialog'))
  const waiting = await waitingFor(
    db,
    tenant,
    users.filter(({ id }) => idsOf('message-summary').includes(id)),
  )
  return lamps.map(({ package: wanted, userId }) =>
    wanted === 'dialog'
      ? { package: wanted, dialogs: dialogs.get(userId) ?? [] }
      : { package: wanted, waiting: waiting.get(userId) ?? 0, heard: 0 },
  )
}

type Dialogs = Extract<PackageState, { package: 'dialog' }>['dialogs']

/** Dialogs by user ID: whether the user's phone rings or the user talks, without saying with whom. */
async function dialogsOf(db: Db, tenant: Tenant, ids: readonly string[]): Promise<Map<string, Dialogs>> {
  const found = new Map<string, Dialogs>()
  if (ids.length === 0) return found
  const scoped = forTenant(db, tenant)
  const rings = await scoped.select('rings').selectAll().where('open_user', 'in', ids).orderBy('id').execute()
  const placed = rings.filter(({ purpose }) => purpose === 'placed').map(({ call_id }) => call_id)
  const calls =
    placed.length === 0 ? [] : await scoped.select('calls').select(['id', 'status']).where('id', 'in', placed).execute()
  for (const ring of rings) {
    const status = calls.find(({ id }) => id === ring.call_id)?.status
    const all = found.get(ring.open_user ?? '') ?? []
    if (all.length < MAX_DIALOGS) all.push(dialogOf(ring, status))
    found.set(ring.open_user ?? '', all)
  }
  return found
}

/** Dialog state by call status, for a call that the member places. */
const PLACED: Readonly<Record<string, Dialogs[number]['state']>> = { ringing: 'early', in_progress: 'confirmed' }

const dialogOf = ({ id, purpose, state }: RingRow, status: string | undefined): Dialogs[number] =>
  purpose === 'placed'
    ? { id, direction: 'initiator', state: PLACED[status ?? ''] ?? 'trying' }
    : { id, direction: 'recipient', state: state === 'talking' ? 'confirmed' : 'early' }

/** Number of voicemails by user ID: the member's own, and those of the queues that the member answers. They count until they are deleted. */
async function waitingFor(db: Db, tenant: Tenant, users: readonly UserRow[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  if (users.length === 0) return counts
  const queues = await allQueues(db, tenant)
  const rows = await forTenant(db, tenant)
    .select('voicemails')
    .select(['user_id', 'queue_id'])
    .select(({ fn }) => fn.countAll().as('count'))
    .where('status', '=', 'ready')
    .groupBy(['user_id', 'queue_id'])
    .execute()
  for (const user of users) {
    const answered = answeredBy(queues, { id: user.id, teamId: user.team_id })
    const own = rows.filter(
      row => row.user_id === user.id || (row.queue_id !== null && answered.includes(row.queue_id)),
    )
    counts.set(
      user.id,
      own.reduce((sum, { count }) => sum + Number(count), 0),
    )
  }
  return counts
}
