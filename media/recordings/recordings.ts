import { targetId } from '../engine/captures.ts'
import type { Leg } from '../engine/leg.ts'
import type { Room } from '../engine/room.ts'
import type { Events, Failure, Request, Target } from '../protocol.ts'
import { RecordedCall } from './recorded-call.ts'
import { RecordingWriter } from './recording-writer.ts'

type Ok = Record<string, never>

export interface RecordingsHooks {
  ready(info: Events['recording.ready']): void
  failed(failure: Events['recording.failed']): void
}

/** The recordings of one engine thread. */
export class Recordings {
  readonly #entries = new Map<string, RecordedCall>()
  readonly #writer: RecordingWriter
  readonly #hooks: RecordingsHooks
  /** Ended, with a file that is being written: they are told of soon, and cannot begin again. */
  readonly #finishing = new Map<string, Promise<void>>()

  constructor(dataDir: string, hooks: RecordingsHooks) {
    this.#writer = new RecordingWriter(dataDir)
    this.#hooks = hooks
  }

  /** Starts to record; the caller calls `enter` for the legs that are there already. */
  start({ recordingId, target, encrypted = false }: Request<'recording.start'>): Ok | Failure {
    if (this.has(recordingId)) return { failure: 'conflict', message: 'is being recorded already' }
    const recorder = this.#writer.open(recordingId, message => this.#fail(recordingId, message), encrypted)
    if ('error' in recorder) return { failure: 'invalid', message: recorder.error }
    this.#entries.set(recordingId, new RecordedCall(target, recorder))
    return {}
  }

  has(recordingId: string): boolean {
    return this.#entries.has(recordingId) || this.#finishing.has(recordingId)
  }

  /** A leg entered a room. */
  enter(leg: Leg, room: Room): void {
    for (const entry of this.#entries.values()) entry.enter(leg, room)
  }

  /** It leaves its room, for another one or for good. */
  leave(leg: Leg): void {
    for (const entry of this.#entries.values()) entry.leave(leg)
  }

  /** It is gone. */
  closed(leg: Leg): void {
    for (const entry of this.#entries.values()) if (entry.closed(leg)) this.stop(entry.recordingId)
  }

  /** A card-payment pause over this room began or ended. */
  pauseChanged(room: Room): void {
    for (const entry of this.#entries.values()) entry.pauseChanged(room)
  }

  /** Silence from now on, until `resume`: the timeline goes on. */
  pause(recordingId: string): Ok | Failure {
    return this.#setAsked(recordingId, true)
  }

  resume(recordingId: string): Ok | Failure {
    return this.#setAsked(recordingId, false)
  }

  #setAsked(recordingId: string, isAsked: boolean): Ok | Failure {
    const entry = this.#entries.get(recordingId)
    if (entry === undefined) return unknown(recordingId)
    if (entry.ask(isAsked)) return {}
    return { failure: 'conflict', message: isAsked ? 'the recording is paused' : 'the recording is not paused' }
  }

  /** Ends a recording; the file is written behind the call's back and announced by `ready` or `failed`. */
  stop(recordingId: string): Ok | Failure {
    const entry = this.#entries.get(recordingId)
    if (entry === undefined) return unknown(recordingId)
    this.#entries.delete(recordingId)
    const finished = entry.finish().then(info => {
      if (!('error' in info)) this.#hooks.ready(info)
      else if (!entry.hasFailed) this.#hooks.failed({ recordingId, message: info.error })
    })
    this.#finishing.set(recordingId, finished)
    void finished.finally(() => this.#finishing.delete(recordingId))
    return {}
  }

  /** The disk failed under a running recording: said once, and the call goes on. */
  #fail(recordingId: string, message: string): void {
    const entry = this.#entries.get(recordingId)
    if (entry !== undefined) entry.hasFailed = true
    this.#hooks.failed({ recordingId, message })
  }

  /** The room is gone: so ends what recorded it, unless somebody of the call is elsewhere. */
  roomClosed(roomId: string): void {
    for (const { target, recordingId, hasLegs } of this.#entries.values()) {
      if ('roomId' in target && target.roomId === roomId && !hasLegs) this.stop(recordingId)
    }
  }

  /** How long the recording of this target runs, null: there is none [frames]. */
  framesOf(target: Target): number | null {
    const id = targetId(target)
    return [...this.#entries.values()].find(entry => targetId(entry.target) === id)?.frames ?? null
  }

  list(): { recordingId: string }[] {
    return [...this.#entries.keys(), ...this.#finishing.keys()].map(recordingId => ({ recordingId }))
  }

  /** Resolves when all files that were being written are there. */
  async close(): Promise<void> {
    for (const recordingId of this.#entries.keys()) this.stop(recordingId)
    await Promise.all(this.#finishing.values())
    await this.#writer.close()
  }
}

const unknown = (recordingId: string): Failure => ({ failure: 'not_found', message: `no recording ${recordingId}` })
