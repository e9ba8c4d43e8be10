import { targetId } from '../engine/captures.ts'
import type { Sink } from '../engine/sink.ts'
import type { Failure, Request, StreamSnapshot } from '../protocol.ts'
import type { RunningStream, StreamDialler } from './stream-socket.ts'

interface Entry {
  /** Of the leg or room that it listens to. */
  targetId: string
  sinks: Sink[]
  stream: RunningStream
}

export interface StreamsOptions {
  dialler: StreamDialler
  /** Monotonic [ms]. */
  now: () => number
  changed: (snapshot: StreamSnapshot) => void
}

/** The media streams of one engine thread. A leg or room that goes closes its sinks, and so its streams. */
export class Streams {
  readonly #options: StreamsOptions
  readonly #entries = new Map<string, Entry>()
  /** What those that are over have counted. */
  readonly #past = { framesSent: 0, framesDropped: 0 }

  constructor(options: StreamsOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#entries.size
  }

  /** Since the start of the thread. */
  get totals(): { framesSent: number; framesDropped: number } {
    const totals = { ...this.#past }
    for (const { stream } of this.#entries.values()) {
      const { framesSent, framesDropped } = stream.snapshot()
      totals.framesSent += framesSent
      totals.framesDropped += framesDropped
    }
    return totals
  }

  /** @param sinks of the target */
  start(spec: Request<'stream.start'>, sinks: Sink[]): StreamSnapshot | Failure {
    if (this.#entries.has(spec.streamId)) return { failure: 'conflict', message: 'a stream with this ID exists' }
    const stream = this.#options.dialler.startStream(spec, {
      changed: snapshot => {
        if (snapshot.endedReason !== null) this.#drop(spec.streamId)
        this.#options.changed(snapshot)
      },
      now: this.#options.now,
    })
    this.#entries.set(spec.streamId, { targetId: targetId(spec.target), sinks, stream })
    sinks.push(stream.sink)
    return stream.snapshot()
  }

  #drop(streamId: string): void {
    const entry = this.#entries.get(streamId)
    if (entry === undefined) return
    this.#entries.delete(streamId)
    const { framesSent, framesDropped } = entry.stream.snapshot()
    this.#past.framesSent += framesSent
    this.#past.framesDropped += framesDropped
    const at = entry.sinks.indexOf(entry.stream.sink)
    if (at >= 0) entry.sinks.splice(at, 1)
  }

  async stop(streamId: string): Promise<StreamSnapshot | Failure> {
    const entry = this.#entries.get(streamId)
    if (entry === undefined) return { failure: 'not_found', message: `no stream ${streamId}` }
    return entry.stream.stop('stopped')
  }

  read(streamIds: string[]): StreamSnapshot[] {
    return streamIds.flatMap(streamId => this.#entries.get(streamId)?.stream.snapshot() ?? [])
  }

  list(): StreamSnapshot[] {
    return this.read([...this.#entries.keys()])
  }

  /** A key of a leg, for the streams of its call and of its room. */
  key(legId: string, roomId: string | null, key: string): void {
    const ids = [targetId({ legId }), ...(roomId === null ? [] : [targetId({ roomId })])]
    for (const { targetId: id, stream } of this.#entries.values()) if (ids.includes(id)) stream.dtmf(key)
  }
}
