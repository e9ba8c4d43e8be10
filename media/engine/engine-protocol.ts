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
  LegFigures,
  LegSound,
  MediaEvent,
  Quality,
  RoomCapture,
  RoomSpec,
  ToneSource,
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

/** Audio before the answer: played to the caller, or heard from the called party. */
export type EarlyAudio = 'to_caller' | 'from_called'

/** Commands of the channel that an engine thread executes unchanged. */
type ForwardedCommand = CommandOf<Exclude<CommandHome, 'main'>>

/** Where a fax party receives T.38, from its description; `signallingHost`: the source of its signalling. */
export type FaxRemote = Pick<Described, 'host' | 'port' | 'signallingHost'>

/** Where a leg receives, as other legs of this process reach it. */
export interface FaxSocket {
  host: string
  port: number
}

/** A thread's part of a leg's state; signalling adds the rest. */
export interface EngineLeg extends LegAudio {
  legId: string
}

/** How the audio of an answered leg starts: as negotiated in SDP, in this room. */
export interface LegBeginning {
  media: LegMedia
  enter: RoomSpec | null
}

/** The state of a thread. */
export interface EngineSnapshot
  extends Omit<Commands['media.snapshot']['reply'], 'legs' | 'seq' | 'browserIds' | 'refers'> {
  legs: EngineLeg[]
}

/** The link of a leg with a room of another thread. */
export interface LinkSpec {
  memory: SharedArrayBuffer
  /** Shared by all threads of the room (`pause-board.ts`). */
  board: SharedArrayBuffer
  /** The room existed before. */
  isOpen: boolean
  /** Audio processing of the room's members. */
  sound: LegSound | null
}

/** A message between engine threads, routed by the main thread, which knows where each leg and room is. */
export type CrossMessage =
  /** To the thread of the leg's room: the leg has pressed a key. */
  | {
      kind: 'key'
      legId: string
      key: string
      source: KeySource
      isOfPause: boolean
      isSecret: boolean
      isRelayed: boolean
    }
  /** To the leg's own thread: it receives a key. */
  | { kind: 'send_key'; legId: string; key: string; durationMs: number | undefined }
  /** To the own threads of these legs: what the product has said in their room. */
  | { kind: 'told'; legIds: string[]; words: Words }
  /** To the own threads of these legs: somebody in their room has pressed a key, whose echo must be ignored. */
  | { kind: 'pressed'; legIds: string[]; key: string }
  /** To the own threads of these legs: audio processing of everybody in their room. */
  | { kind: 'sound'; legIds: string[]; sound: LegSound }
  /** To the thread of the leg's room: it has consented to this capture. */
  | { kind: 'begin'; legId: string; capture: RoomCapture }
  /** To the leg's own thread: start or stop transcribing it. */
  | { kind: 'write'; legId: string; scribeId: string; thread: number; language: string | null; isLive: boolean }
  | { kind: 'stop_writing'; legId: string; scribeId: string; thread: number }
  /** To the thread that has requested it. */
  | { kind: 'written'; thread: number; scribeId: string; what: Written }
  /** To a thread that follows a leg: the pause of the leg's current room has changed. */
  | { kind: 'paused'; thread: number; legId: string; pause: RoomPause | null }

/** Calls of a scribe (`speech/hearing/hearing.ts`). */
export type Written =
  | { call: 'expect' }
  /** No other utterance follows. `isLost`: nor does what was expected, as the thread that heard it has died. */
  | { call: 'stopped'; isLost: boolean }
  | { call: 'heard'; legId: string; words: HeardWords | null; utterance: number }
  | { call: 'saying'; legId: string; words: Words; utterance: number }
  | { call: 'unsaid'; legId: string; utterance: number }
  | { call: 'told'; legId: string; words: Words }

type Ok = Record<string, never>

