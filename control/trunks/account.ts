import type { Store } from '../kernel/store/store.ts'
import type { Vault } from '../kernel/vault.ts'
import type { ConnectionRow } from './tables.ts'

/** Prefix of a sealed password, since early versions stored passwords in clear. */
const SEALED = 'sealed:'

/** A connection's password in its stored form. */
export const sealPassword = (vault: Vault, password: string, connectionId: string): string =>
  SEALED + vault.seal(password, connectionId)

/** The credentials that we use at a connection's far end; null: there are none. */
export function credentialsOf(
  vault: Vault,
  { id, auth_username: username, auth_password: sealed }: ConnectionRow,
): { username: string; password: string } | null {
  return username === null || sealed === null
    ? null
    : { username, password: vault.open(sealed.slice(SEALED.length), id) }
}

/** Seals passwords that an early version stored in clear. To be called before the first call. */
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
