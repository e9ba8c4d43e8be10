import { addTo, type Frame } from '../../codecs/audio.ts'
import type { RecordingInfo } from '../protocol.ts'
import type { Sink, Track } from '../rooms/sink.ts'
import { type Chunk, ChunkQueue } from './chunk-queue.ts'
import {
  MAX_RECORDING_CHANNELS,
  RECORDING_CHUNK_BYTES,
  RECORDING_FRAME_SAMPLES,
  type RecordedChannel,
  type RecordedSegment,
  type RecordingManifest,
} from './recording-manifest.ts'
import type { RecordingStore } from './recording-partial.ts'

/** One write to the disk: a second of one channel. */
const CHUNK_SAMPLES = RECORDING_CHUNK_BYTES / Int16Array.BYTES_PER_ELEMENT
const CHUNK_FRAMES = CHUNK_SAMPLES / RECORDING_FRAME_SAMPLES
/** The disk may stall this long before frames are dropped [chunks of a second per channel]. */
const MAX_WAITING_CHUNKS = 10

/** Makes the file of a recording whose raw channels are written. */
export interface RecordingFinisher {
  finish(recordingId: string): Promise<RecordingInfo | { error: string }>
}

interface RecorderOptions {
  recordingId: string
  store: RecordingStore
  finisher: RecordingFinisher
  /** Its file is to be encrypted. */
  encrypted?: boolean
  /** Called once, if the disk fails; the call continues, and `finish` gives the same message. */
  onFailed: (message: string) => void
}

/**
 * Records one leg or room: a channel for each participant and one for the product, all on one timeline that `tick` counts. A late party starts at the
 * right sample, and an absent one is silent. Frames are copied into chunks that are written in the background. If the disk stalls they are dropped and
 * counted, and the timeline continues.
 */
export class Recorder {
  readonly recordingId: string
  /** Participants beyond the largest number of channels: not recorded. */
  participantsRefused = 0

  readonly #queue: ChunkQueue
  readonly #finisher: RecordingFinisher
  readonly #isEncrypted: boolean
  readonly #channels: Channel[] = []
  readonly #byLeg = new Map<string, Channel>()
  readonly #segments: RecordedSegment[] = []
  /** Audio of the product. */
  #product: Channel | null = null
  #isMuted = false
  #frames = 0
  #length: number | null = null
  #finished: Promise<RecordingInfo | { error: string }> | null = null

  constructor(options: RecorderOptions) {
    this.recordingId = options.recordingId
    this.#finisher = options.finisher
    this.#isEncrypted = options.encrypted === true
    this.#queue = new ChunkQueue(options.store, CHUNK_SAMPLES, options.onFailed)
  }

  /** Length of the timeline so far [frames]. */
  get frames(): number {
    return this.#frames
  }

  /** Frames that became silence because the disk stalled or failed. */
  get framesDropped(): number {
    return this.#channels.reduce((sum, channel) => sum + channel.framesDropped, 0)
  }

  /** The first error of the disk, after which nothing is kept. */
  get failure(): string | null {
    return this.#queue.failure
  }

