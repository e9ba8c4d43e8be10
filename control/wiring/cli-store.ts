/** The commands that open the store. `cli.ts` loads them only when needed, so that `tandem start`, which opens no store, starts faster. */

// Nouns register migrations, so whoever opens the store must import them all.
import './event-catalog.ts'
import type { Config } from '../kernel/config/settings.ts'
import { prepareDataDir } from '../kernel/data-dir.ts'
import { newSecret } from '../kernel/secrets.ts'
import { openConfiguredStore } from '../kernel/store/configured-store.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { insertApiKey } from '../organisation/api-key-routes.ts'
import type { NewKey } from './cli-words.ts'
import { addOrganisation } from './first-start.ts'

/** A command's output, or why it has failed. */
export type Said = { text: string } | { error: string }

/** Runs a command on the configured store, and prints its output once the store holds what it wrote. */
export async function withStore(config: Config, command: (store: Store) => Promise<Said>): Promise<Said> {
  const prepared = prepareDataDir(config.dataDir)
  if (prepared !== null) return prepared
  const store = await openConfiguredStore(config).catch((error: Error) => error)
  if (store instanceof Error) return { error: store.message }
  try {
    const said = await command(store)
    await store.durable()
    return said
  } finally {
    await store.close()
  }
}

/** Creates an organisation. */
export async function addOrg(store: Store, name: string): Promise<Said> {
  const organisation = { name, pciEnabled: false, now: new Date() }
  const { organisationId, keys } = await store.transaction(trx => addOrganisation(trx, organisation))
  const secrets = `live ${keys.live}\ntest ${keys.test}\n`
  return { text: `${name} (${organisationId})\n${secrets}Keep them: they are not shown again.\n` }
}

interface Organisation {
  id: string
  name: string
}

const organisations = (db: Db): Promise<(Organisation & { created: string })[]> =>
  db.selectFrom('organisations').select(['id', 'name', 'created']).orderBy('id').execute()

/** One line for each organisation: ID, date of creation, name. */
export async function listOrganisations({ db }: Store): Promise<Said> {
  const rows = await organisations(db)
  return { text: rows.map(({ id, created, name }) => `${id}  ${created.slice(0, 10)}  ${name}\n`).join('') }
}

/** Creates a key for someone who has lost all others; the old ones stay. */
export async function newKey(store: Store, wanted: NewKey, now: Date): Promise<Said> {
  const organisation = chosen(await organisations(store.db), wanted.organisation)
  if ('error' in organisation) return organisation
  const secret = newSecret(wanted.mode === 'live' ? 'sk_live' : 'sk_test')
  const tenant = { organisationId: organisation.id, livemode: wanted.mode === 'live' }
  const key = { name: wanted.name, secret, scopes: null, expiresAt: null, now }
  await store.transaction(trx => insertApiKey(trx, tenant, key))
  const whose = `${organisation.name} (${organisation.id})`
  return { text: `${whose}\n${wanted.mode} ${secret}\nKeep it: it is not shown again.\n` }
}

function chosen(all: readonly Organisation[], wanted: string | null): Organisation | { error: string } {
  const fitting = wanted === null ? all : all.filter(({ id, name }) => id === wanted || name === wanted)
  const [one, another] = fitting
  if (one !== undefined && another === undefined) return one
  if (all.length === 0) return { error: 'There is no organisation yet: tandem start creates the first one.' }
  const what = one === undefined ? `There is no organisation "${wanted}".` : 'Say which organisation.'
  return { error: `${what} tandem org list shows them all, with their IDs.` }
}
