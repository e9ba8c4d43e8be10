import { FRAME_MS } from '../../codecs/audio.ts'
import { type Failure, isFailure, type Request, type RoomCapture } from '../protocol.ts'
import type { Leg } from '../rooms/leg.ts'
import type { Party, SinkKind, SinkNoun, SinkWorld } from '../sinks/sink-kind.ts'
import type { Words } from '../speech/hearing/hearing.ts'
import { type Transcribed, Transcripts } from '../speech/hearing/transcripts.ts'

type Ok = Record<string, never>

/** The transcripts of one engine thread, as what listens there: their ears are those of the parties' dialogues. */
class TranscriptSinks implements SinkKind {
  readonly commands = {
    'transcript.start': (request: Request<'transcript.start'>) => this.#start(request),
    'transcript.stop': ({ transcriptId }: Request<'transcript.stop'>) =>
      this.#transcripts.stop(transcriptId, this.#world.now()),
  }
  readonly #world: SinkWorld
  readonly #transcripts: Transcripts

  constructor(world: SinkWorld) {
    this.#world = world
    this.#transcripts = new Transcripts({
      now: world.now,
      words: words => world.emit('transcript.words', words),
      segment: segment => world.emit('transcript.segment', segment),
      ready: end => {
        world.over('transcript', end.transcriptId)
        world.emit('transcript.ready', end)
      },
    })
  }

  /** Its times count from where the recording of the same target began, if there is one. */
  #start(request: Request<'transcript.start'>): Ok | Failure {
    const { target, language } = request
    const isHere = this.#world.sinksOf(target) !== null || this.#transcripts.has(request.transcriptId)
    if (!isHere) return { failure: 'not_found', message: 'the call is not here' }
    if (!this.#world.understands(language)) {
      return { failure: 'invalid', message: `no engine here understands ${language}` }
    }
    const recordedMs = (this.#world.framesOf(target) ?? 0) * FRAME_MS
    const started = this.#transcripts.start(request, this.#world.now() - recordedMs)
    if (!isFailure(started)) this.#world.enterAll()
    return started
  }

  begin(roomId: string, { transcript }: RoomCapture, by: 'room' | 'party'): void {
    if (by !== 'room' || transcript === null || !this.#world.understands(transcript.language)) return
    this.#transcripts.start({ ...transcript, target: { roomId } }, this.#world.now())
  }

  enter(party: Party): void {
    this.#transcripts.enter(transcribed(party))
  }

  leave(party: Party): void {
    this.#transcripts.leave(transcribed(party))
  }

  follows({ id }: Leg): boolean {
    return this.#transcripts.follows(id)
  }

  closed({ id }: Leg): void {
    this.#transcripts.closed(id, this.#world.now())
  }

  roomClosed(roomId: string): void {
    this.#transcripts.roomClosed(roomId, this.#world.now())
  }

  told(legIds: readonly string[], words: Words): void {
    this.#transcripts.told(legIds, words)
  }

  shutdown(): Promise<void> {
    return this.#transcripts.close(this.#world.now())
  }
}

const transcribed = ({ leg, room, dialogue }: Party): Transcribed => ({
  legId: leg.id,
  room: room?.spec ?? null,
  dialogue,
})

export const transcripts: SinkNoun = { create: world => new TranscriptSinks(world) }
