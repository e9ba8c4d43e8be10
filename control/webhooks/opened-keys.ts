import { LRUCache } from 'lru-cache'
import type { Vault } from '../kernel/vault.ts'

/** Signing keys that are kept open at most. */
const MOST = 200

/** Opens each signing key once: every delivery of an endpoint needs the same one or two. A new key is another sealed text. */
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
