import type { MessagePort } from 'node:worker_threads'
import type { BrowserPipe } from '../legs/browser-leg.ts'
import type { LegMedia } from '../legs/leg-media.ts'
import type {
  CommandHome,
  CommandOf,
  Commands,
  EndedReason,
  Failure,
  LegAudio,
  LegSound,
  MediaEvent,
  Quality,
  RoomCapture,
  RoomSpec,
} from '../protocol.ts'
import type { KeySource } from '../rooms/leg.ts'
import type { RoomPause } from '../rooms/room.ts'
import type { SocketChoice } from '../rtp/datagrams/choose.ts'
import type { Datagrams } from '../rtp/datagrams/datagrams.ts'
import type { Described } from '../rtp/latch.ts'
import type { PacketLog } from '../rtp/packet-headers.ts'
import type { HeardWords, Words } from '../speech/hearing/hearing.ts'
import type { SpeechAbilities } from '../speech/speech-protocol.ts'
import type { KeptCertificate } from '../webrtc/certificate.ts'
import type { ThreadPlace } from './threads/spans.ts'

/** What becomes of audio before the answer: it goes to the caller, or comes from who is called. */
export type EarlyAudio = 'to_caller' | 'from_called'

/** Commands of the channel that an engine thread executes as they are. */
export type ForwardedCommand = CommandOf<Exclude<CommandHome, 'main'>>

/** Where a party of a fax receives T.38, as its description says; `signallingHost`: where its signalling comes from. */
export type FaxRemote = Pick<Described, 'host' | 'port' | 'signallingHost'>

/** What a thread tells of a leg; signalling adds the rest. */
export interface EngineLeg extends LegAudio {
  legId: string
}

/** What a thread has. */
export interface EngineSnapshot
  extends Omit<Commands['media.snapshot']['reply'], 'legs' | 'seq' | 'browserIds' | 'refers'> {
  legs: EngineLeg[]
}

/** How a leg is joined with a room of another thread. */
export interface LinkSpec {
  memory: SharedArrayBuffer
  /** What all threads of the room share (`pause-board.ts`). */
  board: SharedArrayBuffer
  /** The room was there before. */
  isOpen: boolean
  /** What is done with the audio of who is in it. */
  sound: LegSound | null
}

/** What one engine thread tells another, by way of the main thread, which knows where everybody is. */
export type CrossMessage =
  /** To the thread of the leg's room: it has pressed a key. */
  | {
      kind: 'key'
      legId: string
      key: string
      source: KeySource
      isOfPause: boolean
      isSecret: boolean
      isRelayed: boolean
    }
  /** To the leg's own thread: it gets a key. */
  | { kind: 'send_key'; legId: string; key: string; durationMs: number | undefined }
  /** To the own threads of these legs: what the product has said in their room. */
  | { kind: 'told'; legIds: string[]; words: Words }
  /** To the own threads of these legs: somebody in their room has pressed a key, whose echo is none of theirs. */
  | { kind: 'pressed'; legIds: string[]; key: string }
  /** To the own threads of these legs: what is done with the audio of all in their room. */
  | { kind: 'sound'; legIds: string[]; sound: LegSound }
  /** To the thread of the leg's room: it has agreed that this is kept. */
  | { kind: 'begin'; legId: string; capture: RoomCapture }
  /** To the leg's own thread: what it says is to be written down, or no more. */
  | { kind: 'write'; legId: string; scribeId: string; thread: number; language: string | null; isLive: boolean }
  | { kind: 'stop_writing'; legId: string; scribeId: string; thread: number }
  /** To the thread that has asked for it. */
  | { kind: 'written'; thread: number; scribeId: string; what: Written }
  /** To a thread that follows: the room in which the leg is now is paused, or no more. */
  | { kind: 'paused'; thread: number; legId: string; pause: RoomPause | null }

/** What a scribe is told (`speech/hearing/hearing.ts`). */
export type Written =
  | { call: 'expect' }
  | { call: 'stopped' }
  | { call: 'heard'; legId: string; words: HeardWords | null; utterance: number }
  | { call: 'saying'; legId: string; words: Words; utterance: number }
  | { call: 'unsaid'; legId: string; utterance: number }
  | { call: 'told'; legId: string; words: Words }

type Ok = Record<string, never>

