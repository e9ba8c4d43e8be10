import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Route } from '../../../control/http/route.ts'
import { RequestLog } from '../../../control/http/wire/request-log.ts'
import type { AppParts } from '../../../control/wiring/parts.ts'
import { routes } from '../../../control/wiring/routes/all.ts'
import { willingMedia } from '../../fakes/media-port.ts'
import { type Answer, type Asked, ask, makeWorld, serve, silent, type World } from '../app-harness.ts'
import { APP_CONFIG, VAULT } from '../whole-app.ts'

/** Every operation of the product, from its own wiring, so that there is no second list. */
export function productRoutes(world: World, more: Partial<AppParts> = {}, requestLog?: RequestLog): Route[] {
  const { store } = world
  const now = world.clock.now
  const same = { store, media: willingMedia(), config: APP_CONFIG, vault: VAULT, now, log: silent }
  return routes({ ...same, ...more } as AppParts, requestLog ?? new RequestLog({ store, log: silent }))
}

export const UNLIMITED = { burst: 1e9, perSecond: 1e9 }

/** The product's routes with its own pipeline, on a database in memory and a media double. */
export interface ProductWorld extends World {
  dataDir: string
  routes: Route[]
  app: FastifyInstance
  ask(line: string, asked?: Asked): Promise<Answer>
  close(): Promise<void>
}

/** `wrap`: wraps each operation. */
export async function makeProduct(wrap: (route: Route) => Route = route => route): Promise<ProductWorld> {
  const world = await makeWorld()
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-conformance-'))
  const requestLog = new RequestLog({ store: world.store, log: silent })
  const all = productRoutes(world, { config: { ...APP_CONFIG, dataDir } }, requestLog)
  const app = await serve(world, all.map(wrap), UNLIMITED, requestLog)
  return {
    ...world,
    dataDir,
    routes: all,
    app,
    ask: (line, asked) => ask(app, line, asked),
    close: async () => {
      await app.close()
      await requestLog.flush()
      await world.store.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
