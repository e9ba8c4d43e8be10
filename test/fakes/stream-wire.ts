import type { Resampler } from '../../codecs/resample.ts'
import type { StreamSnapshot } from '../../media/protocol.ts'
import type { Wire } from '../../media/streams/stream-connection.ts'
import { StreamFork } from '../../media/streams/stream-fork.ts'
import type { StreamIdentity } from '../../media/streams/stream-messages.ts'
import { StreamReceiver } from '../../media/streams/stream-receiver.ts'

export interface StreamMessage {
  event: string
  sequenceNumber?: string
  streamSid?: string
  start?: Record<string, unknown>
  media?: { track: string; chunk: string; timestamp: string; payload: string }
  dtmf?: { track: string; digit: string }
  mark?: { name: string }
  overflow?: { framesRefused: number }
  stop?: Record<string, unknown>
}

/**
 * A connection in memory. Its kernel accepts everything at once, or nothing while `stalled`. Its receiver reads what has arrived and answers every
 * ping, or does neither while `reads` is false.
 */
class FakeWire implements Wire {
  readonly messages: StreamMessage[] = []
  pings = 0
  /** Number of writes; everything that is sent while the socket is corked is one. */
  writes = 0
  closeCode: number | null = null
  terminated = false
  stalled = false
  reads = true
  /** Time from a ping to its pong if the receiver reads [ms]. */
  roundTripMs = 0
  /** Time that the receiver takes for each message that it reads [ms]. */
  msPerMessage = 0
  /** When the receiver has read each message [ms]. */
  readonly readAt: number[] = []
  /** The receiver answers only the last of several pings that it reads together (RFC 6455 §5.5.3). */
  answersLastOnly = false
  readonly #now: () => number
  readonly #pongs: { ping: number; at: number }[] = []
  #buffered = 0
  #isCorked = false
  #isWritten = false

  constructor(now: () => number) {
    this.#now = now
  }

