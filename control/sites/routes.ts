import type { Static } from 'typebox'
import { readOrigin } from '../browsers/client-token.ts'
import type { Context } from '../http/context.ts'
import { invalid, type Problem } from '../http/errors.ts'
import { merge } from '../http/merge.ts'
import { plainOf, plainRoutes } from '../http/plain-resource.ts'
import { type Exists, referenceProblem } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { sentColumns } from '../kernel/show-row.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy } from '../kernel/tenancy.ts'
import { changeBody, createBody, DEFAULT_SETTINGS, type Site, settingsOf, siteSchema, toSite } from './schema.ts'

interface SiteDeps {
  store: Store
  now: () => Date
  exists: { queue: Exists }
  /** Where pages load the script; no trailing slash. */
  publicUrl: string
}

/** Routes of callback forms on websites. */
export function siteRoutes(deps: SiteDeps): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'sites',
    api: operations('Callbacks', 'callbacks'),
    reply: siteSchema,
    toObject: row => toSite(row, deps.publicUrl),
  })
  const writing = { createBody, create: create(deps), changeBody, change: change(deps) }
  return plainRoutes(plain, writing, { description: 'Its form accepts no more requests; its callbacks stay.' })
}

const create =
  (deps: SiteDeps) =>
  (context: Context, body: Static<typeof createBody>): Promise<Site | Problem> => {
    const { name, active = true, queue_id = null, ...sent } = body
    return context.transaction(async trx => {
      const refused = await refusal(deps, context, body, trx)
      if (refused !== null) return refused
      const settings = merge(DEFAULT_SETTINGS, { ...sent, origins: originsOf(sent.origins) })
      const at = deps.now().toISOString()
      const row = {
        ...{ id: newId('site'), name, active: active ? 1 : 0, queue_id },
        ...{ settings: JSON.stringify(settings), created: at, updated: at },
      }
      await forTenant(trx, context).insert('sites', row)
      return toSite({ ...row, ...ownedBy(context) }, deps.publicUrl)
    })
  }

const change =
  (deps: SiteDeps) =>
  (context: Context, id: string, body: Static<typeof changeBody>): Promise<Site | Problem> => {
    const { name, active, queue_id, origins, ...sent } = body
    return context.withRow('sites', 'site', id, async (trx, row) => {
      const refused = await refusal(deps, context, body, trx)
      if (refused !== null) return refused
      const changed = {
        ...sentColumns({ name, active, queue_id }),
        settings: JSON.stringify(
          merge(settingsOf(row), { ...sent, ...(origins === undefined ? {} : { origins: originsOf(origins) }) }),
        ),
        updated: deps.now().toISOString(),
      }
      await forTenant(trx, context).change('sites', id, changed)
      return toSite({ ...row, ...changed }, deps.publicUrl)
    })
  }

/** Origins in the form in which browsers send them. */
const originsOf = (origins: readonly string[]): string[] => [
  ...new Set(origins.flatMap(text => readOrigin(text) ?? [])),
]

async function refusal(
  { exists }: SiteDeps,
  context: Context,
  { origins = [], queue_id }: Static<typeof changeBody>,
  db: Parameters<Exists>[0],
): Promise<Problem | null> {
  const wrong = origins.findIndex(text => readOrigin(text) === null)
  if (wrong >= 0) {
    const message = 'An origin is the scheme, host and port of a website; http is for localhost only.'
    return invalid(`origins[${wrong}]`, message)
  }
  return referenceProblem(db, context, [{ param: 'queue_id', id: queue_id, kind: 'queue', exists: exists.queue }])
}
