import type { Store } from '../kernel/store/store.ts'
import type { Vault } from '../kernel/vault.ts'
import type { ConnectionRow } from './tables.ts'

/** Tells a sealed password from one that an early version stored as it was. */
const SEALED = 'sealed:'

/** A connection's password as it is stored. */
export const sealPassword = (vault: Vault, password: string, connectionId: string): string =>
  SEALED + vault.seal(password, connectionId)

/** The credentials with which a connection logs in; null: it has none. */
export function credentialsOf(
  vault: Vault,
  { id, auth_username: username, auth_password: sealed }: ConnectionRow,
): { username: string; password: string } | null {
  return username === null || sealed === null
    ? null
    : { username, password: vault.open(sealed.slice(SEALED.length), id) }
}

/** Seals what an early version stored as it was; to be called before the first call. */
export async function sealStoredPasswords(store: Store, vault: Vault): Promise<void> {
  await store.transaction(async trx => {
    const rows = await trx
      .selectFrom('connections')
      .select(['id', 'auth_password'])
      .where('auth_password', 'is not', null)
      .where('auth_password', 'not like', `${SEALED}%`)
      .execute()
    for (const { id, auth_password: password } of rows) {
      const change = { auth_password: sealPassword(vault, password!, id) }
      await trx.updateTable('connections').set(change).where('id', '=', id).execute()
    }
  })
}