  send(text: Buffer): void {
    this.messages.push(JSON.parse(text.toString('utf8')))
    this.#write()
    this.readAt.push(Math.max(this.#now(), this.readAt.at(-1) ?? 0) + this.msPerMessage)
    if (this.stalled) this.#buffered += text.length
  }

  cork(): void {
    this.#isCorked = true
  }

  uncork(): void {
    this.#isCorked = false
    if (this.#isWritten) this.writes++
    this.#isWritten = false
  }

  #write(): void {
    if (this.#isCorked) this.#isWritten = true
    else this.writes++
  }

  buffered(): number {
    return this.#buffered
  }

  ping(): number {
    this.#write()
    const at = Math.max(this.#now(), this.msPerMessage === 0 ? 0 : (this.readAt.at(-1) ?? 0)) + this.roundTripMs
    this.#pongs.push({ ping: ++this.pings, at: Math.max(at, this.#pongs.at(-1)?.at ?? 0) })
    return this.pings
  }

  /** When the next pong comes [ms]; Infinity: none does. */
  get pongAt(): number {
    return this.reads && !this.stalled ? (this.#pongs[0]?.at ?? Infinity) : Infinity
  }

  /** Takes the next pong. @returns the number of its ping */
  pong(): number {
    if (this.answersLastOnly)
      this.#pongs.splice(
        0,
        this.#pongs.findLastIndex(({ at }) => at <= this.#now()),
      )
    return this.#pongs.shift()!.ping
  }

  close(code: number): void {
    this.closeCode = code
  }

  terminate(): void {
    this.terminated = true
  }

  /** The kernel accepts everything again. */
  release(): void {
    this.stalled = false
    this.#buffered = 0
  }

  events(): string[] {
    return this.messages.map(message => message.event)
  }

  media(track: string): { chunk: number; timestamp: number; payload: Buffer }[] {
    return this.messages
      .filter(message => message.media?.track === track)
      .map(({ media }) => ({
        chunk: Number(media?.chunk),
        timestamp: Number(media?.timestamp),
        payload: Buffer.from(media?.payload ?? '', 'base64'),
      }))
  }
}

const doubler = (): Resampler => ({
  fromHz: 8000,
  toHz: 16000,
  latencySamples: 0,
  process: src => Int16Array.from({ length: 2 * src.length }, (_, i) => src[i >> 1]!),
  close: () => {},
})

const halver = (): Resampler => ({
  fromHz: 16000,
  toHz: 8000,
  latencySamples: 0,
  process: src => Int16Array.from({ length: src.length >> 1 }, (_, i) => src[2 * i]!),
  close: () => {},
})

/** A fork on a virtual clock, with every connection that it opens. */
export class ForkBench {
  readonly fork: StreamFork
  readonly wires: FakeWire[] = []
  readonly dialledAt: number[] = []
  readonly changes: StreamSnapshot[] = []
  readonly frame = new Int16Array(160)
  onChange: (snapshot: StreamSnapshot) => void = () => {}
  /** The handler of the receiver's messages, for a bidirectional stream. */
  receiver: StreamReceiver | null = null
  readonly pressed: string[] = []
  now = 1_000_000
  ticks = 0

  constructor(stream: Partial<StreamIdentity> = {}, random: () => number = () => 1, goesBothWays = false) {
    const identity: StreamIdentity = {
      streamId: 'ms_1',
      accountSid: 'org_1',
      callSid: 'call_1',
      tracks: 'both',
      format: 'mulaw_8000',
      customParameters: {},
      ...stream,
    }
    this.fork = new StreamFork(
      identity,
      {
        dial: () => {
          this.wires.push(new FakeWire(() => this.now))
          this.dialledAt.push(this.now)
          return this.wire
        },
        changed: snapshot => {
          this.changes.push(snapshot)
          this.onChange(snapshot)
        },
        now: () => this.now,
        random,
        moved: () => {},
        broke: error => {
          throw error
        },
        resampler: doubler,
      },
      goesBothWays
        ? answer => {
            this.receiver = new StreamReceiver(
              identity,
              { now: () => this.now, resampler: halver, press: key => this.pressed.push(key) > 0 },
              answer,
            )
            return this.receiver
          }
        : null,
    )
    this.fork.start()
  }

  /** The latest connection. */
  get wire(): FakeWire {
    return this.wires[this.wires.length - 1]!
  }

  get status(): string {
    const { status, endedReason } = this.fork.snapshot()
    return endedReason === null ? status : `${status}/${endedReason}`
  }

  open(): this {
    this.fork.opened(this.wire)
    this.wait(0)
    return this
  }

  /** Breaks the latest connection, or lets it fail to open. */
  break(code = 1006): void {
    this.fork.closed(this.wire, code)
  }

  /** The receiver sends this message. */
  say(message: object): void {
    this.fork.received(this.wire, Buffer.from(JSON.stringify(message)))
  }

  /** Lets time pass without audio. */
  wait(ms: number): void {
    const until = this.now + ms
    for (let at = this.#next(); at <= until; at = this.#next()) {
      this.now = Math.max(this.now, at)
      if (this.wire.pongAt <= this.now) this.fork.pong(this.wire, this.wire.pong())
      else this.fork.advance()
    }
    this.now = until
  }

  /** Runs ticks with a frame of each track. The first sample of a frame is the number of its tick. */
  run(ticks: number): void {
    for (let i = 0; i < ticks; i++) {
      this.frame[0] = ++this.ticks
      this.fork.write('inbound', this.frame)
      this.fork.write('outbound', this.frame)
      this.wait(20)
    }
  }

  /** The latest connection's kernel accepts everything again. */
  release(): void {
    this.wire.release()
    this.fork.drained(this.wire)
    this.wait(0)
  }

  #next(): number {
    return Math.min(this.fork.deadline, this.wire.pongAt)
  }
}

/** Chunk numbers that are missing in a sequence from 1. */
export const gaps = (chunks: { chunk: number }[]): number[] => {
  const seen = new Set(chunks.map(({ chunk }) => chunk))
  return Array.from({ length: Math.max(0, ...seen) }, (_, i) => i + 1).filter(chunk => !seen.has(chunk))
}
