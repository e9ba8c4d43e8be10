import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { WAV_HEADER_BYTES, wavHeader } from '../../codecs/wav.ts'
import {
  createWhole,
  openRandom,
  type RandomFile,
  type RecordingInfo,
  recordingKey,
  type WholeFile,
} from '../protocol.ts'
import {
  channelFile,
  isRecordingId,
  MANIFEST_FILE,
  parseManifest,
  partialDir,
  RECORDING_FRAME_MS,
  RECORDING_FRAME_SAMPLES,
  RECORDING_RATE_HZ,
  type RecordedChannel,
  type RecordingManifest,
  recordingFile,
  recordingsDir,
} from './recording-manifest.ts'

const SAMPLE_BYTES = 2
const FRAME_BYTES = RECORDING_FRAME_SAMPLES * SAMPLE_BYTES
/** Buffer of each channel [frames]. */
const BLOCK_FRAMES = 50
const BLOCK_SAMPLES = BLOCK_FRAMES * RECORDING_FRAME_SAMPLES

/** A raw channel that is being read. `file` null: the participant said nothing that was written. */
interface RawChannel {
  file: RandomFile | null
  startFrame: number
  samples: number
}

/**
 * Makes the file of a recording from its raw channels and removes them: 16-bit PCM, a channel for each participant in order of first join, then the
 * product's, RF64 above 4 GiB. It blocks, so it runs on a thread of its own; holds a second of each channel at a time. Can be run again after a crash
 * at any point. `{ error }` leaves the raw channels, except of a recording without participants.
 */
export function makeRecording(dataDir: string, recordingId: string): RecordingInfo | { error: string } {
  if (!isRecordingId(recordingId)) return { error: `not a recording ID: ${recordingId}` }
  const dir = partialDir(dataDir, recordingId)
  try {
    const manifest = parseManifest(readFileSync(join(dir, MANIFEST_FILE), 'utf8'))
    if (manifest === null) return { error: 'the manifest is damaged' }
    if (manifest.channels.every(({ legId }) => legId === null)) {
      rmSync(dir, { recursive: true, force: true })
      return { error: 'nobody was recorded' }
    }
    const finished = join(recordingsDir(dataDir), recordingFile(recordingId))
    const key = manifest.encrypted === true ? recordingKey(dataDir, recordingId) : null
    const written = writeRecording(dir, manifest, key)
    renameSync(written.path, finished)
    syncDir(recordingsDir(dataDir))
    rmSync(dir, { recursive: true, force: true })
    return infoOf(recordingId, manifest, written)
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** If it is encrypted, nothing is ever on disk in the clear. */
function writeRecording(
  dir: string,
  manifest: RecordingManifest,
  key: Uint8Array | null,
): { path: string; frames: number; bytes: number } {
  const opened: { close(): void }[] = []
  const path = join(dir, 'recording.wav')
  try {
    const raws = inFileOrder(manifest).map(({ startFrame, number }): RawChannel => {
      const file = openRaw(join(dir, channelFile(number)), key)
      if (file !== null) opened.push(file)
      return { file, startFrame, samples: file === null ? 0 : Math.floor(file.size / SAMPLE_BYTES) }
    })
    const frames = manifest.frames ?? Math.max(0, ...raws.map(endOf))
    const dataBytes = frames * FRAME_BYTES * raws.length
    const out = createWhole(path, key)
    opened.push(out)
    out.write(wavHeader({ sampleRateHz: RECORDING_RATE_HZ, channels: raws.length, dataBytes }))
    interleave(raws, frames, out)
    out.finish()
    return { path, frames, bytes: WAV_HEADER_BYTES + dataBytes }
  } finally {
    for (const file of opened) file.close()
  }
}

/** The participants by when they came, then the product; `number`: of the raw channel. */
const inFileOrder = ({ channels }: RecordingManifest): (RecordedChannel & { number: number })[] => {
  const numbered = channels.map((channel, number) => ({ ...channel, number }))
  return [...numbered.filter(({ legId }) => legId !== null), ...numbered.filter(({ legId }) => legId === null)]
}

/** Copies block by block. A block that no channel reaches is left out: the file system reads it as zeros. */
function interleave(raws: readonly RawChannel[], frames: number, out: WholeFile): void {
  const one = new Int16Array(BLOCK_SAMPLES)
  const all = new Int16Array(BLOCK_SAMPLES * raws.length)
  for (let from = 0; from < frames; from += BLOCK_FRAMES) {
    const samples = Math.min(BLOCK_FRAMES, frames - from) * RECORDING_FRAME_SAMPLES
    const bytes = new Uint8Array(all.buffer, 0, samples * raws.length * SAMPLE_BYTES)
    if (!raws.some(raw => from + BLOCK_FRAMES > raw.startFrame && from < endOf(raw))) {
      out.skip(bytes.length)
      continue
    }
    raws.forEach((raw, n) => {
      readBlock(raw, from, one)
      for (let i = 0; i < samples; i++) all[i * raws.length + n] = one[i]!
    })
    out.write(bytes)
  }
}

/** Fills `block` with a channel's samples from the frame `from` of the timeline on, silence where there are none. */
function readBlock({ file, startFrame, samples }: RawChannel, from: number, block: Int16Array): void {
  block.fill(0)
  if (file === null) return
  const skip = Math.max(0, startFrame - from) * RECORDING_FRAME_SAMPLES
  const at = Math.max(0, from - startFrame) * RECORDING_FRAME_SAMPLES
  const count = Math.min(BLOCK_SAMPLES - skip, samples - at)
  if (count <= 0) return
  file.read(new Uint8Array(block.buffer, skip * SAMPLE_BYTES, count * SAMPLE_BYTES), at * SAMPLE_BYTES)
}

/** The frame of the timeline after a channel's last one. */
const endOf = ({ startFrame, samples }: RawChannel): number => startFrame + Math.ceil(samples / RECORDING_FRAME_SAMPLES)

function openRaw(path: string, key: Uint8Array | null): RandomFile | null {
  try {
    return openRandom(path, key, false)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Makes the rename itself durable. */
function syncDir(dir: string): void {
  const fd = openSync(dir, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function infoOf(
  recordingId: string,
  manifest: RecordingManifest,
  { frames, bytes }: { frames: number; bytes: number },
): RecordingInfo {
  return {
    recordingId,
    file: recordingFile(recordingId),
    sampleRateHz: RECORDING_RATE_HZ,
    durationMs: frames * RECORDING_FRAME_MS,
    sizeBytes: bytes,
    ...(manifest.encrypted === true && { encrypted: true }),
    channels: inFileOrder(manifest).map(({ legId }) => ({ legId })),
    segments: manifest.segments.flatMap(({ fromFrame, toFrame, reason }) => {
      // After a crash the timeline may be shorter than what the manifest has already noted.
      const end = Math.min(toFrame ?? frames, frames)
      return fromFrame < end ? [{ fromMs: fromFrame * RECORDING_FRAME_MS, toMs: end * RECORDING_FRAME_MS, reason }] : []
    }),
  }
}
