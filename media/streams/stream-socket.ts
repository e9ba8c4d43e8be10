import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { CreateResampler, Resampler } from '../../codecs/resample.ts'
import type { StreamSnapshot, StreamSpec } from '../protocol.ts'
import type { Sink } from '../rooms/sink.ts'
import type { Source } from '../rooms/source.ts'
import type { Connections } from '../rtp/datagrams/datagrams.ts'
import type { Wire } from './stream-connection.ts'
import { type StreamCounters, StreamFork, type StreamForkPorts } from './stream-fork.ts'
import { type AnswerPorts, MAX_SAID_BYTES, StreamReceiver } from './stream-receiver.ts'
import { signUpgrade } from './stream-signature.ts'
import { dialWire } from './stream-wire.ts'

/** A longer message to a fork closes with 1009 [bytes]. */
const MAX_IGNORED_BYTES = 64 * 1024

interface StreamHooks {
  /** The status has changed; not called for the first one. */
  changed(snapshot: StreamSnapshot): void
  /** Monotonic [ms]. */
  now: () => number
  /** A key for the party, from the receiver of a bidirectional stream; false: it takes none. */
  press(key: string): boolean
  /** Reports an exception that has ended the stream. */
  fault(error: unknown): void
}

interface StreamDiallerOptions {
  /** For example `tandem/0.1.0`. */
  userAgent: string
  createResampler: CreateResampler
  /** Absent, or null: sockets are Node's. */
  connections?: Connections | null
  /** Absent: `dialWire`. */
  dial?: typeof dialWire
}

/** A media stream at work, as the engine holds it. */
export interface RunningStream {
  /** Gets the audio; its `close` says that the call is over. */
  readonly sink: Sink
  /** The receiver's audio for the call; null: it is not played. */
  readonly voice: Source | null
  /** A key that the caller pressed; not called during a card-payment pause. */
  dtmf(key: string): void
  /** Flushes for at most 1 s, sends `stop`, closes; resolves with the last counters. The first reason counts. */
  stop(reason: 'stopped' | 'call_ended'): Promise<StreamSnapshot>
  snapshot(): StreamSnapshot
  counters(): StreamCounters
}

/** Starts media streams: one socket at a time and one timer for each. */
export class StreamDialler {
  readonly #options: StreamDiallerOptions

  constructor(options: StreamDiallerOptions) {
    this.#options = options
  }

  /** Never throws: a URL that may not or cannot be dialled ends as `failed`, like a receiver that cannot be reached. */
  startStream(spec: StreamSpec, hooks: StreamHooks): RunningStream {
    return new StreamSocket(spec, hooks, this.#options)
  }
}

/** The I/O shell of one `StreamFork`. An exception ends this stream, and neither its call nor another stream. */
class StreamSocket implements RunningStream {
  readonly #spec: StreamSpec
  readonly #hooks: StreamHooks
  readonly #options: StreamDiallerOptions
  readonly #fork: StreamFork
  readonly #waiting: ((snapshot: StreamSnapshot) => void)[] = []
  #dials = 0
  #timer: NodeJS.Timeout | undefined
  #armedFor = Infinity
  #isBroken = false

  constructor(spec: StreamSpec, hooks: StreamHooks, options: StreamDiallerOptions) {
    this.#spec = spec
    this.#hooks = hooks
    this.#options = options
    const ports: StreamForkPorts = {
      dial: () => this.#dial(),
      changed: snapshot => this.#changed(snapshot),
      moved: () => this.#arm(),
      broke: error => this.#broke(error),
      now: hooks.now,
      random: Math.random,
      resampler: () => this.#resampler(),
    }
    this.#fork = new StreamFork(spec, ports, spec.mode === 'bidirectional' ? answer => this.#receiver(answer) : null)
    this.#fork.start()
    this.#arm()
  }

  get sink(): Sink {
    return this.#fork
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#broke(error)
    }
  }

  /** Ends the stream after this turn, since the list of sinks that is being iterated then gets shorter. */
  #broke(error: unknown): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#hooks.fault(error)
    queueMicrotask(() => {
      try {
        this.#fork.fail()
      } catch (more) {
        this.#hooks.fault(more)
      }
    })
  }

  get voice(): Source | null {
    return this.#fork.voice
  }

  dtmf(key: string): void {
    this.#guard(() => this.#fork.dtmf(key))
  }

  stop(reason: 'stopped' | 'call_ended'): Promise<StreamSnapshot> {
    this.#fork.stop(reason)
    if (this.#fork.ended) return Promise.resolve(this.#fork.snapshot())
    return new Promise(done => this.#waiting.push(done))
  }

  snapshot(): StreamSnapshot {
    return this.#fork.snapshot()
  }

  counters(): StreamCounters {
    return this.#fork.counters()
  }

  #dial(): Wire {
    const { url, addresses, signingSecret, streamId } = this.#spec
    const id = `${streamId}_${++this.#dials}`
    const headers = {
      'User-Agent': this.#options.userAgent,
      ...signUpgrade(signingSecret, id, Math.floor(Date.now() / 1000)),
    }
    const [longest, calls] =
      this.#spec.mode === 'bidirectional'
        ? [MAX_SAID_BYTES, null]
        : [MAX_IGNORED_BYTES, this.#options.connections ?? null]
    const { dial = dialWire } = this.#options
    return dial(url, headers, addresses, longest, this.#fork, calls)
  }

  #receiver(answer: AnswerPorts): StreamReceiver {
    const { now, press } = this.#hooks
    const resampler = (): Resampler => this.#options.createResampler(2 * NARROWBAND_HZ, NARROWBAND_HZ)
    return new StreamReceiver(this.#spec, { now, press, resampler }, answer)
  }

  #resampler(): Resampler {
    return this.#options.createResampler(NARROWBAND_HZ, 2 * NARROWBAND_HZ)
  }

  #changed(snapshot: StreamSnapshot): void {
    this.#arm()
    this.#hooks.changed(snapshot)
    if (!this.#fork.ended) return
    for (const done of this.#waiting.splice(0)) done(snapshot)
  }

  /** Sets the timer for the fork's next deadline; called after whatever may have moved it. */
  #arm(): void {
    const { deadline } = this.#fork
    if (deadline === this.#armedFor) return
    clearTimeout(this.#timer)
    this.#armedFor = deadline
    if (deadline === Infinity) return
    this.#timer = setTimeout(() => this.#due(), Math.max(0, deadline - this.#hooks.now()))
  }

  #due(): void {
    this.#armedFor = Infinity
    this.#guard(() => {
      this.#fork.advance()
      this.#arm()
    })
  }
}
