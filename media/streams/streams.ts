import type { Failure, Request, RoomCapture, StreamSnapshot } from '../protocol.ts'
import { targetId } from '../rooms/captures.ts'
import type { Chorus } from '../rooms/chorus.ts'
import type { Sink } from '../rooms/sink.ts'
import type { SinkKind, SinkNoun, SinkWorld } from '../sinks/sink-kind.ts'
import { type RunningStream, StreamDialler } from './stream-socket.ts'

interface Entry {
  /** The leg or room that it listens to. */
  targetId: string
  sinks: Sink[]
  /** Where its receiver is heard; null: nowhere. */
  chorus: Chorus | null
  stream: RunningStream
  /** The request that stops it. */
  stoppedBy?: Request<'stream.stop'>['request']
}

/** The media streams of one engine thread. A leg or room that goes closes its sinks, and so its streams. */
class Streams implements SinkKind {
  readonly commands = {
    'stream.start': (request: Request<'stream.start'>) => this.#start(request),
    'stream.stop': (request: Request<'stream.stop'>) => this.#stop(request),
    'stream.read': ({ streamIds }: Request<'stream.read'>) => ({ streams: this.#read(streamIds) }),
  }
  readonly #world: SinkWorld
  readonly #dialler: StreamDialler
  readonly #entries = new Map<string, Entry>()
  /** Counts of the ended streams. */
  readonly #past = NOTHING()

  constructor(world: SinkWorld) {
    this.#world = world
    this.#dialler = new StreamDialler(world)
  }

  #start(spec: Request<'stream.start'>): StreamSnapshot | Failure {
    const sinks = this.#world.sinksOf(spec.target)
    if (sinks === null) return { failure: 'not_found', message: 'the call is not here' }
    if (this.#entries.has(spec.streamId)) return { failure: 'conflict', message: 'a stream with this ID exists' }
    const stream = this.#dialler.startStream(spec, {
      changed: snapshot => {
        const isStopped = snapshot.endedReason === 'stopped'
        const by = isStopped ? this.#entries.get(spec.streamId)?.stoppedBy : spec.request
        const isAsked = by !== undefined && (isStopped || snapshot.status === 'streaming')
        if (snapshot.endedReason !== null) this.#drop(spec.streamId)
        this.#world.emit('stream.changed', isAsked ? { ...snapshot, request: by } : snapshot)
      },
      now: this.#world.now,
      press: key => this.#world.press(spec.target, key),
      fault: error => this.#world.fault(error),
    })
    const chorus = stream.voice === null ? null : this.#world.chorusOf(spec.target)
    this.#entries.set(spec.streamId, { targetId: targetId(spec.target), sinks, chorus, stream })
    sinks.push(stream.sink)
    if (stream.voice !== null) chorus?.add(stream.voice)
    return stream.snapshot()
  }

  /** A leg that enters an open room brings its own streams. For the leg that opens a room, they begin with it. */
  begin(_roomId: string, { streams = [] }: RoomCapture): void {
    for (const stream of streams) this.#start(stream)
  }

  #drop(streamId: string): void {
    const entry = this.#entries.get(streamId)
    if (entry === undefined) return
    this.#entries.delete(streamId)
    this.#world.over('stream', streamId)
    count(this.#past, entry.stream.snapshot())
    const at = entry.sinks.indexOf(entry.stream.sink)
    if (at >= 0) entry.sinks.splice(at, 1)
    const { chorus, stream } = entry
    if (stream.voice !== null) chorus?.remove(stream.voice)
  }

  async #stop({ streamId, request }: Request<'stream.stop'>): Promise<StreamSnapshot | Failure> {
    const entry = this.#entries.get(streamId)
    if (entry === undefined) return { failure: 'not_found', message: `no stream ${streamId}` }
    entry.stoppedBy ??= request
    return entry.stream.stop('stopped')
  }

  #read(streamIds: Iterable<string>): StreamSnapshot[] {
    return [...streamIds].flatMap(streamId => this.#entries.get(streamId)?.stream.snapshot() ?? [])
  }

  /** A key of a leg, for the streams of its call and of its room. */
  key(legId: string, roomId: string | null, key: string): void {
    const ids = [targetId({ legId }), ...(roomId === null ? [] : [targetId({ roomId })])]
    for (const { targetId: id, stream } of this.#entries.values()) if (ids.includes(id)) stream.dtmf(key)
  }

  snapshot(): { streams: StreamSnapshot[] } {
    return { streams: this.#read(this.#entries.keys()) }
  }

  stats() {
    const all = { ...this.#past }
    for (const { stream } of this.#entries.values()) count(all, stream.snapshot())
    return {
      counters: {
        stream_frames_sent_total: all.framesSent,
        stream_frames_dropped_total: all.framesDropped,
        stream_frames_received_total: all.framesReceived,
        stream_frames_refused_total: all.framesRefused,
      },
      gauges: { streams: this.#entries.size },
    }
  }
}

type Frames = Pick<StreamSnapshot, 'framesSent' | 'framesDropped' | 'framesReceived' | 'framesRefused'>

const NOTHING = (): Frames => ({ framesSent: 0, framesDropped: 0, framesReceived: 0, framesRefused: 0 })

function count(all: Frames, one: Frames): void {
  for (const name of Object.keys(all) as (keyof Frames)[]) all[name] += one[name]
}

export const streams: SinkNoun = { create: world => new Streams(world) }
