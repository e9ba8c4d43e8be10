import { newSecret, sha256 } from '../kernel/secrets.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { passageSearch } from '../knowledge/passage-search.ts'
import { insertApiKey } from '../organisation/api-key-routes.ts'
import { insertOrganisation } from '../organisation/routes.ts'
import { hashDemoPins, seedDemo } from './demo.ts'

const SETTING = 'first_organisation'

/** Two secrets that are shown once and never again. */
export interface KeyPair {
  live: string
  test: string
}

/** Creates an organisation with a live and a test key. */
export async function addOrganisation(
  trx: Trx,
  organisation: { name: string; pciEnabled: boolean; now: Date },
  given: { live: string | null; test: string | null } = { live: null, test: null },
): Promise<{ organisationId: string; keys: KeyPair }> {
  const organisationId = await insertOrganisation(trx, organisation)
  const keys = { live: given.live ?? newSecret('sk_live'), test: given.test ?? newSecret('sk_test') }
  for (const mode of ['live', 'test'] as const) {
    const key = { name: 'First key', secret: keys[mode], scopes: null, expiresAt: null, now: organisation.now }
    await insertApiKey(trx, { organisationId, livemode: mode === 'live' }, key)
  }
  return { organisationId, keys }
}

/**
 * Creates the demo organisation if there is no organisation yet. `keys`: the generated keys, to be printed on the first start only, without
 * those that the operator has set.
 */
export async function firstStart(
  store: Store,
  given: { live: string | null; test: string | null },
  now: Date,
): Promise<{ organisationId: string; keys: { live: string | null; test: string | null } | null }> {
  const earlier = await firstOrganisation(store.db)
  if (earlier !== undefined) return { organisationId: earlier, keys: null }
  const pins = await hashDemoPins()
  return store.transaction(async trx => {
    // Another node may have started meanwhile.
    const first = await firstOrganisation(trx)
    if (first !== undefined) return { organisationId: first, keys: null }
    const demo = await addOrganisation(trx, { name: 'Demo', pciEnabled: true, now }, given)
    const tenant = { organisationId: demo.organisationId, livemode: true }
    await seedDemo(trx, tenant, { pins, search: passageSearch(store.engine), at: now.toISOString() })
    await trx.insertInto('settings').values({ name: SETTING, value: demo.organisationId }).execute()
    const keys = {
      live: given.live === null ? demo.keys.live : null,
      test: given.test === null ? demo.keys.test : null,
    }
    return { organisationId: demo.organisationId, keys }
  })
}

async function firstOrganisation(db: Db): Promise<string | undefined> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', SETTING).executeTakeFirst()
  return row?.value
}

/** The variables whose key does not exist in this installation, since they are read only at the first start. */
export async function unknownKeys(store: Store, given: Record<string, string | null>): Promise<string[]> {
  const unknown: string[] = []
  for (const [variable, secret] of Object.entries(given)) {
    if (secret === null) continue
    const row = await store.db.selectFrom('api_keys').select('id').where('hash', '=', sha256(secret)).executeTakeFirst()
    if (row === undefined) unknown.push(variable)
  }
  return unknown
}
