import type { MessagePort } from 'node:worker_threads'
import type { BrowserPipe } from '../browsers/browser-leg.ts'
import type {
  CommandHome,
  CommandOf,
  Commands,
  EndedReason,
  Failure,
  LegAudio,
  MediaEvent,
  Quality,
  RoomSpec,
} from '../protocol.ts'
import type { LegMedia } from '../rtp/rtp-leg.ts'
import type { SpeechAbilities } from '../speech/speech-protocol.ts'
import type { KeySource } from './leg.ts'

/** Commands of the channel that an engine thread executes as they are. */
export type ForwardedCommand = CommandOf<Exclude<CommandHome, 'main'>>

/** What a thread tells of a leg; signalling adds the rest. */
export interface EngineLeg extends LegAudio {
  legId: string
}

/** What the main thread asks of an engine thread: the forwarded commands, and the audio half of a leg's life. */
export interface EngineCommands extends Pick<Commands, ForwardedCommand | 'stream.read'> {
  /** Opens sockets for a leg. Failure `capacity` when no port is left. */
  'leg.open': { request: { legId: string; affinity: string }; reply: { port: number } }
  /** Makes the leg of a browser. */
  'leg.open_browser': { request: { legId: string; pipe: BrowserPipe; affinity: string }; reply: { port: number } }
  /** Starts or changes the audio by what SDP agreed on; null for a browser's leg. `enter`: the room that the leg enters with it. */
  'leg.connect': { request: { legId: string; media: LegMedia | null; enter: RoomSpec | null }; reply: EngineLeg }
  'leg.update': { request: Commands['leg.update']['request']; reply: EngineLeg }
  'leg.move': { request: Commands['leg.move']['request']; reply: EngineLeg }
  'leg.hold': { request: Commands['leg.hold']['request']; reply: EngineLeg }
  /** A key that came by signalling (SIP INFO, a page), with the time for which it says that it is down. */
  'leg.key': {
    request: { legId: string; key: string; source: KeySource; durationMs: number }
    reply: Record<string, never>
  }
  'leg.read': { request: { legId: string }; reply: EngineLeg }
  'leg.close': { request: { legId: string }; reply: { quality: Quality } }
  'engine.snapshot': {
    request: Record<string, never>
    reply: {
      legs: EngineLeg[]
      rooms: Commands['media.snapshot']['reply']['rooms']
      captures: Commands['media.snapshot']['reply']['captures']
      streams: Commands['media.snapshot']['reply']['streams']
      recordings: Commands['media.snapshot']['reply']['recordings']
    }
  }
  'engine.stats': { request: Record<string, never>; reply: Commands['media.stats']['reply'] }
  /** Finishes what is being written; the thread may end after the reply. */
  'engine.close': { request: Record<string, never>; reply: Record<string, never> }
}

export type EngineCommandName = keyof EngineCommands

export type EngineHandlers = {
  [N in EngineCommandName]: (
    request: EngineCommands[N]['request'],
  ) => EngineCommands[N]['reply'] | Failure | Promise<EngineCommands[N]['reply'] | Failure>
}

export type ToEngine = { id: number; name: EngineCommandName; body: unknown }

export type FromEngine =
  | { type: 'reply'; id: number; body: unknown }
  | { type: 'event'; event: MediaEvent }
  /** The thread wants a leg ended: no packets for a minute, or its last prompt was played. */
  | { type: 'end'; legId: string; reason: EndedReason }
  /** Something threw; the legs that it belongs to are ended. */
  | { type: 'fault'; error: string; legIds: readonly string[] }
  /** Another party's key, which goes to its party by signalling. */
  | { type: 'key'; legId: string; key: string; durationMs: number }

export interface EngineConfig {
  host: string
  rtpPorts: { first: number; last: number }
  dataDir: string
  version: string
  /** `port`: to the speech process. */
  speech: { port: MessagePort; abilities: SpeechAbilities }
}
