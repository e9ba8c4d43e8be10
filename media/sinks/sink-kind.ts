import type { CreateResampler } from '../../codecs/resample.ts'
import type { CreateVoiceDetector } from '../../codecs/voice-activity.ts'
import type { Command, CommandHome, EventName, Events, Failure, RoomCapture, Target } from '../protocol.ts'
import type { Chorus } from '../rooms/chorus.ts'
import type { Leg } from '../rooms/leg.ts'
import type { Room } from '../rooms/room.ts'
import type { Sink } from '../rooms/sink.ts'
import type { Connections } from '../rtp/datagrams/datagrams.ts'
import type { Scribe, Words } from '../speech/hearing/hearing.ts'

/** A party that sinks may listen to. */
export interface Party {
  readonly leg: Leg
  /** Its current room. */
  readonly room: Room | null
  /** Its words. */
  readonly dialogue: { addScribe(scribe: Scribe): void; removeScribe(scribe: Scribe): void }
}

/** An engine thread's interface for its kinds of sinks. */
export interface SinkWorld {
  dataDir: string
  /** Our User-Agent, for example `tandem/0.1.0`. */
  userAgent: string
  createResampler: CreateResampler
  createVoiceDetector: CreateVoiceDetector
  /** The system's own calls for connections; absent or null: not used here. */
  connections?: Connections | null
  /** Monotonic [ms]. */
  now(): number
  emit<N extends EventName>(name: N, body: Events[N]): void
  /** Reports and counts an exception that ended something of a sink, and not the call. */
  fault(error: unknown): void
  /** Reports the end of something that a command began, before its event. `kind`: prefix of its commands, such as "stream". */
  over(kind: string, id: string): void
  /** The sinks of a leg or room; null: it is not here. */
  sinksOf(target: Target): Sink[] | null
  /** Additional voices to a leg or room, created at the first use; null: it is not here. */
  chorusOf(target: Target): Chorus | null
  /** Sends a key to a party; false: it accepts none, or it is a room. */
  press(target: Target, key: string): boolean
  /** Announces all current members of rooms to all kinds again (`enter`), because something has just begun. */
  enterAll(): void
  /** Whether speech in this language is recognised. */
  understands(language: string | null): boolean
  /** How long the recording of this target has run; null: none [frames]. */
  framesOf(target: Target): number | null
}

type Answer = object | Failure

/** Handlers of the commands of a kind, by name. The declaration of a command defines its request. */
export type SinkCommands = Record<string, (request: never) => Answer | Promise<Answer>>

/** One kind of sink on one engine thread: it is notified of legs and rooms, and attaches its sinks to them. */
export interface SinkKind {
  readonly commands: SinkCommands
  /** A party entered this room, or was in it when something began. */
  enter?(party: Party, room: Room): void
  /** It is about to leave its room, for another one or for good. */
  leave?(party: Party): void
  /** The leg has ended. */
  closed?(leg: Leg): void
  /** Whether something continues to listen to a leg that has left its room, wherever it goes. */
  follows?(leg: Leg): boolean
  roomClosed?(roomId: string): void
  /** A card-payment pause over this room began or ended. */
  pauseChanged?(room: Room): void
  /** A key was pressed that is not secret. */
  key?(legId: string, roomId: string | null, key: string): void
  /** The product has said this to all of these legs at once. */
  told?(legIds: readonly string[], words: Words): void
  /** Starts a room's capture, without a command. `party`: it came with somebody who entered an existing room. */
  begin?(roomId: string, capture: RoomCapture, by: 'room' | 'party'): void
  framesOf?(target: Target): number | null
  /** Its part of the thread's snapshot and figures. */
  snapshot?(): object
  stats?(): { counters: Record<string, number>; gauges: Record<string, number> }
  /** Ends whatever is left; resolves when everything is written. */
  shutdown?(): Promise<void>
}

/** A kind of sink, as exported by its folder. */
export interface SinkNoun {
  /** Its commands in addition to those of `protocol/commands.ts`. */
  declares?: Record<string, Command<Extract<CommandHome, 'starts' | 'started'>>>
  create(world: SinkWorld): SinkKind
}
