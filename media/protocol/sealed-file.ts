import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'

/**
 * Files that are encrypted on disk by AES-256-GCM in blocks. Any part can be read by itself, and changed bytes are detected. The key
 * is derived from the vault's key and the recording's ID (RFC 5869), so none is stored beside the file.
 *
 *     | magic 4 | block size 4 | block | block | …          block: | nonce 12 | encrypted | tag 16 |
 *
 * A block's number, and whether it is the last of a whole file, are authenticated with it: none can be moved, and the end cannot be
 * cut off. A file that is still being written has no last block; one that was never written there reads as silence.
 */

const MAGIC = Buffer.from('TSB1')
const HEADER_BYTES = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OVERHEAD = NONCE_BYTES + TAG_BYTES
/** For a complete file. */
const BLOCK_BYTES = 64 * 1024
const MAX_BLOCK_BYTES = 16 * 1024 * 1024
const SILENCE = new Uint8Array(BLOCK_BYTES)

/** For one recording or voicemail. Throws if the data directory has no vault key. */
export const recordingKey = (dataDir: string, recordingId: string): Buffer =>
  Buffer.from(hkdfSync('sha256', readFileSync(join(dataDir, 'vault.key')), '', `tandem recording ${recordingId}`, 32))

/** The blocks of one file. */
export class Seal {
  readonly blockBytes: number
  readonly #key: Uint8Array

  constructor(key: Uint8Array, blockBytes = BLOCK_BYTES) {
    this.#key = key
    this.blockBytes = blockBytes
  }

  header(): Buffer {
    const header = Buffer.alloc(HEADER_BYTES)
    MAGIC.copy(header)
    header.writeUInt32LE(this.blockBytes, MAGIC.length)
    return header
  }

  /** Offset of a block on disk [bytes]. */
  offsetOf(index: number): number {
    return HEADER_BYTES + index * (this.blockBytes + OVERHEAD)
  }

  seal(plain: Uint8Array, index: number, isLast: boolean): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(placeOf(index, isLast))
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  /** Throws if it is not what was sealed there. */
  open(block: Uint8Array, index: number, isLast: boolean): Buffer {
    const end = block.length - TAG_BYTES
    if (end < NONCE_BYTES) throw damaged(index)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, block.subarray(0, NONCE_BYTES))
    decipher.setAAD(placeOf(index, isLast)).setAuthTag(block.subarray(end))
    try {
      return Buffer.concat([decipher.update(block.subarray(NONCE_BYTES, end)), decipher.final()])
    } catch {
      throw damaged(index)
    }
  }

  /** The blocks of a file of this size on the disk, and how many plain bytes they hold. */
  measure(sizeOnDisk: number): { blocks: number; size: number } {
    const stride = this.blockBytes + OVERHEAD
    const body = Math.max(0, sizeOnDisk - HEADER_BYTES)
    const blocks = Math.ceil(body / stride)
    return { blocks, size: Math.max(0, body - blocks * OVERHEAD) }
  }
}

const damaged = (index: number): Error => new Error(`the encrypted file is damaged in block ${index}`)

function placeOf(index: number, isLast: boolean): Buffer {
  const place = Buffer.alloc(5)
  place.writeUInt32LE(index)
  place[4] = isLast ? 1 : 0
  return place
}

// ---------------------------------------------------------------------------------------------------- writing

/** A file that is written from its beginning to its end. */
export interface WholeFile {
  write(bytes: Uint8Array): void
  /** So many zeros [bytes]; one that is not encrypted has a hole there. */
  skip(count: number): void
  /** All of it is on the disk. */
  finish(): void
  /** Idempotent. */
  close(): void
}

/** @param key null: it is not encrypted */
export function createWhole(path: string, key: Uint8Array | null): WholeFile {
  const fd = openSync(path, 'w', 0o600)
  let isOpen = true
  const close = (): void => {
    if (isOpen) closeSync(fd)
    isOpen = false
  }
  return { ...(key === null ? plainWriter(fd) : sealedWriter(fd, new Seal(key))), close }
}

function plainWriter(fd: number): Omit<WholeFile, 'close'> {
  let at = 0
  return {
    write: bytes => {
      writeAll(fd, bytes, at)
      at += bytes.length
    },
    skip: count => {
      at += count
    },
    finish: () => {
      ftruncateSync(fd, at)
      fsyncSync(fd)
    },
  }
}

function sealedWriter(fd: number, seal: Seal): Omit<WholeFile, 'close'> {
  const block = Buffer.alloc(seal.blockBytes)
  let filled = 0
  let index = 0
  const flush = (isLast: boolean): void => {
    writeAll(fd, seal.seal(block.subarray(0, filled), index, isLast), seal.offsetOf(index))
    index++
    filled = 0
  }
  const write = (bytes: Uint8Array): void => {
    for (let done = 0; done < bytes.length; ) {
      // Only a block with another one after it is not the last.
      if (filled === block.length) flush(false)
      const count = Math.min(block.length - filled, bytes.length - done)
      block.set(bytes.subarray(done, done + count), filled)
      filled += count
      done += count
    }
  }
  writeAll(fd, seal.header(), 0)
  return {
    write,
    skip: count => {
      for (let done = 0; done < count; done += SILENCE.length) write(SILENCE.subarray(0, count - done))
    },
    finish: () => {
      flush(true)
      fsyncSync(fd)
    },
  }
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, position + done)
}

