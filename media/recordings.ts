import { targetId } from './captures.ts'
import type { Leg } from './leg.ts'
import type { Events, Failure, Request, Target } from './protocol.ts'
import type { Recorder } from './recorder.ts'
import { RecordingWriter } from './recording-writer.ts'
import type { Room, RoomPause } from './room.ts'

interface Entry {
  recordingId: string
  target: Target
  recorder: Recorder
  paused: boolean
  hasFailed: boolean
  /** The legs that it is on, and the room of each. */
  attached: Map<Leg, Room>
}

export interface RecordingsHooks {
  ready(info: Events['recording.ready']): void
  failed(failure: Events['recording.failed']): void
}

/** The recordings of one engine thread: a leg alone, or a room with a channel for each who was ever in it. */
export class Recordings {
  readonly #entries = new Map<string, Entry>()
  readonly #writer: RecordingWriter
  readonly #hooks: RecordingsHooks
  readonly #finishing = new Set<Promise<void>>()

  constructor(dataDir: string, hooks: RecordingsHooks) {
    this.#writer = new RecordingWriter(dataDir)
    this.#hooks = hooks
  }

  /** Starts to record; the caller calls `enter` for the legs that are there already. */
  start({ recordingId, target }: Request<'recording.start'>, pause: RoomPause | null): Record<string, never> | Failure {
    if (this.#entries.has(recordingId)) return { failure: 'conflict', message: 'is being recorded already' }
    const recorder = this.#writer.open(recordingId, message => this.#fail(recordingId, message))
    if ('error' in recorder) return { failure: 'invalid', message: recorder.error }
    const entry: Entry = { recordingId, target, recorder, paused: false, hasFailed: false, attached: new Map() }
    this.#entries.set(recordingId, entry)
    this.#sync(entry, pause)
    return {}
  }

  /** Puts the recorder of a room, or of the leg itself, on a leg that entered the room. */
  enter(leg: Leg, room: Room): void {
    for (const { target, recorder, attached } of this.#entries.values()) {
      if ('legId' in target ? target.legId !== leg.id : target.roomId !== room.spec.roomId) continue
      if (attached.has(leg)) continue
      attached.set(leg, room)
      leg.sinks.push(recorder.track(leg.id))
      if (!room.tickers.includes(recorder)) room.tickers.push(recorder)
    }
  }

  /** Takes them off a leg that leaves. */
  leave(leg: Leg): void {
    for (const entry of this.#entries.values()) this.#detach(entry, leg)
  }

  #detach({ target, recorder, attached }: Entry, leg: Leg): void {
    const room = attached.get(leg)
    if (room === undefined) return
    attached.delete(leg)
    remove(leg.sinks, recorder.track(leg.id))
    // The timeline of a room's recording goes on without this leg.
    if ('legId' in target || attached.size === 0) remove(room.tickers, recorder)
  }

  /** A pause over this room began or ended. */
  pauseChanged(room: Room, pause: RoomPause | null): void {
    for (const entry of this.#entries.values()) {
      const { target } = entry
      const isHere =
        'roomId' in target ? target.roomId === room.spec.roomId : room.legs.some(leg => leg.id === target.legId)
      if (isHere) this.#sync(entry, pause)
    }
  }

  #sync(entry: Entry, pause: RoomPause | null): void {
    if (entry.paused === (pause !== null)) return
    entry.paused = pause !== null
    if (pause !== null) entry.recorder.pauseBegan(pause.reason)
    else entry.recorder.pauseEnded()
  }

  /** Ends a recording; the file is written behind the call's back and announced by `ready` or `failed`. */
  stop(recordingId: string): Record<string, never> | Failure {
    const entry = this.#entries.get(recordingId)
    if (entry === undefined) return { failure: 'not_found', message: `no recording ${recordingId}` }
    this.#entries.delete(recordingId)
    for (const leg of [...entry.attached.keys()]) this.#detach(entry, leg)
    const finished = entry.recorder.finish().then(info => {
      if (!('error' in info)) this.#hooks.ready(info)
      else if (!entry.hasFailed) this.#hooks.failed({ recordingId, message: info.error })
    })
    this.#finishing.add(finished)
    void finished.finally(() => this.#finishing.delete(finished))
    return {}
  }

  /** The disk failed under a running recording: said once, and the call goes on. */
  #fail(recordingId: string, message: string): void {
    const entry = this.#entries.get(recordingId)
    if (entry !== undefined) entry.hasFailed = true
    this.#hooks.failed({ recordingId, message })
  }

  /** The leg or room is gone: so ends what recorded it. */
  drop(target: Target): void {
    for (const entry of this.#entries.values()) {
      if (targetId(entry.target) === targetId(target)) this.stop(entry.recordingId)
    }
  }

  /** How long the recording of this target runs, null: there is none [frames]. */
  framesOf(target: Target): number | null {
    const id = targetId(target)
    return [...this.#entries.values()].find(entry => targetId(entry.target) === id)?.recorder.frames ?? null
  }

  list(): { recordingId: string }[] {
    return [...this.#entries.values()].map(({ recordingId }) => ({ recordingId }))
  }

  /** Resolves when all files that were being written are there. */
  async close(): Promise<void> {
    for (const { recordingId } of this.#entries.values()) this.stop(recordingId)
    await Promise.all(this.#finishing)
    await this.#writer.close()
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item)
  if (at >= 0) list.splice(at, 1)
}
