import type {
  BrowserTarget,
  CaptureState,
  CodecName,
  ConnectionSpec,
  DialTarget,
  DtmfMode,
  EndedReason,
  LegSnapshot,
  ListenSpec,
  MediaSnapshot,
  MediaStats,
  PaymentPause,
  PhoneIdentity,
  PlaySource,
  RoomCapture,
  RoomSpec,
  SrtpPolicy,
  StreamSnapshot,
  StreamSpec,
  Target,
} from './shapes.ts'

type Ok = Record<string, never>

/** One entry per command: request and reply side by side. */
export interface Commands {
  /**
   * Answers an incoming leg (200 OK) into a room of its own or one that exists. `affinity` places all that may meet on one thread.
   * `srtp` absent: as the caller offers.
   */
  'leg.answer': {
    request: {
      legId: string
      room: RoomSpec
      affinity: string
      codecs: CodecName[]
      dtmf?: DtmfMode
      srtp?: SrtpPolicy
    }
    reply: LegSnapshot
  }
  /** Lets an incoming leg ring for as long as its caller waits: it is answered or rejected later. */
  'leg.ring': { request: { legId: string }; reply: Ok }
  'leg.reject': {
    request: { legId: string; sipCode: number; retryAfterS: number | null; reason: EndedReason }
    reply: Ok
  }
  /** Answers an incoming leg with 407: who calls by an account shall prove it. The leg ends; the call comes again as another one. */
  'leg.challenge': { request: { legId: string }; reply: Ok }
  /**
   * Judges the digest of a `leg.incoming` by H(username:realm:password), hex; null: there is no such account. What is not right is
   * answered by media: a wrong one 403, one whose nonce has run out 407.
   */
  'leg.check_caller': { request: { legId: string; ha1: string | null }; reply: { isRight: boolean } }
  /** Starts an outbound leg; what becomes of it arrives as `leg.ringing`, `leg.answered` or `leg.ended`. */
  'leg.dial': {
    request: { legId: string; target: DialTarget | BrowserTarget; room: RoomSpec; affinity: string; timeoutS: number }
    reply: LegSnapshot
  }
  'leg.hangup': { request: { legId: string; reason: EndedReason }; reply: Ok }
  /**
   * Moves a leg to another room; `mustExist`: failure `not_found` when that room is gone. `payment`: the leg is a payment line, and is
   * never in the room without a capture pause of its own, from its first frame: when that has lasted `maxSeconds`, the leg ends.
   */
  'leg.move': {
    request: { legId: string; room: RoomSpec; mustExist: boolean; muted: boolean; payment?: PaymentPause }
    reply: LegSnapshot
  }
  /**
   * Who hears whom. `heardBy`: only these legs of the room hear it (a whisper); `hears`: it hears only these; null: all. What
   * is absent stays. A leg that nobody hears and that hears all is a monitor: it is in no recording's mix of the others.
   */
  'leg.update': {
    request: {
      legId: string
      muted?: boolean
      deaf?: boolean
      heardBy?: string[] | null
      hears?: string[] | null
    }
    reply: LegSnapshot
  }
  /** On hold: the leg neither hears the room nor is heard, and hears `sources` in a loop; a SIP peer is told (sendonly). */
  'leg.hold': { request: { legId: string; held: boolean; sources: PlaySource[] }; reply: LegSnapshot }
  /** Listens to what the party says until `leg.stop_listen`; a second one replaces the first. */
  'leg.listen': { request: { legId: string; listen: ListenSpec }; reply: Ok }
  'leg.stop_listen': { request: { legId: string }; reply: Ok }
  'leg.read': { request: { legIds: string[] }; reply: { legs: LegSnapshot[] } }
  /**
   * Plays to this leg alone, one after the other; replaces what is playing, or waits behind it with `append`. `hangupAfter`:
   * the leg ends with the last. Each that was replied to without a failure ends in one `play.finished`; one whose first sound
   * takes more than three seconds to make is replied to by then, and fails there.
   */
  'leg.play': {
    request: {
      legId: string
      playId: string
      sources: PlaySource[]
      loop: boolean
      hangupAfter: EndedReason | null
      append?: boolean
    }
    reply: Ok
  }
  'leg.stop_play': { request: { legId: string }; reply: Ok }
  /**
   * Collects keys, and words with `speech`: plays `prompts`, falls silent at the first key or word, ends by a terminator, by
   * length, by time or by what was said: `leg.collected`. With `speech` it takes the place of `leg.listen`, and nobody listens
   * when it ends; no time-out cuts in while somebody speaks or is being understood; what is said is told by `leg.collected` alone,
   * and in no transcript when it is `sensitive`.
   */
  'leg.collect': {
    request: {
      legId: string
      collectId: string
      prompts: PlaySource[]
      maxDigits: number
      terminators: string
      firstDigitTimeoutMs: number
      interDigitTimeoutMs: number
      /** The keys are a secret (a PIN): `leg.dtmf` masks them and streams do not see them. */
      sensitive: boolean
      /** Words count too: the first utterance ends it. Absent: keys only. */
      speech?: ListenSpec | null
      /** Keys do not silence the prompts. Absent: they do. */
      playThrough?: boolean
      /**
       * Kept of the leg's room from the moment on in which these keys end the collection, so that the first word after them is there;
       * `digits` null: from the beginning of the prompts, if they can be played.
       */
      agreement?: { digits: string | null; capture: RoomCapture }
    }
    reply: Ok
  }
  'leg.send_dtmf': { request: { legId: string; digits: string; durationMs: number }; reply: Ok }
  'room.play': { request: { roomId: string; sources: PlaySource[]; loop: boolean }; reply: Ok }
  /** Ends every leg in the room. */
  'room.close': { request: { roomId: string; reason: EndedReason }; reply: Ok }
  /** Failure `conflict` when paused already. */
  'capture.pause': {
    request: {
      target: Target
      maxSeconds: number
      reason: string
      maskDtmf: boolean
      destinationLegId: string | null
    }
    reply: CaptureState
  }
  /** Failure `conflict` when not paused. */
  'capture.resume': { request: { target: Target }; reply: CaptureState }
  'stream.start': { request: StreamSpec; reply: StreamSnapshot }
  /** Flushes, sends `stop`, closes; replies with the last counters. */
  'stream.stop': { request: { streamId: string }; reply: StreamSnapshot }
  'stream.read': { request: { streamIds: string[] }; reply: { streams: StreamSnapshot[] } }
  /**
   * A leg alone; or a room: a channel for each who is or comes there, and one for what the product plays. Who was in a call's room
   * stays on it when it is moved. It ends with the last of them.
   */
  'recording.start': { request: { recordingId: string; target: Target; encrypted?: boolean }; reply: Ok }
  /** Silence in every channel until `recording.resume`; the timeline goes on. Failure `conflict` when so it is already. */
  'recording.pause': { request: { recordingId: string }; reply: Ok }
  'recording.resume': { request: { recordingId: string }; reply: Ok }
  'recording.stop': { request: { recordingId: string }; reply: Ok }
  /** Writes down what each party of the target says, and the product to it: `transcript.segment`. Whose it is, as of recordings. */
  'transcript.start': { request: { transcriptId: string; target: Target; language: string | null }; reply: Ok }
  /** Ends with `transcript.ready` once the last words are written. */
  'transcript.stop': { request: { transcriptId: string }; reply: Ok }
  /** Judges a `sip.register` by H(username:realm:password), hex; media answers 403 to a wrong one by itself. */
  'sip.register_check': { request: { registerId: string; ha1: string | null }; reply: { isRight: boolean } }
  /** Answers a `sip.register`. `contacts`: all that are registered now, with their remaining time. */
  'sip.register_reply': {
    request: {
      registerId: string
      sipCode: number
      contacts: { uri: string; expiresS: number }[]
      /** With 423: the shortest time that is taken [s]. */
      minExpiresS: number | null
    }
    reply: Ok
  }
  /** All far ends to keep up with; what was there before and is unchanged goes on as it is. */
  'connections.set': { request: { connections: ConnectionSpec[] }; reply: Ok }
  /** The networks of all connections and phones, as canonical CIDR blocks: a flood of strangers' SIP does not take their room. */
  'sources.set': { request: { networks: string[] }; reply: Ok }
  /** Closes a browser's WebSocket; its leg, if it has one, ends. */
  'browser.close': { request: { browserId: string; code: number; reason: string }; reply: Ok }
  /** Refuses a browser that is connecting: its upgrade is answered with this HTTP status and JSON. */
  'browser.refuse': { request: { browserId: string; status: number; body: Record<string, unknown> }; reply: Ok }
  /**
   * Admits a browser that is connecting. A `phone` can be dialled from now on. A `call` has one leg, `legId`, which is incoming
   * from now on: it is answered by `leg.answer`, like any other. `accountSid`: what `start` says of the organisation. `phone`: whose
   * it is; it goes on with the running call of the connection that the same device had before, or with one that its agent has lost.
   */
  'browser.admit': {
    request: {
      browserId: string
      as: 'phone' | 'call'
      legId: string | null
      accountSid: string
      phone: PhoneIdentity | null
    }
    reply: Ok
  }
  /** A message for the page, sent as it is: `{event: "control", …}`. */
  'browser.send': { request: { browserId: string; body: Record<string, unknown> }; reply: Ok }
  'media.snapshot': { request: Ok; reply: MediaSnapshot }
  'media.stats': { request: Ok; reply: MediaStats }
}

export type CommandName = keyof Commands
export type Request<N extends CommandName> = Commands[N]['request']
export type Reply<N extends CommandName> = Commands[N]['reply']

/**
 * An expected failure of a command. `unavailable`: it was not sent, or not accepted, and nothing has happened. `unanswered`: it was
 * sent, and nobody knows whether it was carried out; the next snapshot tells.
 */
export interface Failure {
  failure: 'not_found' | 'conflict' | 'invalid' | 'capacity' | 'unavailable' | 'unanswered'
  message: string
}

export const isFailure = (value: object): value is Failure => 'failure' in value

/** It may have happened, or may happen when it is asked for again: no decision about what was asked for. */
export const isUndecided = (value: object): value is Failure & { failure: 'unavailable' | 'unanswered' } =>
  isFailure(value) && (value.failure === 'unavailable' || value.failure === 'unanswered')

/** What was asked for was refused: it has not happened, and will not. */
export const isRefused = (value: object): boolean => isFailure(value) && value.failure !== 'unanswered'
