import type { Store } from './store/store.ts'
import type { Vault } from './vault.ts'

const NAME = 'vault'

/**
 * Whether this vault opens what the database's secrets were sealed with; the first to ask decides. Nodes on one database need
 * one key, and a database that is restored needs its own.
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
