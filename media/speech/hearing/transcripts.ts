import type { Events, Failure, Request, RoomSpec, Target } from '../../protocol.ts'
import type { HeardWords, Scribe, Words } from './hearing.ts'

interface TranscriptsHooks {
  /** ms of the engine's clock. */
  now(): number
  words(words: Events['transcript.words']): void
  segment(segment: Events['transcript.segment']): void
  ready(end: Events['transcript.ready']): void
}

/** A leg as a transcript needs it. */
export interface Transcribed {
  legId: string
  room: Pick<RoomSpec, 'roomId' | 'kind'> | null
  dialogue: { addScribe(scribe: Scribe): void; removeScribe(scribe: Scribe): void }
}

type Ok = Record<string, never>

/**
 * The transcripts of one engine thread: of a leg, or of a room with each who was ever in it as a speaker. Who has been in a call's
 * room stays on the call's transcript wherever it is moved, as on its recording.
 */
export class Transcripts {
  readonly #running = new Map<string, Transcript>()
  /** Stopped, with words on their way: they are told of soon, and cannot begin again. */
  readonly #finishing = new Map<string, Promise<void>>()
  readonly #hooks: TranscriptsHooks

  constructor(hooks: TranscriptsHooks) {
    this.#hooks = hooks
  }

  /**
   * The caller calls `enter` for the legs that are there already.
   * @param originMs where the call's timeline begins, in ms of the engine's clock
   */
  start(request: Request<'transcript.start'>, originMs: number): Ok | Failure {
    const { transcriptId, target, language, live = false } = request
    if (this.has(transcriptId)) return { failure: 'conflict', message: 'is being transcribed already' }
    this.#running.set(transcriptId, new Transcript(transcriptId, { target, language, originMs, live }, this.#hooks))
    return {}
  }

  has(transcriptId: string): boolean {
    return this.#running.has(transcriptId) || this.#finishing.has(transcriptId)
  }

