import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { routesLeadingTo } from '../../control/browsers/route-uses.ts'
import { RecordingForms } from '../../control/calls/capture/recording-forms.ts'
import { recordingRoutes } from '../../control/calls/capture/recording-routes.ts'
import { streamRoutes } from '../../control/calls/capture/stream-routes.ts'
import type { StreamDeps } from '../../control/calls/capture/streams.ts'
import { CallDriver } from '../../control/calls/conductor/driver.ts'
import { RunningCalls } from '../../control/calls/conductor/running-calls.ts'
import { pciRoutes } from '../../control/calls/pci-routes.ts'
import { callRoutes } from '../../control/calls/routes.ts'
import { streamsProblem } from '../../control/capture-settings/streams-problem.ts'
import { existsIn } from '../../control/http/references.ts'
import { newId } from '../../control/kernel/ids.ts'
import { hashPin } from '../../control/kernel/secrets.ts'
import { forTenant } from '../../control/kernel/tenancy.ts'
import { Turns } from '../../control/kernel/turns.ts'
import { MediaClient, type MediaHandler } from '../../control/media-link/client.ts'
import { organisationRoutes, organisationSettings } from '../../control/organisation/routes.ts'
import { CallCentre } from '../../control/queues/call-centre.ts'
import type { CallCentreParts, HandOver } from '../../control/queues/deps.ts'
import { callHandlingRoutes } from '../../control/queues/handling-routes.ts'
import { roomHistoryRoutes } from '../../control/rooms/history-routes.ts'
import { roomParticipantRoutes } from '../../control/rooms/participant-routes.ts'
import { conferenceRoomRoutes } from '../../control/rooms/routes.ts'
import { connectionRoutes } from '../../control/trunks/connection-routes.ts'
import { inboundRouteRoutes } from '../../control/trunks/inbound-routes.ts'
import { insertConnection } from '../../control/trunks/networks.ts'
import { phoneNumberRoutes } from '../../control/trunks/number-routes.ts'
import { eventRoutes } from '../../control/webhooks/event-routes.ts'
import { FakeMedia } from '../fakes/media.ts'
import { type Answer, type Asked, ask, makeWorld, serve, silent, type World } from './app-harness.ts'
import { EXAMPLE_NETWORKS, VAULT } from './whole-app.ts'

/** A control process around a database: the part that may be killed and started again. */
interface Control {
  client: MediaClient
  app: FastifyInstance
  running: RunningCalls
  /** Resolves when all consequences of past events have been sent and media has read them. Anything not sent by then is never sent. */
  idle(): Promise<void>
  /** A request with the live key of our organisation. */
  ask(line: string, body?: unknown, asked?: Asked): Promise<Answer>
  stop(): Promise<void>
}

export interface CallsWorld extends World {
  media: FakeMedia
  control: Control
  close(): Promise<void>
}

interface Options {
  /** Absent: one in memory. */
  world?: World
  /** Logger of the channel to media; absent: silent. */
  log?: Logger
  dataDir?: string
  allowedNetworks?: string[]
  resolve?: (host: string) => Promise<string[]>
  /** Devices of a member; absent: the product's own lookup. */
  devicesOf?: CallCentreParts['devicesOf']
  handOver?: HandOver
  /** Deadline of commands to media [ms]. */
  deadlineMs?: number
  wrap?: (driver: CallDriver, client: () => MediaClient) => MediaHandler
}

/** Starts a control process on this database and waits until it is ready. */
export async function startControl(world: World, media: { path: string }, options: Options = {}): Promise<Control> {
  const { store } = world
  const now = world.clock.now
  const vault = VAULT
  const startDeps: StreamDeps = {
    signingSecret: async (db, tenant) => (await organisationSettings(db, tenant)).streamSigningSecret,
    allowedNetworks: options.allowedNetworks ?? [],
  }
  const centre = new CallCentre({
    store,
    now,
    log: silent,
    sipHost: '127.0.0.1',
    vault,
    streams: startDeps,
    devicesOf: options.devicesOf ?? (async () => []),
    businessHoursOf: async (db, tenant) => (await organisationSettings(db, tenant)).businessHours,
    booking: { now, settings: organisationSettings },
    assetFile: id => `/assets/${id}`,
    handOver: options.handOver ?? (async () => false),
  })
  const driver = new CallDriver({ store, vault, now, log: silent, streams: startDeps, assetFile: id => id, centre })
  const client: MediaClient = new MediaClient(
    media.path,
    options.wrap?.(driver, () => client) ?? driver,
    options.log ?? silent,
    options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs },
  )
  const allowedNetworks = [...EXAMPLE_NETWORKS, '127.0.0.0/8']
  const asked = { store, vault, media: client, now, sipHost: '127.0.0.1', allowedNetworks, streams: startDeps }
  const dial = { ...asked, changes: new Turns() }
  const resolve = options.resolve ?? (async () => ['93.184.216.34'])
  const streams = { ...startDeps, store, media: client, now, resolve, stops: dial.changes }
  const running = new RunningCalls(store)
  const app = await serve(world, [
    ...callRoutes({ ...dial, streamsProblem: streamsProblem(streams), running }),
    ...callHandlingRoutes({ store, media: client, centre }),
    ...streamRoutes(streams),
    ...pciRoutes({
      store,
      media: client,
      pciOf: async (db, tenant) => (await organisationSettings(db, tenant)).pci,
    }),
    ...recordingRoutes({
      store,
      dataDir: options.dataDir ?? '/nowhere',
      forms: new RecordingForms(options.dataDir ?? '/nowhere'),
    }),
    ...conferenceRoomRoutes({
      store,
      now,
      publicUrl: 'http://tandem.test',
      userExists: existsIn('users'),
      usesOf: routesLeadingTo,
    }),
    ...roomHistoryRoutes({ store, now }),
    ...roomParticipantRoutes(dial),
    ...inboundRouteRoutes({ store, now, streamsProblem: streamsProblem(streams) }),
    ...phoneNumberRoutes({ store, now }),
    ...connectionRoutes({ store, vault, now, allowedNetworks }),
    ...eventRoutes({ store }),
    ...organisationRoutes({ store, now, streamsProblem: streamsProblem(streams) }),
  ])
  client.start()
  return {
    client,
    app,
    running,
    idle: async () => {
      await client.settled()
      await client.idle()
      await centre.idle()
      // The channel keeps the order, so everything before has been read.
      await client.request('media.stats', {})
    },
    ask: (line, body, asked) =>
      ask(app, line, { key: world.ours.keys.live, ...(body === undefined ? {} : { body }), ...asked }),
    stop: async () => {
      await client.close()
      await app.close()
    },
  }
}

