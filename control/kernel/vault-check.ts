import type { Store } from './store/store.ts'
import type { Vault } from './vault.ts'

const NAME = 'vault'

/**
 * Whether this vault opens the secrets of the database; the first one to use the database sets the key. Nodes on one database need
 * the same key, and a restored database needs its own.
 */
export async function vaultFits({ db }: Store, vault: Vault): Promise<boolean> {
  await db
    .insertInto('settings')
    .values({ name: NAME, value: vault.seal(NAME, NAME) })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  const { value } = await db.selectFrom('settings').select('value').where('name', '=', NAME).executeTakeFirstOrThrow()
  try {
    return vault.open(value, NAME) === NAME
  } catch {
    return false
  }
}
