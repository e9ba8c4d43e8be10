import type { DevicePort } from '../../../control/calls/conductor/device-port.ts'
import { CallDriver, type CallPrograms } from '../../../control/calls/conductor/driver.ts'
import { insertParty, type NewParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { beat } from '../../../control/kernel/nodes/heartbeat.ts'
import { isStoreOutage } from '../../../control/kernel/store/faults.ts'
import { forTenant, type Tenant } from '../../../control/kernel/tenancy.ts'
import type { MediaPort } from '../../../control/media-link/events.ts'
import { setWish } from '../../../control/queues/agent-status.ts'
import { placeMembersCall } from '../../../control/queues/agents/placed-calls.ts'
import { CallCentre } from '../../../control/queues/call-centre.ts'
import type { CallCentreParts, HandOver } from '../../../control/queues/deps.ts'
import type { Device } from '../../../control/queues/ringing/rings.ts'
import { DEFAULT_SETTINGS } from '../../../control/queues/settings/queue.ts'
import type { QueueSettings } from '../../../control/queues/settings/schema.ts'
import type { ModelLeg } from '../../fakes/media-model.ts'
import { Killed, PocketMedia } from '../../fakes/pocket-media.ts'
import { makeWorld, silent, type World } from '../app-harness.ts'
import { VAULT } from '../whole-app.ts'

const HOUR = { created: '2026-11-21T09:00:00.000Z', updated: '2026-11-21T09:00:00.000Z' }

/** Control and media around a database, without sockets or clocks of their own. Control can be killed. */
export interface QueueWorld extends World {
  tenant: Tenant
  media: PocketMedia
  /** Users' devices, by user; `sip:<user>@phones` is one. */
  devices: Map<string, Device[]>
  handed: Parameters<HandOver>[2][]
  centre: () => CallCentre
  driver: () => CallDriver
  addQueue(settings?: object): Promise<string>
  addAgent(name: string): Promise<string>
  setStatus(userId: string, wish: 'available' | 'away' | 'offline'): Promise<void>
  /** Makes somebody call the queue; returns the leg's ID. */
  call(queueId: string, from?: string): Promise<string>
  /** Makes somebody call the user directly; returns the leg's ID. */
  callUser(userId: string): Promise<string>
  /** Delivers events of media and runs what is due, until nothing more happens. */
  settle(): Promise<void>
  /** Kills control after so many commands; the next `settle` starts a new one. */
  killAfter(commands: number): void
  mediaDies(): Promise<void>
  later(ms: number): Promise<void>
  /** The legs that ring at a user's devices. */
  ringing(userId: string): ModelLeg[]
  legOf(userId: string): ModelLeg | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  events(type?: string): Promise<{ type: string; object: any; previous: any; requestId: string | null }[]>
  status(userId: string): Promise<string>
  close(): Promise<void>
}

/** `devices`: handles what pages and phones send; absent: nothing does. `programs`: listens to calls besides the queues. */
export async function makeQueueWorld(
  more: Partial<CallCentreParts> = {},
  livemode = true,
  devices?: (world: World, centre: CallCentre) => DevicePort,
  programs?: (world: World) => CallPrograms,
): Promise<QueueWorld> {
  const world = await makeWorld()
  const { store, clock } = world
  const tenant: Tenant = { organisationId: world.ours.organisationId, livemode }
  const media = new PocketMedia(clock.now)
  const devicesByUser = new Map<string, Device[]>()
  const handed: Parameters<HandOver>[2][] = []
  const streams = { signingSecret: async () => '', allowedNetworks: [] }
  const assetFile = (id: string) => `/assets/${id}`
  const start = () => {
    const centre = new CallCentre({
      store,
      now: clock.now,
      log: { warn: () => {}, error: () => {} },
      sipHost: 'tandem.test',
      vault: VAULT,
      streams,
      devicesOf: async (_db, _tenant, userId) => devicesByUser.get(userId) ?? [],
      businessHoursOf: async () => ({ hours: null, timezone: 'UTC' }),
      booking: {
        now: clock.now,
        settings: async () => ({
          country: null,
          businessHours: { hours: null, timezone: 'UTC' },
          callbacks: { default_route: 'agent_queue', max_attempts: 3, api_priority: 5, sla_minutes: 60 },
        }),
      },
      assetFile,
      handOver: async (_trx, _tenant, given) => {
        handed.push(given)
        return true
      },
      ...more,
    })
    const heard = {
      ...(devices !== undefined && { devices: devices(world, centre) }),
      ...(programs !== undefined && { programs: programs(world) }),
    }
    const driver = new CallDriver({
      store,
      vault: VAULT,
      now: clock.now,
      log: silent,
      streams,
      assetFile,
      centre,
      ...heard,
    })
    store.followUps.performedBy(async task => {
      try {
        await driver.perform(task, media)
      } catch (error) {
        // As after a reconnect: what could not be written is found again.
        if (!(error instanceof Killed) && !isStoreOutage(error)) throw error
        isDead = true
      }
    })
    return { centre, driver }
  }
  let isDead = false
  let control = start()
  const port: MediaPort = media

  const idle = async (): Promise<void> => {
    await store.followUps.idle()
    await control.centre.idle()
    await store.followUps.idle()
  }

  /** A new process, as after a reconnect. */
  const restart = async (): Promise<void> => {
    await idle()
    media.revive()
    isDead = false
    control = start()
    const { driver } = control
    const { bootId } = await driver.position()
    if (bootId !== media.bootId) await driver.booted(media.bootId, new Set(media.dialledBefore))
    await deliver()
    await driver.reconcile(media.snapshot(), port)
  }
  const deliver = async (): Promise<boolean> => {
    const batch = media.unacknowledged.slice(0, 8)
    if (batch.length === 0) return false
    await control.driver.events(batch)
    // It died between the commit and the acknowledgement.
    if (media.isKilled) throw new Killed()
    media.acknowledge(batch.at(-1)!.seq)
    await idle()
    return true
  }
  const callerOf = async (fields: Pick<NewParty, 'target' | 'from'> & Partial<NewParty>): Promise<string> => {
    const legId = newId('participant')
    const callId = newId('call')
    const party: NewParty = {
      ...{ callId, legId, direction: 'inbound', to: '+15550100000', roomId: null, connectionId: null },
      ...{ metadata: {}, role: 'member', muted: false },
      ...fields,
    }
    await store.transaction(trx => insertParty(trx, tenant, party, clock.now().toISOString()))
    media.incoming(legId, callId)
    return legId
  }
  const whole: QueueWorld = {
    ...world,
    tenant,
    media,
    devices: devicesByUser,
    handed,
    centre: () => control.centre,
    driver: () => control.driver,
    addQueue: async settings => {
      const id = newId('queue')
      const all: QueueSettings = { ...DEFAULT_SETTINGS, max_wait_seconds: 0, ...settings }
      await forTenant(store.db, tenant).insert('queues', { id, name: 'Help', settings: JSON.stringify(all), ...HOUR })
      return id
    },
    addAgent: async name => {
      const id = newId('user')
      await forTenant(store.db, tenant).insert('users', {
        id,
        name,
        email: `${name}@example.com`,
        email_verified: 1,
        role: 'agent',
        status: 'active',
        team_id: null,
        extension: null,
        takes_seat: 1,
        last_login: null,
        created: HOUR.created,
      })
      const via = { host: '192.0.2.1', port: 5060, transport: 'udp' as const }
      devicesByUser.set(id, [{ kind: 'sip', uri: `sip:${id}@phones`, via }])
      return id
    },
    setStatus: (userId, wish) =>
      store.transaction(trx => setWish(trx, tenant, userId, { wish, at: clock.now().toISOString() })),
    call: (queueId, from = '+15550100001') => callerOf({ target: 'queue', queueId, from }),
    callUser: userId => callerOf({ target: 'user', userId, from: '+15550100001' }),
    settle: async () => {
      for (let i = 0; i < 200; i++) {
        try {
          if (isDead) await restart()
          if (await deliver()) continue
          const before = media.handled.length
          await control.centre.run(port)
          await idle()
          if (!media.isKilled && media.unacknowledged.length === 0 && media.handled.length === before) return
        } catch (error) {
          if (!(error instanceof Killed)) throw error
          isDead = true
        }
        if (media.isKilled) isDead = true
      }
      throw new Error('it never settles')
    },
    killAfter: commands => media.killAfter(commands),
    mediaDies: async () => {
      // Its node has sent heartbeats all the while.
      await beat(store, clock.now())
      media.die()
      isDead = true
      await whole.settle()
    },
    later: async ms => {
      clock.advance(ms)
      await whole.settle()
    },
    ringing: userId => [...media.legs.values()].filter(leg => isOf(leg, userId) && leg.state === 'dialing'),
    legOf: userId => [...media.legs.values()].find(leg => isOf(leg, userId) && leg.state === 'answered'),
    events: async type => {
      const rows = forTenant(store.db, tenant).select('events').select(['type', 'data', 'request_id']).orderBy('id')
      const all = await (type === undefined ? rows : rows.where('type', '=', type as 'ping')).execute()
      return all.map(row => {
        const { object, previous_attributes: previous } = JSON.parse(row.data)
        return { type: row.type, object, previous, requestId: row.request_id }
      })
    },
    status: async userId => (await forTenant(store.db, tenant).find('agent_statuses', userId))?.status ?? 'offline',
    close: async () => {
      await idle()
      await store.close()
    },
  }
  await control.driver.booted(media.bootId)
  return whole
}

/** Makes a member's own phone dial, with this leg; null: the call was placed. */
export async function phoneDials(
  { store, clock, tenant, media, centre }: QueueWorld,
  userId: string,
  { legId, dialled, isAnonymous = false }: { legId: string; dialled: string; isAnonymous?: boolean },
) {
  media.add(legId)
  const user = (await forTenant(store.db, tenant).find('users', userId))!
  const deps = { store, now: clock.now, sipHost: 'tandem.test', vault: VAULT, centre: centre() }
  return placeMembersCall(deps, { tenant, user, device: { kind: 'leg', legId }, dialled, isAnonymous })
}

const isOf = (leg: ModelLeg, userId: string): boolean => leg.dialled.includes(userId)