/** Commands of the main thread to an engine thread: the forwarded commands, and the audio half of a leg's life. */
export interface EngineCommands extends Pick<Commands, ForwardedCommand | 'stream.read'> {
  /**
   * Opens sockets for a leg at one of our addresses. Failure `capacity` if no port is left. `begin`: it is answered now, which is reported,
   * and its audio starts, as by `leg.connect`; without a room to enter, that reports it.
   */
  'leg.open': {
    request: { legId: string; affinity: string; host: string; sound?: LegSound; begin?: LegBeginning }
    reply: { port: number; ssrc: number; begun?: EngineLeg | Failure }
  }
  /** Creates the leg of a browser. */
  'leg.open_browser': {
    request: { legId: string; pipe: BrowserPipe; affinity: string; sound?: LegSound }
    reply: { port: number }
  }
  /** Opens a socket for WebRTC of a browser's leg, replacing a previous one; `leg.connect` then applies what was negotiated. */
  'leg.open_way': { request: { legId: string; host: string }; reply: { port: number; ssrc: number } }
  /**
   * Starts or changes the audio as negotiated in SDP; null for a browser's leg, unless it is for its WebRTC. `enter`: the room that the leg
   * enters with this command, unless it is in one. `early`: the call is unanswered; the caller hears early media, or the called party is
   * heard and hears nobody. `ringing`: its room hears this tone while nothing comes from the far end. `answers`: it is answered by this command,
   * which is reported unless its room is full.
   */
  'leg.connect': {
    request: {
      legId: string
      media: LegMedia | null
      enter: RoomSpec | null
      early?: EarlyAudio
      ringing?: ToneSource
      answers?: true
      link?: LinkSpec
    }
    reply: EngineLeg
  }
  /** The only other party of its room, if T.38 can pass between them: neither is encrypted, and nothing is hidden from anybody. */
  'leg.fax_partner': { request: { legId: string }; reply: { legId: string } }
  /** The same of a room, in which the leg may be a guest; and whether a leg itself may go over. */
  'room.fax_partner': { request: { roomId: string; legId: string }; reply: { legId: string } }
  'leg.may_fax': { request: { legId: string }; reply: Ok }
  /** From now on both receive T.38 instead of audio, and their packets are relayed, until one of them is connected again. */
  'leg.fax': {
    request: {
      legId: string
      remote: FaxRemote
      partnerId: string
      partnerRemote: FaxRemote
      /** Their sockets, by which threads pass packets on to each other; null: they are of different families. */
      sockets: { own: FaxSocket; partner: FaxSocket } | null
    }
    reply: Record<string, never>
  }
  /** One of two that are on different threads: what its party sends goes to the socket of the other, and what comes from there to its party. */
  'leg.fax_half': { request: { legId: string; remote: FaxRemote; relay: FaxSocket }; reply: Ok }
  'leg.update': { request: Commands['leg.update']['request']; reply: EngineLeg }
  /** `link`: the room is on another thread, which keeps a place there. */
  'leg.move': { request: Commands['leg.move']['request'] & { link?: LinkSpec }; reply: EngineLeg }
  /** The room it is in, and who hears it there: what is needed to bring it back. */
  'leg.place': {
    request: { legId: string }
    reply: { room: RoomSpec | null; muted: boolean; heardBy: string[] | null; hears: string[] | null }
  }
  /** Its far end has answered by SIP, after its thread had said that the leg is quiet. */
  'leg.present': { request: { legId: string }; reply: Ok }
  /** Whether nothing is sent to where its description says, unless packets come from there: nobody acknowledges what we say to it by SIP. */
  'leg.withhold': { request: { legId: string; isWithheld: boolean }; reply: Ok }
  'leg.hold': { request: Commands['leg.hold']['request']; reply: EngineLeg }
  /** A key that came by signalling (SIP INFO, a page), with its stated duration. */
  'leg.key': {
    request: { legId: string; key: string; source: KeySource; durationMs: number }
    reply: Record<string, never>
  }
  'leg.read': { request: { legId: string }; reply: EngineLeg }
  /** `packets`: as for `leg.packets`. */
  'leg.close': {
    request: { legId: string }
    reply: { quality: Quality; packets: PacketLog | null } & LeftBehind
  }
  /** The captured packet headers; null: nobody requested them. */
  'leg.packets': { request: { legId: string }; reply: { packets: PacketLog | null } }
  /** Reserves a place in a room for a leg of another thread; fails like `leg.move`. The reply becomes a `LinkSpec`. */
  'room.reserve': {
    request: { legId: string; room: RoomSpec; mustExist: boolean }
    reply: Omit<LinkSpec, 'memory'>
  }
  /** Takes the place: the leg is in the room from now on. `link`: the room's end of it. */
  'room.seat': {
    request: { legId: string; room: RoomSpec; link: SharedArrayBuffer; affinity: string; muted: boolean }
    reply: Ok
  }
  /** Frees the place, taken or not. `hasEnded`: for good. `follows`: something that began here continues to listen wherever the leg goes. */
  'room.unseat': { request: { legId: string; hasEnded: boolean }; reply: { follows: boolean } & LeftBehind }
  /** As for `leg.update`. */
  'room.hears': { request: Pick<Commands['leg.update']['request'], 'legId' | 'heardBy' | 'hears'>; reply: Ok }
  /** A former guest is now in another room; from there, `link` delivers what it says and what is played to it. */
  'room.follow': { request: { legId: string; room: RoomSpec; link: SharedArrayBuffer }; reply: Ok }
  /** The leg's end of that link; null: none any more. `thread`: the following thread. */
  'leg.follow': { request: { legId: string; link: SharedArrayBuffer | null; thread: number }; reply: Ok }
  /** A message from another thread. */
  'engine.cross': { request: { message: CrossMessage }; reply: Ok }
  /** Another thread has died: what it has said about rooms of this one is void. */
  'engine.died': { request: { thread: number }; reply: Ok }
  'engine.snapshot': { request: Record<string, never>; reply: EngineSnapshot }
  'engine.stats': {
    request: Record<string, never>
    reply: Commands['media.stats']['reply'] & {
      /** `id`: another one after the thread has died. */
      thread: { id: number; legs: number; rooms: number; guests: number; busySeconds: number }
    }
  }
  /** Finishes what is being written; the thread may end after the reply. */
  'engine.close': { request: Record<string, never>; reply: Record<string, never> }
}

