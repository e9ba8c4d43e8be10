import { access, type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Seal } from '../protocol.ts'
import {
  channelFile,
  isRecordingId,
  MANIFEST_FILE,
  partialDir,
  partialsDir,
  RECORDING_CHUNK_BYTES,
  recordingFile,
  recordingsDir,
} from './recording-manifest.ts'

/** A recorder's interface to the disk. One call at a time; each may reject. */
export interface RecordingStore {
  /** Puts the whole manifest in place of the last one. */
  writeManifest(text: string): Promise<void>
  /** Writes a stretch of a channel's samples at its position [bytes]; what is never written reads as silence. */
  writeChunk(channel: number, bytes: Uint8Array, position: number): Promise<void>
  /** Nothing more is written. Idempotent. */
  close(): Promise<void>
}

/** The unfinished recording as files in `<dataDir>/recordings/.partial/<recordingId>/`. Nothing is made before the first write. */
export class PartialFiles implements RecordingStore {
  readonly #dataDir: string
  readonly #recordingId: string
  readonly #dir: string
  readonly #seal: Seal | null
  readonly #channels = new Map<number, FileHandle>()
  #isMade = false

  /**
   * @param recordingId checked by `isRecordingId`; anything else is a RangeError
   * @param key of its channels; null: they lie in the clear
   */
  constructor(dataDir: string, recordingId: string, key: Uint8Array | null = null) {
    if (!isRecordingId(recordingId)) throw new RangeError(`not a recording ID: ${recordingId}`)
    this.#dataDir = dataDir
    this.#recordingId = recordingId
    this.#dir = partialDir(dataDir, recordingId)
    this.#seal = key === null ? null : new Seal(key, RECORDING_CHUNK_BYTES)
  }

  async writeManifest(text: string): Promise<void> {
    await this.#make()
    const path = join(this.#dir, MANIFEST_FILE)
    const file = await open(`${path}.new`, 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(`${path}.new`, path)
  }

  async writeChunk(channel: number, bytes: Uint8Array, position: number): Promise<void> {
    await this.#make()
    let file = this.#channels.get(channel)
    if (file === undefined) {
      file = await open(join(this.#dir, channelFile(channel)), 'w', 0o600)
      this.#channels.set(channel, file)
      if (this.#seal !== null) await writeAll(file, this.#seal.header(), 0)
    }
    if (this.#seal === null) return writeAll(file, bytes, position)
    const index = position / RECORDING_CHUNK_BYTES
    await writeAll(file, this.#seal.seal(bytes, index, false), this.#seal.offsetOf(index))
  }

  async close(): Promise<void> {
    const files = [...this.#channels.values()]
    this.#channels.clear()
    for (const file of files) await file.close()
  }

  /** Fails when a recording of this ID exists, finished or not: it must not be overwritten. */
  async #make(): Promise<void> {
    if (this.#isMade) return
    await mkdir(partialsDir(this.#dataDir), { recursive: true, mode: 0o700 })
    const finished = join(recordingsDir(this.#dataDir), recordingFile(this.#recordingId))
    const exists = await access(finished).then(
      () => true,
      () => false,
    )
    if (exists) throw new Error(`${finished} exists`)
    await mkdir(this.#dir, { mode: 0o700 })
    this.#isMade = true
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}
