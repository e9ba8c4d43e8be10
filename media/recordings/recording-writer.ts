import { readdirSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { WorkerJobs } from '../kernel/worker-jobs.ts'
import { workerEntry } from '../protocol/worker-entry.ts'
import { type RecordingInfo, recordingKey } from '../protocol.ts'
import { Recorder, type RecordingFinisher } from './recorder.ts'
import { isRecordingId, partialDir, partialsDir } from './recording-manifest.ts'
import { PartialFiles } from './recording-partial.ts'
import type { RecordingJob } from './recording-worker.ts'

/** Opens recorders on a data directory and finishes their files, one after the other, on a thread of its own. */
export class RecordingWriter implements RecordingFinisher {
  readonly #dataDir: string
  readonly #jobs = new WorkerJobs<RecordingJob, RecordingInfo | { error: string }>(
    workerEntry('media/recordings/recording-worker'),
  )

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** A recorder, or `{ error }` when the ID cannot be a file name. Nothing is written before a participant is tracked. */
  open(recordingId: string, onFailed: (message: string) => void, encrypted = false): Recorder | { error: string } {
    if (!isRecordingId(recordingId)) return { error: `not a recording ID: ${JSON.stringify(recordingId)}` }
    const key = encrypted ? keyOf(this.#dataDir, recordingId) : null
    if (key !== null && 'error' in key) return key
    const store = new PartialFiles(this.#dataDir, recordingId, key)
    return new Recorder({ recordingId, store, finisher: this, onFailed, encrypted })
  }

  /** Makes the file of a recording whose raw channels are on the disk. Never rejects. */
  finish(recordingId: string): Promise<RecordingInfo | { error: string }> {
    return this.#jobs.run({ dataDir: this.#dataDir, recordingId })
  }

  /** Ends the thread; call it after the last recorder has finished. Idempotent. */
  close(): Promise<void> {
    return this.#jobs.close()
  }
}

/** One that cannot be encrypted is not begun. */
function keyOf(dataDir: string, recordingId: string): Uint8Array | { error: string } {
  try {
    return recordingKey(dataDir, recordingId)
  } catch (error) {
    return { error: `the recording cannot be encrypted: ${error instanceof Error ? error.message : String(error)}` }
  }
}

export interface Recovered {
  /** For events `recording.ready`. */
  ready: RecordingInfo[]
  /** For events `recording.failed`. */
  failed: { recordingId: string; message: string }[]
}

/**
 * Finishes recordings that nobody writes any more, after a crash; if not said otherwise, all that there are: then recorders may be opened once
 * the call returns, since their list is fixed. A recording that cannot be finished is reported once and renamed
 * `<recordingId>.failed`. Never rejects.
 */
export async function recoverRecordings(
  dataDir: string,
  unfinished: readonly string[] = leftBehind(dataDir),
): Promise<Recovered> {
  const recovered: Recovered = { ready: [], failed: [] }
  const writer = new RecordingWriter(dataDir)
  for (const recordingId of unfinished) {
    const info = await writer.finish(recordingId)
    if (!('error' in info)) {
      recovered.ready.push(info)
      continue
    }
    recovered.failed.push({ recordingId, message: info.error })
    const dir = partialDir(dataDir, recordingId)
    await rename(dir, join(partialsDir(dataDir), `${recordingId}.failed`)).catch(() => {})
  }
  await writer.close()
  return recovered
}

/** The recordings that are not finished: of those that nobody writes, a crash has interrupted them. */
export function leftBehind(dataDir: string): string[] {
  try {
    return readdirSync(partialsDir(dataDir)).filter(isRecordingId).sort()
  } catch {
    return []
  }
}