// ---------------------------------------------------------------------------------------------------- reading

/** A file that is read at any place; `key` null: it is not encrypted. */
export interface RandomFile {
  /** Size of the plain file [bytes]. */
  readonly size: number
  /** Fills `bytes` from a position of the plain file on; returns how many there were. Throws where it is damaged. */
  read(bytes: Uint8Array, position: number): number
  close(): void
}

/** @param isWhole false: writing was interrupted, or continues */
export function openRandom(path: string, key: Uint8Array | null, isWhole = true): RandomFile {
  const fd = openSync(path, 'r')
  const close = (): void => closeSync(fd)
  try {
    if (key === null) {
      return { size: fstatSync(fd).size, read: (bytes, position) => readAll(fd, bytes, position), close }
    }
    return { ...sealedReader(fd, key, isWhole), close }
  } catch (error) {
    close()
    throw error
  }
}

function sealedReader(fd: number, key: Uint8Array, isWhole: boolean): Omit<RandomFile, 'close'> {
  const header = Buffer.alloc(HEADER_BYTES)
  const sizeOnDisk = fstatSync(fd).size
  // Broken off before anything was in it.
  if (!isWhole && sizeOnDisk < HEADER_BYTES) return { size: 0, read: () => 0 }
  if (readAll(fd, header, 0) < HEADER_BYTES || !header.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new Error('the file is not encrypted as it should be')
  }
  const blockBytes = header.readUInt32LE(MAGIC.length)
  if (blockBytes === 0 || blockBytes > MAX_BLOCK_BYTES) throw new Error('the encrypted file is damaged')
  const seal = new Seal(key, blockBytes)
  const { blocks, size } = isWhole ? seal.measure(sizeOnDisk) : measureTorn(fd, seal, sizeOnDisk)
  let held = -1
  let plain: Uint8Array = new Uint8Array(0)
  const hold = (index: number): void => {
    if (held === index) return
    const sealed = new Uint8Array(Math.min(seal.blockBytes, size - index * seal.blockBytes) + OVERHEAD)
    readAll(fd, sealed, seal.offsetOf(index))
    plain = isWhole ? seal.open(sealed, index, index === blocks - 1) : opened(seal, sealed, index)
    held = index
  }
  return {
    size,
    read: (bytes, position) => {
      let done = 0
      while (done < bytes.length && position + done < size) {
        const index = Math.floor((position + done) / seal.blockBytes)
        hold(index)
        const from = position + done - index * seal.blockBytes
        const count = Math.min(bytes.length - done, plain.length - from)
        if (count <= 0) break
        bytes.set(plain.subarray(from, from + count), done)
        done += count
      }
      return done
    },
  }
}

/** For an unfinished file: a last block that was cut off is not part of it. */
function measureTorn(fd: number, seal: Seal, sizeOnDisk: number): { blocks: number; size: number } {
  const stride = seal.blockBytes + OVERHEAD
  const body = Math.max(0, sizeOnDisk - HEADER_BYTES)
  const whole = Math.floor(body / stride)
  const last = new Uint8Array(body - whole * stride)
  readAll(fd, last, seal.offsetOf(whole))
  try {
    if (last.length > 0) opened(seal, last, whole)
    return seal.measure(sizeOnDisk)
  } catch {
    return { blocks: whole, size: whole * seal.blockBytes }
  }
}

/** For an unfinished file: parts that were never written are silent. */
function opened(seal: Seal, sealed: Uint8Array, index: number): Uint8Array {
  const plainBytes = sealed.length - OVERHEAD
  if (plainBytes >= 0 && sealed.every(byte => byte === 0)) return new Uint8Array(plainBytes)
  return seal.open(sealed, index, false)
}

function readAll(fd: number, bytes: Uint8Array, position: number): number {
  let done = 0
  for (let n = -1; n !== 0 && done < bytes.length; done += n) {
    n = readSync(fd, bytes, done, bytes.length - done, position + done)
  }
  return done
}

/** How many bytes a whole file of this size on the disk holds. */
export const plainSize = (sizeOnDisk: number): number => new Seal(new Uint8Array(32)).measure(sizeOnDisk).size

/** The plain bytes from `first` to `last`, both inclusive. */
export function unsealed(path: string, key: Uint8Array, first: number, last: number): Readable {
  function* parts(): Generator<Uint8Array> {
    const file = openRandom(path, key)
    try {
      for (let at = first; at <= last; ) {
        // Block by block.
        const part = new Uint8Array(Math.min(BLOCK_BYTES - (at % BLOCK_BYTES), last + 1 - at))
        const read = file.read(part, at)
        if (read === 0) return
        yield part.subarray(0, read)
        at += read
      }
    } finally {
      file.close()
    }
  }
  return Readable.from(parts(), { objectMode: false })
}
