import type { FastifyInstance } from 'fastify'
import type { Store } from '../../control/kernel/store/store.ts'
import { forTenant } from '../../control/kernel/tenancy.ts'
import { buildApp } from '../../control/wiring/app.ts'
import type { AppConfig, AppParts } from '../../control/wiring/parts.ts'
import { type Answer, type Asked, ask, makeWorld, silent, type World } from './app-harness.ts'
import { VAULT } from './silent.ts'

export { VAULT }

/** Networks for examples (RFC 5737, RFC 3849), which stand for the Internet here. */
export const EXAMPLE_NETWORKS = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32']

export const APP_CONFIG: AppConfig = {
  allowPrivateUrls: EXAMPLE_NETWORKS,
  maxObjects: 1000,
  stirKey: '/nowhere/key.pem',
  stirAnchors: '/nowhere/anchors.pem',
  dataDir: '/nowhere',
  httpHost: '127.0.0.1',
  httpPort: 8080,
  publicIps: [],
  sipHosts: ['127.0.0.1'],
}

/** Media that knows of no call. */
export const DEAF_MEDIA = {
  state: 'ready',
  request: async (name: string) => (name === 'leg.reserve' ? {} : { failure: 'not_found', message: 'not here' }),
  settled: async () => {},
  counters: { eventsLost: 0 },
  batchSizes: { bounds: [], counts: [], sum: 0, count: 0 },
}

/** The product's own wiring over a database in memory, without media. */
export interface WholeApp extends World {
  app: FastifyInstance
  /** With the live key of our organisation. */
  live(line: string, body?: unknown, asked?: Asked): Promise<Answer>
  /** With the test key of our organisation. */
  test(line: string, body?: unknown, asked?: Asked): Promise<Answer>
  /** The objects of our live events of this type, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  events(type: string): Promise<any[]>
  close(): Promise<void>
}

export async function makeWholeApp(more: Partial<AppParts> = {}, opened?: Store): Promise<WholeApp> {
  const world = await makeWorld(opened)
  const parts = {
    store: world.store,
    media: DEAF_MEDIA,
    config: APP_CONFIG,
    vault: VAULT,
    now: world.clock.now,
    log: silent,
    ...more,
  }
  const app = await buildApp(parts as unknown as AppParts)
  const asker = (key: string) => (line: string, body?: unknown, asked?: Asked) =>
    ask(app, line, { key, ...(body === undefined ? {} : { body }), ...asked })
  return {
    ...world,
    app,
    live: asker(world.ours.keys.live),
    test: asker(world.ours.keys.test),
    events: async type => {
      const ours = forTenant(world.store.db, { organisationId: world.ours.organisationId, livemode: true })
      const rows = await ours.select('events').select('data').where('type', '=', type).orderBy('id').execute()
      return rows.map(row => JSON.parse(row.data))
    },
    close: async () => {
      await app.close()
      await world.store.close()
    },
  }
}

/** Adds a member to the organisation of `ask`; returns its ID. */
export async function addMember(ask: WholeApp['live'], email: string, more: object = {}): Promise<string> {
  const { body } = await ask('POST /v1/invitations', { email, ...more })
  await ask(`PATCH /v1/users/${body.user_id}`, { status: 'active' })
  return body.user_id
}

/** Status and parameter of a refusal. */
export const refusal = ({ status, body }: Answer): [number, string | null, string | undefined] => [
  status,
  body.error?.param ?? null,
  body.error?.details?.reason,
]