/** Whom a leg leaves in its call's room as it ends. Absent: nobody. */
export interface LeftBehind {
  /** As in `leg.ended`: legs of this thread. */
  others?: LegFigures[]
  /** Legs of other threads, which alone have their figures. */
  guests?: string[]
}

export type EngineCommandName = keyof EngineCommands

export type EngineHandlers = {
  [N in EngineCommandName]: (
    request: EngineCommands[N]['request'],
  ) => EngineCommands[N]['reply'] | Failure | Promise<EngineCommands[N]['reply'] | Failure>
}

/** The handlers that kinds of sinks do not provide. */
export type CoreHandlers = Omit<EngineHandlers, CommandOf<'starts' | 'started'> | 'stream.read'>

export type ToEngine = { id: number; name: EngineCommandName; body: unknown }

/** Sent in lists, in order. */
export type FromEngine =
  | { type: 'reply'; id: number; body: unknown }
  | { type: 'event'; event: MediaEvent }
  /** An event of a party's own room, of which control is not told. */
  | { type: 'own'; event: MediaEvent }
  | { type: 'cross'; message: CrossMessage }
  /** Something that a command began has ended: a stream, a recording. */
  | { type: 'over'; kind: string; id: string }
  /** Signalling has to end a leg: no packets for a minute, nor an answer, or its last prompt was played. */
  | { type: 'end'; legId: string; reason: EndedReason }
  /** Nothing comes from a leg: signalling has to ask its far end whether it is there. */
  | { type: 'quiet'; legId: string }
  /** An exception; the legs that it belongs to are ended. */
  | { type: 'fault'; error: string; legIds: readonly string[] }
  /** The thread is ready. The kind of its sockets; `problem`: why not the native ones. */
  | { type: 'sockets'; kind: Datagrams['kind']; problem: string | null }
  /** A key of another party, to be sent to this one by signalling. */
  | { type: 'key'; legId: string; key: string; durationMs: number }
  /** An RTCP report that was received or sent. */
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
  /** Compiles the packet path before it reports ready. */
  warmsUp: boolean
  rtpPorts: { first: number; last: number }
  dataDir: string
  version: string
  place: ThreadPlace
  /** Our own, for DTLS. */
  certificate: KeptCertificate
  /** Whether reports go to the main thread. */
  tellsReports: boolean
  /** What its clock shows to the main thread. */
  clockFace: SharedArrayBuffer
  /** The list of the descriptors that Node does not know, for the main thread. */
  descriptors: SharedArrayBuffer
  /** `port`: to the speech process. */
  speech: { port: MessagePort; abilities: SpeechAbilities }
}
