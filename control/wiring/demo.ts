import type { ConferenceRoomRow } from '../calls/tables.ts'
import { newId } from '../kernel/ids.ts'
import { hashPin, sha256 } from '../kernel/secrets.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { PassageSearch } from '../knowledge/search.ts'
import { CODECS } from '../trunks/codecs.ts'
import { insertConnection } from '../trunks/networks.ts'
import type { InboundRouteRow } from '../trunks/tables.ts'
import { seedAssistant } from './demo-assistant.ts'

/** The objects that the first start creates. The banner shows them as long as the room still has these PINs. */
const PIN = '1234'
const MODERATOR_PIN = '9876'

/** Any phone on this machine or the local network may call; the rest of the world needs a connection of its own. */
const LOCAL_NETWORKS = [
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
  'fe80::/10',
]

/** The setting with the hashes of the room's PINs. Verifying the PINs against them would take long at each start. */
const SETTING = 'demo_pins'

interface DemoPins {
  pinHash: string
  moderatorPinHash: string
}

export const hashDemoPins = async (): Promise<DemoPins> => ({
  pinHash: await hashPin(PIN),
  moderatorPinHash: await hashPin(MODERATOR_PIN),
})

/** Creates a connection for local phones, a room with a PIN, an open one, an echo, an announcement, an assistant, and numbers for all. */
export async function seedDemo(
  trx: Trx,
  tenant: Tenant,
  { pins, search, at }: { pins: DemoPins; search: PassageSearch; at: string },
): Promise<void> {
  const tables = forTenant(trx, tenant)
  const times = { created: at, updated: at }
  await insertConnection(trx, tenant, {
    id: newId('connection'),
    name: 'Local phones',
    kind: 'peer',
    port: 5060,
    transport: 'udp',
    allowed_ips: JSON.stringify(LOCAL_NETWORKS),
    codecs: JSON.stringify(CODECS),
    srtp: 'optional',
    enabled: 1,
    ...times,
  })
  const room = (name: string, hashes: DemoPins | null) => ({
    id: newId('conference_room'),
    name,
    active: 1,
    pin_hash: hashes?.pinHash ?? null,
    pin_length: hashes === null ? null : PIN.length,
    moderator_pin_hash: hashes?.moderatorPinHash ?? null,
    moderator_pin_length: hashes === null ? null : MODERATOR_PIN.length,
    settings: JSON.stringify({ record: hashes !== null }),
    schedule: JSON.stringify({ start_at: null, end_at: null, recurrence: 'none', timezone: 'UTC' }),
    link_hash: '',
    ...times,
  })
  const demoRoom = room('Demo room', pins)
  const openRoom = room('Open room', null)
  await tables.insert('conference_rooms', demoRoom)
  await tables.insert('conference_rooms', openRoom)
  await trx
    .insertInto('settings')
    .values({ name: SETTING, value: hashesOf(demoRoom) })
    .execute()
  const targets = [
    ['1000', 'room', demoRoom.id],
    ['1001', 'room', openRoom.id],
    ['1002', 'echo', null],
    ['1003', 'announcement', null],
    ['assistant', 'assistant', await seedAssistant(trx, tenant, search, at)],
  ] as const
  for (const [number, target, targetId] of targets) {
    await tables.insert('inbound_routes', {
      id: newId('inbound_route'),
      match_to: number,
      target,
      target_id: targetId,
      priority: 0,
      ...times,
    })
  }
}

type RoomPins = Pick<ConferenceRoomRow, 'pin_hash' | 'moderator_pin_hash'>

const hashesOf = (room: RoomPins): string => sha256(`${room.pin_hash} ${room.moderator_pin_hash}`)

const WORDS: Partial<Record<InboundRouteRow['target'], string>> = {
  echo: 'echo: you hear yourself',
  announcement: 'an announcement',
  assistant: 'an assistant: ask when the shop is open, or how long delivery takes',
  flow: 'a flow',
  queue: 'a queue',
  user: 'a member',
}

/** What each number of a tenant does, for the banner. */
export async function describeNumbers(store: Store, tenant: Tenant): Promise<{ number: string; does: string }[]> {
  const tables = forTenant(store.db, tenant)
  const routes = await tables.select('inbound_routes').selectAll().orderBy('match_to').limit(8).execute()
  const numbers = []
  for (const route of routes) {
    if (route.match_to === null) continue
    const room = route.target_id === null ? undefined : await tables.find('conference_rooms', route.target_id)
    const does = route.target === 'room' ? await describeRoom(store.db, room) : (WORDS[route.target] ?? null)
    if (does !== null) numbers.push({ number: route.match_to, does })
  }
  return numbers
}

async function describeRoom(db: Db, room: (RoomPins & { name: string }) | undefined): Promise<string | null> {
  if (room === undefined) return null
  if (room.pin_hash === null) return `${room.name}, no PIN`
  const ours = await db.selectFrom('settings').select('value').where('name', '=', SETTING).executeTakeFirst()
  return ours?.value === hashesOf(room) ? `${room.name}, PIN ${PIN} (moderator ${MODERATOR_PIN})` : `${room.name}, PIN`
}
