import { type AppParts, routes } from '../../../control/app.ts'
import type { Route } from '../../../control/http/route.ts'
import { silent, type World } from '../app-harness.ts'
import { APP_CONFIG, DEAF_MEDIA, VAULT } from '../whole-app.ts'

/** Every operation of the product, from its own wiring: there is no second list. */
export const productRoutes = (world: World, more: Partial<AppParts> = {}): Route[] =>
  routes({
    store: world.store,
    media: DEAF_MEDIA,
    config: APP_CONFIG,
    vault: VAULT,
    now: world.clock.now,
    log: silent,
    ...more,
  } as unknown as AppParts)