/** A world with a fake media process, a connection for local phones, and routes to a room with PINs, an open room and an echo. */
export async function makeCallsWorld(
  options: Options = {},
): Promise<CallsWorld & { pinRoom: string; openRoom: string }> {
  const world = options.world ?? (await makeWorld())
  const { pinRoom, openRoom } = await seed(world)
  const media = new FakeMedia()
  await media.listen()
  const control = await startControl(world, media, options)
  const whole: CallsWorld & { pinRoom: string; openRoom: string } = {
    ...world,
    media,
    control,
    pinRoom,
    openRoom,
    close: async () => {
      await whole.control.stop()
      await media.close()
      await world.store.close()
    },
  }
  await ready(whole)
  return whole
}

/** Resolves when control has reconciled with media: it has asked for a snapshot and lets requests through. */
export async function ready(world: { media: FakeMedia; control: Control }): Promise<void> {
  await until(() => world.control.client.state === 'ready')
}

/** Resolves when `done` holds; fails after 20 s, so that a test that waits in vain ends. */
export async function until(done: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!done()) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${done}`)
    // Not immediately, since what is awaited may need the core.
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}

const HOUR = { created: '2026-11-21T09:00:00.000Z', updated: '2026-11-21T09:00:00.000Z' }

const hashes = new Map<string, Promise<string>>()

/** A lower cost of PIN hashes, which state their own: the product's is slow on purpose, and would take a tenth of the time of these tests. */
const PIN_COST = 4

/** The hash of a PIN, made once: every world has two. */
function hashOf(pin: string | null): Promise<string> | null {
  if (pin === null) return null
  const hash = hashes.get(pin) ?? hashPin(pin, PIN_COST)
  hashes.set(pin, hash)
  return hash
}

async function seed(world: World): Promise<{ pinRoom: string; openRoom: string }> {
  const tables = forTenant(world.store.db, { organisationId: world.ours.organisationId, livemode: true })
  await world.store.transaction(trx =>
    insertConnection(
      trx,
      { organisationId: world.ours.organisationId, livemode: true },
      {
        id: newId('connection'),
        name: 'Local phones',
        kind: 'peer',
        host: null,
        port: 5060,
        transport: 'udp',
        auth_username: null,
        auth_password: null,
        allowed_ips: '["127.0.0.0/8"]',
        codecs: '["PCMU"]',
        max_calls: null,
        enabled: 1,
        ...HOUR,
      },
    ),
  )
  const room = async (pin: string | null, moderatorPin: string | null) => {
    const id = newId('conference_room')
    await tables.insert('conference_rooms', {
      id,
      name: 'Room',
      owner_id: null,
      active: 1,
      pin_hash: await hashOf(pin),
      pin_length: pin?.length ?? null,
      moderator_pin_hash: await hashOf(moderatorPin),
      moderator_pin_length: moderatorPin?.length ?? null,
      settings: '{}',
      schedule: '{"start_at":null,"end_at":null,"recurrence":"none","timezone":"UTC"}',
      link_hash: '',
      ...HOUR,
    })
    return id
  }
  const pinRoom = await room('1234', '98765')
  const openRoom = await room(null, null)
  for (const [to, target, id] of [
    ['1000', 'room', pinRoom],
    ['1001', 'room', openRoom],
    ['1002', 'echo', null],
    ['1003', 'announcement', null],
  ] as const) {
    await tables.insert('inbound_routes', {
      id: newId('inbound_route'),
      match_to: to,
      match_from: null,
      match_connection_id: null,
      target,
      target_id: id,
      priority: 0,
      ...HOUR,
    })
  }
  return { pinRoom, openRoom }
}

/** Types of our live events so far, oldest first; with an ID only those of that call. */
export async function eventTypes(world: World, callId?: string): Promise<string[]> {
  const events = forTenant(world.store.db, { organisationId: world.ours.organisationId, livemode: true })
    .select('events')
    .select(['id', 'type', 'call_id'])
    .orderBy('id')
  const rows = await events.execute()
  return rows.filter(row => callId === undefined || row.call_id === callId).map(row => row.type)
}
