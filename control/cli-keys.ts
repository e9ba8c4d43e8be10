import { parseArgs } from 'node:util'
import { insertApiKey } from './resources/api-keys.ts'
import { newSecret } from './secrets.ts'
import type { Db, Store } from './store.ts'

/** `tandem key new`: what its words say. */
export interface NewKey {
  /** An ID or a name; null: the only organisation. */
  organisation: string | null
  mode: 'live' | 'test'
  name: string
}

export const KEY_USAGE = 'tandem key new [ORGANISATION] [--test] [--name NAME]'
const MAX_NAME = 200

/** The words after `tandem key`, or null when they make no sense. */
export function readKeyWords(words: string[]): NewKey | null {
  try {
    const { values, positionals } = parseArgs({
      args: words,
      options: { test: { type: 'boolean' }, name: { type: 'string' } },
      allowPositionals: true,
    })
    const [verb, organisation = null, ...more] = positionals
    const name = values.name ?? 'Made by tandem key new'
    if (verb !== 'new' || more.length > 0 || name.length > MAX_NAME) return null
    return { organisation, mode: values.test === true ? 'test' : 'live', name }
  } catch {
    return null
  }
}

interface Organisation {
  id: string
  name: string
}

const organisations = (db: Db): Promise<(Organisation & { created: string })[]> =>
  db.selectFrom('organisations').select(['id', 'name', 'created']).orderBy('id').execute()

/** One line for each organisation: ID, since when, name. */
export async function listOrganisations({ db }: Store): Promise<string> {
  const rows = await organisations(db)
  return rows.map(({ id, created, name }) => `${id}  ${created.slice(0, 10)}  ${name}\n`).join('')
}

/** Makes a key for who has lost all others; the old ones stay as they are. */
export async function newKey(store: Store, wanted: NewKey, now: Date): Promise<{ text: string } | { error: string }> {
  const organisation = chosen(await organisations(store.db), wanted.organisation)
  if ('error' in organisation) return organisation
  const secret = newSecret(wanted.mode === 'live' ? 'sk_live' : 'sk_test')
  const tenant = { organisationId: organisation.id, livemode: wanted.mode === 'live' }
  const key = { name: wanted.name, secret, scopes: null, expiresAt: null, now }
  await store.transaction(trx => insertApiKey(trx, tenant, key))
  const whose = `${organisation.name} (${organisation.id})`
  return { text: `${whose}\n${wanted.mode} ${secret}\nKeep it: it is shown only now.\n` }
}

function chosen(all: readonly Organisation[], wanted: string | null): Organisation | { error: string } {
  const fitting = wanted === null ? all : all.filter(({ id, name }) => id === wanted || name === wanted)
  const [one, another] = fitting
  if (one !== undefined && another === undefined) return one
  if (all.length === 0) return { error: 'There is no organisation yet: tandem start makes the first one.' }
  const what = one === undefined ? `There is no organisation "${wanted}".` : 'Say which organisation.'
  return { error: `${what} tandem org list shows them all, with their IDs.` }
}
