import { join } from 'node:path'

/** The unit for cutting a recording's 16-bit mono samples: one frame of a leg at 8 kHz [samples]. */
export const RECORDING_FRAME_SAMPLES = 160
export const RECORDING_RATE_HZ = 8000
export const RECORDING_FRAME_MS = 20
/** One write of a channel: a second [bytes]. */
export const RECORDING_CHUNK_BYTES = 50 * RECORDING_FRAME_SAMPLES * 2

/** Channels of one recording; WAV would allow more, an operator's disk would not. */
export const MAX_RECORDING_CHANNELS = 256

export interface RecordedChannel {
  /** Null: what the product itself played. */
  legId: string | null
  /** Position on the recording's timeline at which this channel's file begins [frames]. */
  startFrame: number
}

/** A stretch of silence put there by a capture pause; `toFrame` null: it lasts [frames]. */
export interface RecordedSegment {
  fromFrame: number
  toFrame: number | null
  reason: string
}

/** Next to the raw channels of an unfinished recording: everything needed to finish it after a crash. */
export interface RecordingManifest {
  version: 1
  /** Length of the timeline; null while it still grows [frames]. */
  frames: number | null
  channels: RecordedChannel[]
  segments: RecordedSegment[]
  /** The file is to be encrypted, and its raw channels are. */
  encrypted?: boolean
}

/** IDs become file names, so nothing else may be in them. */
const ID = /^[a-z]+_[A-Za-z0-9]+$/
const MAX_ID_LENGTH = 128

export const isRecordingId = (id: string): boolean => id.length <= MAX_ID_LENGTH && ID.test(id)

export const recordingsDir = (dataDir: string): string => join(dataDir, 'recordings')
export const partialsDir = (dataDir: string): string => join(recordingsDir(dataDir), '.partial')
export const partialDir = (dataDir: string, id: string): string => join(partialsDir(dataDir), id)
export const recordingFile = (id: string): string => `${id}.wav`
export const channelFile = (channel: number): string => `${channel}.raw`
export const MANIFEST_FILE = 'manifest.json'

/** The manifest, or null if the text is none. */
export function parseManifest(text: string): RecordingManifest | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  return isManifest(value) ? value : null
}

function isManifest(value: unknown): value is RecordingManifest {
  if (!isRecord(value) || value.version !== 1) return false
  const { frames, channels, segments } = value
  return (
    (frames === null || isCount(frames)) &&
    Array.isArray(channels) &&
    channels.length <= MAX_RECORDING_CHANNELS &&
    channels.every(isChannel) &&
    Array.isArray(segments) &&
    segments.every(isSegment)
  )
}

const isChannel = (value: unknown): boolean =>
  isRecord(value) && (value.legId === null || typeof value.legId === 'string') && isCount(value.startFrame)

const isSegment = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value.reason === 'string' &&
  isCount(value.fromFrame) &&
  (value.toFrame === null || isCount(value.toFrame))

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