  /** A leg came to a room, or the transcript of one began. */
  enter(leg: Transcribed): void {
    for (const transcript of this.#running.values()) transcript.enter(leg)
  }

  /** It leaves; what it is saying is still written down. */
  leave(leg: Transcribed): void {
    for (const transcript of this.#running.values()) transcript.leave(leg)
  }

  /** Whether a transcript goes on with a leg that has left its room. */
  follows(legId: string): boolean {
    return [...this.#running.values()].some(transcript => transcript.follows(legId))
  }

  /** What the product has said to all of these at once: a line of each transcript that one of them is on. */
  told(legIds: readonly string[], words: Words): void {
    for (const transcript of this.#running.values()) transcript.toldAll(legIds, words)
  }

  /** Ends a transcript; `ready` follows its last segment. `now` [ms]. */
  stop(transcriptId: string, now: number): Ok | Failure {
    const transcript = this.#running.get(transcriptId)
    if (this.#finishing.has(transcriptId)) return {}
    if (transcript === undefined) return { failure: 'not_found', message: `no transcript ${transcriptId}` }
    this.#running.delete(transcriptId)
    const finished = transcript.finish(now)
    this.#finishing.set(transcriptId, finished)
    void finished.then(() => this.#finishing.delete(transcriptId))
    return {}
  }

  /** The leg is gone: so ends what it was the last of. */
  closed(legId: string, now: number): void {
    for (const [transcriptId, transcript] of this.#running) if (transcript.closed(legId)) this.stop(transcriptId, now)
  }

  /** The room is gone, and what was written of it, unless somebody of the call is elsewhere. */
  roomClosed(roomId: string, now: number): void {
    for (const [transcriptId, { target, hasLegs }] of this.#running) {
      if ('roomId' in target && target.roomId === roomId && !hasLegs) this.stop(transcriptId, now)
    }
  }

  /** Resolves when all that was said is written. */
  async close(now: number): Promise<void> {
    for (const transcriptId of this.#running.keys()) this.stop(transcriptId, now)
    await Promise.all(this.#finishing.values())
  }
}

class Transcript implements Scribe {
  readonly target: Target
  readonly language: string | null
  readonly #id: string
  readonly #originMs: number
  readonly isLive: boolean
  readonly #hooks: TranscriptsHooks
  readonly #legs = new Map<string, Transcribed['dialogue']>()
  /** Between two rooms. */
  readonly #moving = new Set<string>()
  #expected = 0
  #settled: (() => void) | null = null

  constructor(
    id: string,
    { target, language, originMs, live }: { target: Target; language: string | null; originMs: number; live: boolean },
    hooks: TranscriptsHooks,
  ) {
    this.#id = id
    this.target = target
    this.language = language
    this.#originMs = originMs
    this.isLive = live
    this.#hooks = hooks
  }

  get hasLegs(): boolean {
    return this.#legs.size + this.#moving.size > 0
  }

  enter(leg: Transcribed): void {
    const { legId, dialogue } = leg
    const wasMoving = this.#moving.delete(legId)
    if (!(wasMoving || this.#isOf(leg)) || this.#legs.has(legId)) return
    this.#legs.set(legId, dialogue)
    dialogue.addScribe(this)
  }

  #isOf({ legId, room }: Transcribed): boolean {
    return 'legId' in this.target ? this.target.legId === legId : this.target.roomId === room?.roomId
  }

  leave(leg: Transcribed): void {
    const { legId, room, dialogue } = leg
    if (!this.#legs.delete(legId)) return
    dialogue.removeScribe(this)
    if (!('roomId' in this.target && room?.kind === 'conference' && this.#isOf(leg))) this.#moving.add(legId)
  }

  follows(legId: string): boolean {
    return this.#moving.has(legId)
  }

  /** Returns whether nobody is left of whom it is. */
  closed(legId: string): boolean {
    if ('legId' in this.target) return this.target.legId === legId
    return this.#moving.delete(legId) && !this.hasLegs
  }

  expect(): void {
    this.#expected++
  }

  heard(legId: string, words: HeardWords | null, utterance: number): void {
    if (this.isLive) this.#tell(legId, utterance, words, true)
    else if (words !== null) this.#write(legId, 'party', words)
    this.unexpect()
  }

  unexpect(): void {
    this.#expected--
    if (this.#expected === 0) this.#settled?.()
  }

  saying(legId: string, words: Words, utterance: number): void {
    if (this.isLive) this.#tell(legId, utterance, words, false)
  }

  unsaid(legId: string, utterance: number): void {
    if (this.isLive) this.#tell(legId, utterance, null, true)
  }

  #tell(legId: string, utterance: number, words: Words | null, isFinal: boolean): void {
    const now = this.#hooks.now()
    const ago = (ms: number): number => Math.max(0, Math.round(now - ms))
    this.#hooks.words({
      transcriptId: this.#id,
      legId,
      utteranceId: `${legId}.${utterance}`,
      text: words?.text ?? null,
      isFinal,
      beganAgoMs: ago(words?.startMs ?? now),
      endedAgoMs: ago(words?.endMs ?? now),
    })
  }

  told(legId: string, words: Words): void {
    if (!this.isLive) this.#write(legId, 'product', words)
  }

  toldAll(legIds: readonly string[], words: Words): void {
    const first = legIds.find(legId => this.#legs.has(legId))
    if (first !== undefined) this.told(first, words)
  }

  #write(legId: string, speaker: 'party' | 'product', { text, startMs, endMs }: Words): void {
    const at = (ms: number): number => Math.max(0, Math.round(ms - this.#originMs))
    const times = { startMs: at(startMs), endMs: at(endMs) }
    this.#hooks.segment({ transcriptId: this.#id, legId, speaker, text, ...times })
  }

  async finish(now: number): Promise<void> {
    for (const dialogue of this.#legs.values()) dialogue.removeScribe(this)
    this.#legs.clear()
    const durationMs = Math.round(now - this.#originMs)
    await new Promise<void>(resolve => {
      this.#settled = resolve
      if (this.#expected === 0) resolve()
    })
    this.#hooks.ready({ transcriptId: this.#id, durationMs })
  }
}
