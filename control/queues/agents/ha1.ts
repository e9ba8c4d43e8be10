import type { Vault } from '../../kernel/vault.ts'
import type { SipCredentialRow } from './tables.ts'

/** The hash by which an account's phone proves its password (RFC 8760). */
export const ha1Of = (account: SipCredentialRow, algorithm: string, vault: Vault): string =>
  vault.open(algorithm === 'MD5' ? account.ha1_md5 : account.ha1_sha256, account.id)
