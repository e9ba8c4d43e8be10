import { LRUCache } from 'lru-cache'
import type { Vault } from '../kernel/vault.ts'

/** Maximum number of signing keys kept unsealed. */
const MOST = 200

/** Unseals each signing key only once, since every delivery of an endpoint needs the same one or two. A new key has another sealed text. */
export class OpenedKeys implements Pick<Vault, 'open'> {
  readonly #vault: Pick<Vault, 'open'>
  readonly #opened = new LRUCache<string, string>({ max: MOST })

  constructor(vault: Pick<Vault, 'open'>) {
    this.#vault = vault
  }

  open(sealed: string, owner: string): string {
    const of = `${owner} ${sealed}`
    const known = this.#opened.get(of)
    if (known !== undefined) return known
    const opened = this.#vault.open(sealed, owner)
    this.#opened.set(of, opened)
    return opened
  }
}