/** What the main thread asks of an engine thread: the forwarded commands, and the audio half of a leg's life. */
export interface EngineCommands extends Pick<Commands, ForwardedCommand | 'stream.read'> {
  /** Opens sockets for a leg at one of our addresses. Failure `capacity` when no port is left. */
  'leg.open': {
    request: { legId: string; affinity: string; host: string; sound?: LegSound }
    reply: { port: number; ssrc: number }
  }
  /** Makes the leg of a browser. */
  'leg.open_browser': {
    request: { legId: string; pipe: BrowserPipe; affinity: string; sound?: LegSound }
    reply: { port: number }
  }
  /** Opens a socket for WebRTC of a browser's leg, in the place of one before; `leg.connect` then brings what was agreed on. */
  'leg.open_way': { request: { legId: string; host: string }; reply: { port: number; ssrc: number } }
  /**
   * Starts or changes the audio by what SDP agreed on; null for a browser's leg, unless it is of its
   * WebRTC. `enter`: the room that the leg enters with it, unless it
   * is in one. `early`: the call is not answered yet; its caller hears, or its called party is heard and hears nobody.
   */
  'leg.connect': {
    request: { legId: string; media: LegMedia | null; enter: RoomSpec | null; early?: EarlyAudio; link?: LinkSpec }
    reply: EngineLeg
  }
  /** The one other party of its room, if T.38 can pass between them: neither is encrypted, and nothing is kept from anybody now. */
  'leg.fax_partner': { request: { legId: string }; reply: { legId: string } }
  /** From now on both receive T.38 in the place of audio, and what one sends goes to the other, until one of them is connected anew. */
  'leg.fax': {
    request: { legId: string; remote: FaxRemote; partnerId: string; partnerRemote: FaxRemote }
    reply: Record<string, never>
  }
  'leg.update': { request: Commands['leg.update']['request']; reply: EngineLeg }
  /** `link`: the room is on another thread, which keeps a place there. */
  'leg.move': { request: Commands['leg.move']['request'] & { link?: LinkSpec }; reply: EngineLeg }
  'leg.hold': { request: Commands['leg.hold']['request']; reply: EngineLeg }
  /** A key that came by signalling (SIP INFO, a page), with the time for which it says that it is down. */
  'leg.key': {
    request: { legId: string; key: string; source: KeySource; durationMs: number }
    reply: Record<string, never>
  }
  'leg.read': { request: { legId: string }; reply: EngineLeg }
  /** `packets`: as of `leg.packets`. */
  'leg.close': { request: { legId: string }; reply: { quality: Quality; packets: PacketLog | null } }
  /** The headers of packets that were written down; null: nobody wanted them. */
  'leg.packets': { request: { legId: string }; reply: { packets: PacketLog | null } }
  /** Keeps a place in a room for a leg of another thread: failures as of `leg.move`. The reply is of `LinkSpec`. */
  'room.reserve': {
    request: { legId: string; room: RoomSpec; mustExist: boolean }
    reply: Omit<LinkSpec, 'memory'>
  }
  /** The place is taken: it is in the room from now on. `link`: its end there. */
  'room.seat': {
    request: { legId: string; room: RoomSpec; link: SharedArrayBuffer; affinity: string; muted: boolean }
    reply: Ok
  }
  /** The place is free, taken or not. `hasEnded`: for good. `follows`: something that began here listens on wherever it goes. */
  'room.unseat': { request: { legId: string; hasEnded: boolean }; reply: { follows: boolean } }
  /** As of `leg.update`. */
  'room.hears': { request: Pick<Commands['leg.update']['request'], 'legId' | 'heardBy' | 'hears'>; reply: Ok }
  /** A leg that was a guest here is in another room now, from where what it says and is played comes by `link`. */
  'room.follow': { request: { legId: string; room: RoomSpec; link: SharedArrayBuffer }; reply: Ok }
  /** The leg's end of that; null: no more. `thread`: which one follows. */
  'leg.follow': { request: { legId: string; link: SharedArrayBuffer | null; thread: number }; reply: Ok }
  /** Another thread tells something. */
  'engine.cross': { request: { message: CrossMessage }; reply: Ok }
  'engine.snapshot': { request: Record<string, never>; reply: EngineSnapshot }
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

/** Those that kinds of sinks do not bring. */
export type CoreHandlers = Omit<EngineHandlers, CommandOf<'starts' | 'started'> | 'stream.read'>

export type ToEngine = { id: number; name: EngineCommandName; body: unknown }

export type FromEngine =
  | { type: 'reply'; id: number; body: unknown }
  | { type: 'event'; event: MediaEvent }
  | { type: 'cross'; message: CrossMessage }
  /** What a command began is over: a stream, a recording. */
  | { type: 'over'; kind: string; id: string }
  /** The thread wants a leg ended: no packets for a minute, or its last prompt was played. */
  | { type: 'end'; legId: string; reason: EndedReason }
  /** Something threw; the legs that it belongs to are ended. */
  | { type: 'fault'; error: string; legIds: readonly string[] }
  /** It is ready. Which sockets it has; `problem`: why not the system's own. */
  | { type: 'sockets'; kind: Datagrams['kind']; problem: string | null }
  /** Another party's key, which goes to its party by signalling. */
  | { type: 'key'; legId: string; key: string; durationMs: number }
  /** A report of a leg's audio has come from there, or was sent there. */
  | { type: 'report'; report: LegReport }

export interface LegReport {
  legId: string
  isSent: boolean
  /** RTCP, not encrypted. */
  bytes: Uint8Array
  host: string
  port: number
}

export interface EngineConfig {
  rtpSockets: SocketChoice
  /** Compiles what every packet passes before it says that it is there. */
  warmsUp: boolean
  rtpPorts: { first: number; last: number }
  dataDir: string
  version: string
  place: ThreadPlace
  /** Ours, for DTLS. */
  certificate: KeptCertificate
  /** Whether the main thread is told of reports. */
  tellsReports: boolean
  /** `port`: to the speech process. */
  speech: { port: MessagePort; abilities: SpeechAbilities }
}
