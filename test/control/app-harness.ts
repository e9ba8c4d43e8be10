import type { FastifyInstance, InjectOptions } from 'fastify'
import { mountOperations } from '../../control/http/pipeline.ts'
import type { Route } from '../../control/http/route.ts'
import { createServer } from '../../control/http/server.ts'
import type { RequestLog } from '../../control/http/wire/request-log.ts'
import type { Store } from '../../control/kernel/store/store.ts'
import { addOrganisation, type KeyPair } from '../../control/wiring/first-start.ts'
import { openTestStore } from './database.ts'
import { silent } from './silent.ts'

export const START = new Date('2026-11-21T10:00:00.000Z')

/** A clock that advances only when told to. */
export function makeClock() {
  let steady = 0
  let wall = START.getTime()
  return {
    now: () => new Date(wall + steady),
    /** The steady clock, which is never set. */
    steadyMs: () => steady,
    advance: (ms: number): void => {
      steady += ms
    },
    /** Sets the time of day. */
    set: (byMs: number): void => {
      wall += byMs
    },
  }
}

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  body: any
  headers: Record<string, string | string[] | number | undefined>
  text: string
}

export interface Asked {
  key?: string
  body?: unknown
  headers?: Record<string, string>
}

/** One request to an app that does not listen. */
export async function ask(app: FastifyInstance, line: string, asked: Asked = {}): Promise<Answer> {
  const [method, url] = line.split(' ')
  const response = await app.inject({
    method: method as InjectOptions['method'],
    url,
    headers: { ...(asked.key === undefined ? {} : { authorization: `Bearer ${asked.key}` }), ...asked.headers },
    ...(asked.body === undefined ? {} : { payload: asked.body as object }),
  })
  const isJson = String(response.headers['content-type']).startsWith('application/json')
  return {
    status: response.statusCode,
    body: isJson && response.payload !== '' ? response.json() : null,
    headers: response.headers,
    text: response.payload,
  }
}

export { silent }

export interface World {
  store: Store
  clock: ReturnType<typeof makeClock>
  ours: { organisationId: string; keys: KeyPair }
  theirs: { organisationId: string; keys: KeyPair }
}

/** Two organisations, in a given database or in one in memory. */
export async function makeWorld(opened?: Store): Promise<World> {
  const clock = makeClock()
  const store = opened ?? (await openTestStore(clock.steadyMs))
  const add = (name: string) =>
    store.transaction(trx => addOrganisation(trx, { name, pciEnabled: false, now: clock.now() }))
  return { store, clock, ours: await add('Ours'), theirs: await add('Theirs') }
}

/** An app with the product's pipeline around routes of the test. */
export async function serve(
  world: World,
  routes: Route[],
  rate = { burst: 1000, perSecond: 1000 },
  requestLog?: RequestLog,
): Promise<FastifyInstance> {
  const app = await createServer({ log: silent })
  const parts = { store: world.store, now: world.clock.now, log: silent, rate, maxObjects: 1000 }
  await mountOperations(app, routes, { ...parts, ...(requestLog && { requestLog }) })
  await app.ready()
  return app
}
