import { insertNew } from './store/compiled.ts'
import type { Store } from './store/store.ts'
import type { Vault } from './vault.ts'

const NAME = 'vault'

/**
 * Whether this vault opens the secrets of the database; the first one to use the database sets the key. Nodes on one database need
 * the same key, and a restored database needs its own.
 */
export async function vaultFits({ db }: Store, vault: Vault): Promise<boolean> {
  await insertNew(db, 'settings', { name: NAME, value: vault.seal(NAME, NAME) })
  const { value } = await db.selectFrom('settings').select('value').where('name', '=', NAME).executeTakeFirstOrThrow()
  try {
    return vault.open(value, NAME) === NAME
  } catch {
    return false
  }
}
