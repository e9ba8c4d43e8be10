import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
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
    seal: (text, owner) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(owner))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    derive: purpose => createHmac('sha256', key).update(purpose).digest('hex'),
    open: (sealed, owner) => {
      const bytes = Buffer.from(sealed, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
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
