import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, createReadStream, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Readable, Transform } from 'node:stream'

/**
 * Files that are encrypted on the disk: AES-256 in counter mode, so that any part can be read by itself. A header of 16 bytes holds
 * the nonce; the key is derived from the vault's and the recording's ID (RFC 5869), so that nothing of it is stored beside the file.
 */

const HEADER_BYTES = 16
const NONCE_BYTES = 8
const BLOCK_BYTES = 16
const COPY_BYTES = 1 << 20

/** Of one recording or voicemail. Throws when the data directory has no vault key. */
export const recordingKey = (dataDir: string, recordingId: string): Buffer =>
  Buffer.from(hkdfSync('sha256', readFileSync(join(dataDir, 'vault.key')), '', `tandem recording ${recordingId}`, 32))

/** Encrypts, or decrypts, what stands at a position of the plain file [bytes]. */
function cipherAt(key: Uint8Array, header: Uint8Array, position: number) {
  const iv = Buffer.alloc(BLOCK_BYTES)
  iv.set(header.subarray(0, NONCE_BYTES))
  iv.writeBigUInt64BE(BigInt(Math.floor(position / BLOCK_BYTES)), NONCE_BYTES)
  const cipher = createCipheriv('aes-256-ctr', key, iv)
  cipher.update(new Uint8Array(position % BLOCK_BYTES))
  return cipher
}

/** Writes an encrypted copy of a file, synced. */
export function sealFile(from: string, to: string, key: Uint8Array): void {
  const input = openSync(from, 'r')
  const output = openSync(to, 'w', 0o600)
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    header.set(randomBytes(NONCE_BYTES))
    writeAll(output, header)
    const cipher = cipherAt(key, header, 0)
    const block = new Uint8Array(COPY_BYTES)
    for (let read = readSync(input, block); read > 0; read = readSync(input, block)) {
      writeAll(output, cipher.update(block.subarray(0, read)))
    }
    fsyncSync(output)
  } finally {
    closeSync(input)
    closeSync(output)
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done)
}

/** A file that is read at any place; `key` null: it is not encrypted. */
export interface RandomFile {
  /** Of the plain file [bytes]. */
  readonly size: number
  /** Fills `bytes` from a position of the plain file on; returns how many there were. */
  read(bytes: Uint8Array, position: number): number
  close(): void
}

export function openRandom(path: string, key: Uint8Array | null): RandomFile {
  const fd = openSync(path, 'r')
  const header = new Uint8Array(HEADER_BYTES)
  if (key !== null) readSync(fd, header, 0, HEADER_BYTES, 0)
  const skip = key === null ? 0 : HEADER_BYTES
  return {
    size: fstatSync(fd).size - skip,
    read: (bytes, position) => {
      let done = 0
      for (let n = -1; n !== 0 && done < bytes.length; done += n) {
        n = readSync(fd, bytes, done, bytes.length - done, skip + position + done)
      }
      if (key !== null) bytes.set(cipherAt(key, header, position).update(bytes.subarray(0, done)))
      return done
    },
    close: () => closeSync(fd),
  }
}

/** How many bytes a file of this size on the disk holds. */
export const plainSize = (sizeOnDisk: number): number => Math.max(0, sizeOnDisk - HEADER_BYTES)

/** The plain bytes from `first` to `last`, both inclusive. */
export function unsealed(path: string, key: Uint8Array, first: number, last: number): Readable {
  const header = new Uint8Array(HEADER_BYTES)
  const fd = openSync(path, 'r')
  readSync(fd, header, 0, HEADER_BYTES, 0)
  closeSync(fd)
  const cipher = cipherAt(key, header, first)
  const sealed = createReadStream(path, { start: HEADER_BYTES + first, end: HEADER_BYTES + last })
  const plain = new Transform({ transform: (chunk, _encoding, done) => done(null, cipher.update(chunk)) })
  sealed.on('error', error => plain.destroy(error))
  return sealed.pipe(plain)
}
