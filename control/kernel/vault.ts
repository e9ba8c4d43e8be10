import { createHmac, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { decrypted, encrypted } from './secrets.ts'

const KEY_BYTES = 32
const PRIVATE_MODE = 0o600

/** Encrypts secrets that we must be able to read again, such as signing keys, in the database and its backups. */
export interface Vault {
  /** AES-256-GCM. `owner` is the ID of the row of the text: it cannot be opened in another row. */
  seal(text: string, owner: string): string
  /** A secret for one purpose, the same wherever the key is; nothing leads back from it. */
  derive(purpose: string): string
  /** Decrypts a text; throws if the key or the owner is a different one. */
  open(sealed: string, owner: string): string
}

const vaultFile = (dataDir: string): string => join(dataDir, 'vault.key')

/** The vault of this data directory; its key is generated at the first start. Throws if the file is not a key. */
export function openVault(dataDir: string): Vault {
  const file = vaultFile(dataDir)
  const key = readKey(file) ?? makeKey(file)
  if (key.length !== KEY_BYTES) throw new Error(`${file} is not a key: restore it from a backup`)
  return vaultOf(key)
}

/** A vault with this key of 32 bytes. */
export function vaultOf(key: Uint8Array): Vault {
  return {
    seal: (text, owner) => encrypted(text, key, owner),
    derive: purpose => createHmac('sha256', key).update(purpose).digest('hex'),
    open: (sealed, owner) => decrypted(sealed, key, owner),
  }
}

function readKey(file: string): Buffer | null {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Linked into place once complete: if two processes start at once, one key wins, and a crash leaves none. */
function makeKey(file: string): Buffer {
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  const handle = openSync(draft, 'wx', PRIVATE_MODE)
  try {
    writeSync(handle, randomBytes(KEY_BYTES))
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file)
}
