import type { CreateResampler } from '../../codecs/resample.ts'
import type { CreateVoiceDetector } from '../../codecs/voice-activity.ts'
import type { Command, CommandHome, EventName, Events, Failure, RoomCapture, Target } from '../protocol.ts'
import type { Chorus } from '../rooms/chorus.ts'
import type { Leg } from '../rooms/leg.ts'
import type { Room } from '../rooms/room.ts'
import type { Sink } from '../rooms/sink.ts'
import type { Libc } from '../rtp/datagrams/libc.ts'
import type { Scribe, Words } from '../speech/hearing/hearing.ts'

/** Who may be listened to. */
export interface Party {
  readonly leg: Leg
  /** The room that it is in. */
  readonly room: Room | null
  /** What it says, as words. */
  readonly dialogue: { addScribe(scribe: Scribe): void; removeScribe(scribe: Scribe): void }
}

/** What an engine thread gives to the kinds of sinks that listen on it. */
export interface SinkWorld {
  dataDir: string
  /** How we call ourselves to others, for example `tandem/0.1.0`. */
  userAgent: string
  createResampler: CreateResampler
  createVoiceDetector: CreateVoiceDetector
  /** The system's own calls for sockets; absent, or null: they are not used here. */
  libc?: Libc | null
  /** Monotonic [ms]. */
  now(): number
  emit<N extends EventName>(name: N, body: Events[N]): void
  /** What a command began is over; before it is told of. `kind`: what its commands begin with, as "stream". */
  over(kind: string, id: string): void
  /** The sinks of a leg or room; null: it is not here. */
  sinksOf(target: Target): Sink[] | null
  /** What speaks to a leg or room besides, made with the first who asks; null: it is not here. */
  chorusOf(target: Target): Chorus | null
  /** Presses a key to a party; false: it takes none, or it is a room. */
  press(target: Target, key: string): boolean
  /** Whoever is in a room is told of to all kinds once more (`enter`): something has just begun. */
  enterAll(): void
  /** Whether words of this language are understood. */
  understands(language: string | null): boolean
  /** How long what records this target has run, null: nothing does [frames]. */
  framesOf(target: Target): number | null
}

type Answer = object | Failure

/** What carries out the commands of a kind, by their names. What a request may be stands in its declaration. */
export type SinkCommands = Record<string, (request: never) => Answer | Promise<Answer>>

/** One kind of what listens, on one engine thread: it hears of what legs and rooms do, and hangs its sinks on them. */
export interface SinkKind {
  readonly commands: SinkCommands
  /** A party came into this room, or was in it when something began. */
  enter?(party: Party, room: Room): void
  /** It is about to leave its room, for another one or for good. */
  leave?(party: Party): void
  /** It is gone. */
  closed?(leg: Leg): void
  /** Whether something listens on to a leg that has left its room, wherever it goes. */
  follows?(leg: Leg): boolean
  roomClosed?(roomId: string): void
  /** A card-payment pause over this room began or ended. */
  pauseChanged?(room: Room): void
  /** A key was pressed that is no secret. */
  key?(legId: string, roomId: string | null, key: string): void
  /** What the product has said to all of these at once. */
  told?(legIds: readonly string[], words: Words): void
  /** What a room is to be captured by, without a command. `party`: it came with somebody into a room that was there. */
  begin?(roomId: string, capture: RoomCapture, by: 'room' | 'party'): void
  framesOf?(target: Target): number | null
  /** What it adds to the snapshot of its thread, and to its figures. */
  snapshot?(): object
  stats?(): { counters: Record<string, number>; gauges: Record<string, number> }
  /** Ends what is left; resolves when all of it is written. */
  shutdown?(): Promise<void>
}

/** A kind of sinks, as its folder brings it. */
export interface SinkNoun {
  /** Its commands beside those of `protocol/commands.ts`. */
  declares?: Record<string, Command<Extract<CommandHome, 'starts' | 'started'>>>
  create(world: SinkWorld): SinkKind
}
