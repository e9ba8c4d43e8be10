import { type Events, type Failure, isFailure, type Request, type RoomCapture, type Target } from '../protocol.ts'
import { targetId } from '../rooms/captures.ts'
import type { Leg } from '../rooms/leg.ts'
import type { Room } from '../rooms/room.ts'
import type { Party, SinkKind, SinkNoun, SinkWorld } from '../sinks/sink-kind.ts'
import { RecordedCall } from './recorded-call.ts'
import { RecordingWriter } from './recording-writer.ts'

type Ok = Record<string, never>

/** The recordings of one engine thread. */
class Recordings implements SinkKind {
  readonly commands = {
    'recording.start': (request: Request<'recording.start'>) => this.#startAsked(request),
    'recording.pause': ({ recordingId }: Request<'recording.pause'>) => this.#ask(recordingId, true),
    'recording.resume': ({ recordingId }: Request<'recording.resume'>) => this.#ask(recordingId, false),
    'recording.stop': ({ recordingId }: Request<'recording.stop'>) => this.#stop(recordingId),
  }
  readonly #world: SinkWorld
  readonly #entries = new Map<string, RecordedCall>()
  readonly #writer: RecordingWriter
  /** Ended, with a file being written: they will be reported soon, and cannot begin again. */
  readonly #finishing = new Map<string, Promise<void>>()

  constructor(world: SinkWorld) {
    this.#world = world
    this.#writer = new RecordingWriter(world.dataDir)
  }

  #startAsked(request: Request<'recording.start'>): Ok | Failure {
    const isHere = this.#world.sinksOf(request.target) !== null || this.#has(request.recordingId)
    if (!isHere) return { failure: 'not_found', message: 'the call is not here' }
    const started = this.#start(request)
    if (!isFailure(started)) this.#world.enterAll()
    return started
  }

  /** The legs that are there already are still to enter. */
  #start({ recordingId, target, encrypted = false, messageMs }: Request<'recording.start'>): Ok | Failure {
    if (this.#has(recordingId)) return { failure: 'conflict', message: 'is being recorded already' }
    const recorder = this.#writer.open(
      recordingId,
      message => this.#tell('recording.failed', { recordingId, message }),
      encrypted,
    )
    if ('error' in recorder) return { failure: 'invalid', message: recorder.error }
    this.#entries.set(recordingId, new RecordedCall(target, recorder, messageMs))
    return {}
  }

  #has(recordingId: string): boolean {
    return this.#entries.has(recordingId) || this.#finishing.has(recordingId)
  }

  begin(roomId: string, { recordingId, encrypted = false }: RoomCapture, by: 'room' | 'party'): void {
    if (by === 'room' && recordingId !== null) this.#start({ recordingId, target: { roomId }, encrypted })
  }

  enter({ leg }: Party, room: Room): void {
    for (const entry of this.#entries.values()) entry.enter(leg, room)
  }

  leave({ leg }: Party): void {
    for (const entry of this.#entries.values()) entry.leave(leg)
  }

  follows(leg: Leg): boolean {
    return [...this.#entries.values()].some(entry => entry.follows(leg))
  }

  closed(leg: Leg): void {
    for (const entry of this.#entries.values()) if (entry.closed(leg)) this.#stop(entry.recordingId)
  }

  pauseChanged(room: Room): void {
    for (const entry of this.#entries.values()) entry.pauseChanged(room)
  }

  /** Silence from now on until it is resumed; the timeline continues. */
  #ask(recordingId: string, isAsked: boolean): Ok | Failure {
    const entry = this.#entries.get(recordingId)
    if (entry === undefined) return unknown(recordingId)
    if (entry.ask(isAsked)) return {}
    return { failure: 'conflict', message: isAsked ? 'the recording is paused' : 'the recording is not paused' }
  }

  /** Ends a recording; the file is written behind the call's back and announced by `ready` or `failed`. */
  #stop(recordingId: string): Ok | Failure {
    const entry = this.#entries.get(recordingId)
    if (entry === undefined) return this.#has(recordingId) ? {} : unknown(recordingId)
    this.#entries.delete(recordingId)
    const finished = entry.finish().then(info => {
      if (!('error' in info)) this.#tell('recording.ready', info)
      else if (!entry.hasFailed) this.#tell('recording.failed', { recordingId, message: info.error })
    })
    this.#finishing.set(recordingId, finished)
    void finished.finally(() => this.#finishing.delete(recordingId))
    return {}
  }

  #tell<N extends 'recording.ready' | 'recording.failed'>(name: N, body: Events[N]): void {
    this.#world.over('recording', body.recordingId)
    this.#world.emit(name, body)
  }

  /** The room is gone: so ends what recorded it, unless somebody of the call is elsewhere. */
  roomClosed(roomId: string): void {
    for (const { target, recordingId, hasLegs } of this.#entries.values()) {
      if ('roomId' in target && target.roomId === roomId && !hasLegs) this.#stop(recordingId)
    }
  }

  framesOf(target: Target): number | null {
    const id = targetId(target)
    return [...this.#entries.values()].find(entry => targetId(entry.target) === id)?.frames ?? null
  }

  snapshot(): { recordings: { recordingId: string }[] } {
    return { recordings: [...this.#entries.keys(), ...this.#finishing.keys()].map(recordingId => ({ recordingId })) }
  }

  async shutdown(): Promise<void> {
    for (const recordingId of this.#entries.keys()) this.#stop(recordingId)
    await Promise.all(this.#finishing.values())
    await this.#writer.close()
  }
}

const unknown = (recordingId: string): Failure => ({ failure: 'not_found', message: `no recording ${recordingId}` })

export const recordings: SinkNoun = { create: world => new Recordings(world) }
