import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { CreateResampler } from '../../codecs/resample.ts'
import { type BrowserPipe, FACTS } from '../legs/browser-leg.ts'
import { FrameRing } from '../legs/frame-ring.ts'
import type { StreamFormat } from '../protocol.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { Wire } from '../streams/stream-connection.ts'
import { markMessage, type StreamIdentity } from '../streams/stream-messages.ts'
import { StreamOutbox } from '../streams/stream-outbox.ts'
import { PageAudio } from './page-audio.ts'

const WIDEBAND_HZ = 2 * NARROWBAND_HZ

interface BrowserAudioOptions {
  identity: StreamIdentity
  createResampler: CreateResampler
  /** Monotonic [ms]. */
  now: () => number
}

/**
 * The audio of one browser leg on the thread of its WebSocket: the page's audio goes into one ring, and what it hears comes from the
 * other.
 */
export class BrowserAudio {
  readonly pipe: BrowserPipe
  readonly page: PageAudio
  readonly #options: BrowserAudioOptions
  readonly #toPage = new FrameRing()
  readonly #facts: Int32Array
  readonly #outbox: StreamOutbox
  readonly #frame = new Int16Array(LEG_SAMPLES)
  #wire: Wire | null

  constructor(wire: Wire, options: BrowserAudioOptions) {
    const { identity, createResampler, now } = options
    const isWide = identity.format === 'l16_16000'
    const fromPage = new FrameRing()
    const facts = new SharedArrayBuffer(FACTS.count * Int32Array.BYTES_PER_ELEMENT)
    this.#facts = new Int32Array(facts)
    Atomics.store(this.#facts, FACTS.roundTripUs, -1)
    this.#options = options
    this.#wire = wire
    this.page = new PageAudio(
      fromPage,
      this.#facts,
      identity.format,
      isWide ? createResampler(WIDEBAND_HZ, NARROWBAND_HZ) : null,
    )
    this.#outbox = new StreamOutbox(identity, {
      now,
      resampler: () => createResampler(NARROWBAND_HZ, WIDEBAND_HZ),
    })
    this.pipe = {
      codec: codecOf(identity.format),
      fromPage: fromPage.memory,
      toPage: this.#toPage.memory,
      facts,
    }
  }

  get framesDropped(): number {
    return this.#outbox.framesDropped + this.#toPage.dropped
  }

  /** Says `connected` and `start`. */
  start(): void {
    if (this.#wire !== null) this.#outbox.attach(this.#wire, false, 0)
  }

  /** The page is gone, and may come back: audio for it is discarded. */
  detach(): void {
    this.#wire = null
    this.#outbox.detach()
  }

  /** It is back, on another connection. */
  attach(wire: Wire): void {
    this.#wire = wire
    this.page.restart()
    this.#outbox.attach(wire, true, 0)
  }

  /** Passes the engine's audio to the page, and the page's to the engine. Call it every 20 ms or more often. */
  pump(): void {
    while (this.#toPage.take(this.#frame)) if (this.#wire !== null) this.#outbox.write('outbound', this.#frame)
    this.answerMarks(this.page.pump())
  }

  answerMarks(names: readonly string[]): void {
    const { streamId } = this.#options.identity
    for (const name of names) this.#outbox.say(sequence => markMessage(streamId, sequence, name))
  }

  /** Another party's key. */
  key(key: string): void {
    this.#outbox.dtmf(key)
  }

  pong(ping: number, roundTripMs: number): void {
    if (Number.isFinite(roundTripMs)) {
      Atomics.store(this.#facts, FACTS.roundTripUs, Math.min(2 ** 31 - 1, Math.round(roundTripMs * 1000)))
    }
    this.#outbox.pong(ping)
  }

  drained(): void {
    this.#outbox.pump()
  }

  /** Says `stop`; what still waits is dropped. Idempotent. */
  close(): void {
    this.#outbox.finish()
    this.#outbox.close()
    this.page.close()
  }
}

const codecOf = (format: StreamFormat): BrowserPipe['codec'] => (format === 'mulaw_8000' ? 'PCMU' : 'L16')
