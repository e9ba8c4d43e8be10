import type { Resampler } from '../../codecs/resample.ts'
import type { StreamSnapshot } from '../../media/protocol.ts'
import type { Wire } from '../../media/stream-connection.ts'
import { StreamFork } from '../../media/stream-fork.ts'
import type { StreamIdentity } from '../../media/stream-messages.ts'

export interface StreamMessage {
  event: string
  sequenceNumber?: string
  streamSid?: string
  start?: Record<string, unknown>
  media?: { track: string; chunk: string; timestamp: string; payload: string }
  dtmf?: { track: string; digit: string }
  stop?: Record<string, unknown>
}

/** A connection in memory whose kernel takes everything at once, or nothing while `stalled`. */
export class FakeWire implements Wire {
  readonly messages: StreamMessage[] = []
  pings = 0
  closeCode: number | null = null
  terminated = false
  stalled = false
  #buffered = 0

  send(text: Buffer): void {
    this.messages.push(JSON.parse(text.toString('utf8')))
    if (this.stalled) this.#buffered += text.length
  }

  cork(): void {}
  uncork(): void {}

  buffered(): number {
    return this.#buffered
  }

  ping(): void {
    this.pings++
  }

  close(code: number): void {
    this.closeCode = code
  }

  terminate(): void {
    this.terminated = true
  }

  /** The receiver reads again. */
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

/** A fork on a virtual clock, with every connection that it dials. */
export class ForkBench {
  readonly fork: StreamFork
  readonly wires: FakeWire[] = []
  readonly dialledAt: number[] = []
  readonly changes: StreamSnapshot[] = []
  readonly frame = new Int16Array(160)
  onChange: (snapshot: StreamSnapshot) => void = () => {}
  now = 1_000_000
  ticks = 0

  constructor(stream: Partial<StreamIdentity> = {}, random: () => number = () => 1) {
    this.fork = new StreamFork(
      {
        streamId: 'ms_1',
        accountSid: 'org_1',
        callSid: 'call_1',
        tracks: 'both',
        format: 'mulaw_8000',
        customParameters: {},
        ...stream,
      },
      {
        dial: () => {
          this.wires.push(new FakeWire())
          this.dialledAt.push(this.now)
          return this.wire
        },
        changed: snapshot => {
          this.changes.push(snapshot)
          this.onChange(snapshot)
        },
        now: () => this.now,
        random,
        resampler: doubler,
      },
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
    return this
  }

  /** The latest connection breaks, or cannot be made. */
  break(code = 1006): void {
    this.fork.closed(this.wire, code)
  }

  /** Lets time pass without audio. */
  wait(ms: number): void {
    const until = this.now + ms
    while (this.fork.deadline <= until) {
      this.now = Math.max(this.now, this.fork.deadline)
      this.fork.advance()
    }
    this.now = until
  }

  /** Lets the clock tick, a frame of each track at a time. The first sample of a frame is its tick. */
  run(ticks: number): void {
    for (let i = 0; i < ticks; i++) {
      this.frame[0] = ++this.ticks
      this.fork.write('inbound', this.frame)
      this.fork.write('outbound', this.frame)
      this.wait(20)
    }
  }

  /** The receiver reads again. */
  release(): void {
    this.wire.release()
    this.fork.drained(this.wire)
  }
}

/** Chunk numbers left out of a row that begins at 1. */
export const gaps = (chunks: { chunk: number }[]): number[] => {
  const seen = new Set(chunks.map(({ chunk }) => chunk))
  return Array.from({ length: Math.max(0, ...seen) }, (_, i) => i + 1).filter(chunk => !seen.has(chunk))
}