  /**
   * A participant comes, or comes again: its `inbound` goes to its channel until the sink is closed or no longer written. The
   * same participant has the same sink.
   */
  track(legId: string): Sink {
    const channel = this.#byLeg.get(legId) ?? this.#addChannel(legId)
    if (this.#length === null) channel?.open()
    return channel ?? DEAF
  }

  #addChannel(legId: string): Channel | null {
    if (this.#length !== null) return null
    if (this.#channels.length >= MAX_RECORDING_CHANNELS) {
      this.participantsRefused++
      return null
    }
    const channel = this.#makeChannel(legId)
    channel.isMuted = this.#isMuted
    this.#byLeg.set(legId, channel)
    return channel
  }

  #makeChannel(legId: string | null): Channel {
    this.#queue.grow(MAX_WAITING_CHUNKS + 1, 2)
    const channel = new Channel(this.#queue, this.#channels.length, { legId, startFrame: this.#frames })
    this.#channels.push(channel)
    this.#note()
    return channel
  }

  /** A channel for what the product plays from now on; the file has it behind the participants. Idempotent. */
  trackProduct(): void {
    if (this.#length !== null || this.#product !== null) return
    this.#product = this.#makeChannel(null)
    this.#product.open()
  }

  /** The product's audio in this tick; several sources are mixed. */
  played(frame: Frame): void {
    if (!this.#isMuted) this.#product?.add(frame)
  }

  /** Silence in all channels from now on; the timeline continues. */
  mute(isMuted: boolean): void {
    this.#isMuted = isMuted
    for (const channel of this.#channels) channel.isMuted = isMuted
  }

  /** 20 ms have passed, for all channels; call it after the sinks were written. */
  tick(): void {
    if (this.#length !== null) return
    this.#frames++
    for (const channel of this.#channels) channel.tick()
  }

  /** From now on the sinks get silence for this reason. */
  pauseBegan(reason: string): void {
    const last = this.#segments.at(-1)
    if (this.#length !== null || last?.toFrame === null) return
    // The recording has followed its party from one room to another.
    if (last?.toFrame === this.#frames && last.reason === reason) last.toFrame = null
    else this.#segments.push({ fromFrame: this.#frames, toFrame: null, reason })
    this.#note()
  }

  pauseEnded(): void {
    const last = this.#segments.at(-1)
    if (this.#length !== null || last === undefined || last.toFrame !== null) return
    last.toFrame = this.#frames
    if (last.fromFrame === last.toFrame) this.#segments.pop()
    this.#note()
  }

  /**
   * Ends the timeline and makes the file. `{ error }` if the disk failed or nobody was recorded; data on disk stays there
   * for the next start. Idempotent, never rejects.
   */
  finish(): Promise<RecordingInfo | { error: string }> {
    this.#finished ??= this.#finish()
    return this.#finished
  }

  async #finish(): Promise<RecordingInfo | { error: string }> {
    this.pauseEnded()
    this.#length = this.#frames
    for (const channel of this.#channels) {
      channel.close()
      channel.flush()
    }
    this.#note()
    await this.#queue.finish()
    const { failure } = this
    return failure === null ? this.#finisher.finish(this.recordingId) : { error: failure }
  }

  /** The manifest on the disk is out of date. */
  #note(): void {
    this.#queue.putManifest(() => {
      const channels = this.#channels.map(channel => channel.place)
      const manifest: RecordingManifest = {
        version: 1,
        frames: this.#length,
        channels,
        segments: this.#segments,
        ...(this.#isEncrypted && { encrypted: true }),
      }
      return JSON.stringify(manifest)
    })
  }
}

/** One participant's part of the timeline, counted from where it came. */
class Channel implements Sink {
  readonly onPause = 'silence'
  readonly place: RecordedChannel
  framesDropped = 0

  readonly #queue: ChunkQueue
  readonly #number: number
  /** Null while it is empty: an absent participant costs neither memory nor disk. */
  #chunk: Chunk | null = null
  /** Frame within the chunk that the next write fills. */
  #frame = 0
  #chunksPassed = 0
  #isOpen = false
  isMuted = false

  constructor(queue: ChunkQueue, number: number, place: RecordedChannel) {
    this.#queue = queue
    this.#number = number
    this.place = place
  }

  open(): void {
    this.#isOpen = true
  }

  close(): void {
    this.#isOpen = false
  }

  write(track: Track, frame: Frame): void {
    if (track !== 'inbound' || !this.#isOpen) return
    this.#chunk ??= this.#queue.take()
    if (this.#chunk === null) this.framesDropped++
    // Silence is written too, because after a crash the length is known only from the data.
    else if (!this.isMuted) this.#chunk.samples.set(frame, this.#frame * RECORDING_FRAME_SAMPLES)
  }

  /** Adds to what this tick has already. */
  add(frame: Frame): void {
    if (!this.#isOpen) return
    this.#chunk ??= this.#queue.take()
    if (this.#chunk === null) {
      this.framesDropped++
      return
    }
    addTo(this.#chunk.samples, frame, this.#frame * RECORDING_FRAME_SAMPLES)
  }

  tick(): void {
    if (++this.#frame < CHUNK_FRAMES) return
    this.flush()
    this.#frame = 0
    this.#chunksPassed++
  }

  flush(): void {
    const chunk = this.#chunk
    if (chunk === null) return
    this.#chunk = null
    chunk.channel = this.#number
    chunk.position = this.#chunksPassed * CHUNK_SAMPLES * Int16Array.BYTES_PER_ELEMENT
    chunk.length = this.#frame * RECORDING_FRAME_SAMPLES
    this.#queue.put(chunk)
  }
}

/** For participants who are not recorded. */
const DEAF: Sink = { onPause: 'silence', write: () => {}, close: () => {} }
