import Type, { type Static, type TSchema } from 'typebox'
import { canonical, type Verification } from './identity.ts'
import {
  browserTarget,
  codecs,
  connectionSpec,
  credentials,
  dialTarget,
  dtmfMode,
  endedReason,
  hearing,
  host,
  legSound,
  listenSpec,
  packageState,
  pauseSeconds,
  paymentPause,
  phoneIdentity,
  phoneVia,
  playSources,
  reliability,
  requested,
  roomCapture,
  roomSpec,
  route,
  sipUri,
  srtpPolicy,
  streamSpec,
  target,
  toneSource,
  transport,
} from './parts.ts'
import { boolean, id, integer, jsonObject, line, list, MAX_TIMER_MS, nullable, oneOf, text } from './schema.ts'
import type { CaptureState, LegSnapshot, MediaSnapshot, MediaStats, SipLegTrace, StreamSnapshot } from './shapes.ts'

/** Elements of a list of IDs. */
const MAX_IDS = 10_000
/** Far ends that are kept up with. */
const MAX_CONNECTIONS = 10_000
export const MAX_KEPT_PHONES = 10_000
const MAX_NETWORKS = 100_000
/** The transitions of a flow of 500 nodes. */
const MAX_OPTIONS = 25_000

type Ok = Record<string, never>

/**
 * Where a command is carried out. `main`: on the main thread, for signalling above all. The others: on the engine thread of the
 * `leg`, the `room` or the `target`. A command that `starts` something with an ID of its own, and those for what was `started`, run
 * on the thread where it began.
 */
export type CommandHome = 'main' | 'leg' | 'room' | 'target' | 'starts' | 'started'

/** How a command is declared. */
export interface Command<H extends CommandHome = CommandHome, S extends TSchema = TSchema, R = unknown> {
  home: H
  /** Validation before a request is carried out. */
  request: S
  /** For types alone: no command has it. */
  reply?: R
}

export const command =
  <R>() =>
  <const H extends CommandHome, S extends TSchema>(home: H, request: S): Command<H, S, R> => ({ home, request })

/** The room or leg that a leg is likely to meet: it is placed on its engine thread. Absent: nobody knows. */
const near = Type.Optional(id)

/** Into which room an incoming leg comes, and with what audio. */
const answerAs = Type.Object({
  room: roomSpec,
  affinity: text(200),
  near,
  codecs,
  dtmf: Type.Optional(dtmfMode),
  srtp: Type.Optional(srtpPolicy),
})

const ok = command<Ok>()
const leg = command<LegSnapshot>()
const verdict = command<{ isRight: boolean }>()

/** Every command, once: types, the check at run time and the way to an engine thread are derived from it. */
export const COMMANDS = {
  /**
   * Answers an incoming leg (200 OK) into a room of its own or an existing one. `affinity`: whose turn its speech
   * synthesis and recognition use. `srtp` absent: as the caller offers. `credentials`: for its far end, if that asks for a password in the
   * call; absent or null: none.
   */
  'leg.answer': leg(
    'main',
    Type.Object({ legId: id, ...answerAs.properties, credentials: Type.Optional(credentials) }),
  ),
  /**
   * Lets an incoming leg ring while its caller waits; it is answered or rejected later. `early`: its caller hears what the leg hears
   * before the answer (183); without an offer that allows this, the caller gets a 180. `reliable` absent: `when_required`.
   */
  'leg.ring': ok(
    'main',
    Type.Object({ legId: id, reliable: Type.Optional(reliability), early: Type.Optional(answerAs) }),
  ),
  'leg.reject': ok(
    'main',
    Type.Object({
      legId: id,
      sipCode: integer(300, 699),
      retryAfterS: Type.Optional(integer(0, 86_400)),
      reason: endedReason,
      /** In the place of the status's own. */
      phrase: Type.Optional(line(100)),
    }),
  ),
  /**
   * Leaves an incoming leg to another node, at this `HOST:PORT` of its SIP: the leg ends. `proven`: the account that the caller has proven,
   * which the other one believes. Refused with 503 where that node has told no address (null) or says nothing, or another one has passed the
   * caller on already. Failure `conflict`: nobody is there, and the leg still waits.
   */
  'leg.pass_on': ok('main', Type.Object({ legId: id, node: nullable(line(300)), proven: nullable(id) })),
  /**
   * Challenges an incoming leg with 401: a caller who uses an account must prove it. The leg ends; the call comes again as
   * another one. `algorithm`: of the account, if known; absent: MD5.
   */
  'leg.challenge': ok(
    'main',
    Type.Object({
      legId: id,
      algorithm: Type.Optional(oneOf('MD5', 'SHA-256')),
      /** The digest was right, but not the first with its nonce: the caller repeats it without asking anybody (RFC 7616 §3.3). */
      isStale: Type.Optional(Type.Boolean()),
    }),
  ),
  /**
   * Judges the digest of a `leg.incoming` by H(username:realm:password), hex; null: there is no such account. Media answers
   * failures: 403 for a wrong digest, 401 for an expired nonce.
   */
  'leg.check_caller': verdict('main', Type.Object({ legId: id, ha1: nullable(line(64)) })),
  /**
   * Verifies the signature of an incoming call (RFC 8224 §6.2), for a second at most. `from`: the caller numbers that it may cover, any of
   * them; `to`: the same for the called number.
   */
  'leg.verify': command<Verification>()(
    'main',
    Type.Object({ legId: id, from: list(canonical, 4), to: list(canonical, 4) }),
  ),
  /** Reserves a place for a leg that will be dialled within seconds, so that nothing is stored for a call that finds none. */
  'leg.reserve': ok('main', Type.Object({ legId: id, near })),
  /** Releases the reserved place of a leg that will not be dialled. */
  'leg.release': ok('main', Type.Object({ legId: id })),
  /** Starts an outbound leg; what becomes of it arrives as `leg.ringing`, `leg.answered` or `leg.ended`. */
  'leg.dial': leg(
    'main',
    Type.Object({
      legId: id,
      target: Type.Union([dialTarget, browserTarget]),
      /** Tried one after the other when the target does not take the call on. */
      alternatives: Type.Optional(list(dialTarget, 20)),
      room: roomSpec,
      /** Applies to the leg itself, wherever it goes. */
      sound: Type.Optional(legSound),
      affinity: text(200),
      near,
      /**
       * The leg whose call is forwarded by this one: its Max-Forwards counts on (RFC 7332). Absent: the call begins with us.
       */
      callerLegId: Type.Optional(id),
      /** Goes out so much later: its connection, or its campaign, begins so many calls a second. */
      delayMs: Type.Optional(integer(0, 10_000)),
      /** The campaign, which has a limit of calls per second besides the connection's. */
      pace: Type.Optional(Type.Object({ id, callsPerSecond: integer(1, 1000) })),
      timeoutS: integer(1, 3600),
    }),
  ),
  /** `to`: the URIs of a `leg.redirected` that may be called; with none of them the leg ends for this `reason`. */
  'leg.redirect_answer': ok(
    'main',
    Type.Object({ legId: id, redirectId: id, to: list(sipUri, 5), reason: endedReason }),
  ),
  /** Accepts the REFER of a `leg.refer_asked` (below 300), or refuses it. A party that hangs up may still be told how it ends. */
  'leg.refer_answer': ok('main', Type.Object({ legId: id, referId: id, sipCode: integer(200, 699) })),
  /** Reports the progress to the sender of a REFER, as a status of its target; 200 and above are final. */
  'leg.refer_notify': ok('main', Type.Object({ legId: id, referId: id, sipCode: integer(100, 699) })),
  /**
   * Accepts it, and calls the target in the place of the leg's far end: `leg.refer_progress`, then `leg.replaced`. `ringback`: what the room
   * hears while it rings, once nobody else is there.
   */
  'leg.refer_bridge': ok(
    'main',
    Type.Object({
      legId: id,
      referId: id,
      target: dialTarget,
      alternatives: Type.Optional(list(dialTarget, 20)),
      timeoutS: integer(1, 3600),
      ringback: Type.Optional(toneSource),
    }),
  ),
  /**
   * Accepts one that names a dialog of another node of ours, and joins the leg's room with whoever talks on that dialog there, or is rung: their
   * far end is the other node from now on. `leg.refer_progress`, then `leg.replaced`. `account`: of the member who asks, and leaves both calls.
   * `ringback`: heard while it rings there.
   */
  'leg.refer_join': ok(
    'main',
    Type.Object({
      legId: id,
      referId: id,
      account: id,
      timeoutS: integer(1, 3600),
      ringback: Type.Optional(toneSource),
    }),
  ),
  /**
   * Asks the leg's far end to call somebody else: `leg.refer_progress`. `inPlaceOf`: whoever talks on that leg, in its place (then `to`
   * is where that one is). With the ID of a far end's REFER it says who has asked for it (RFC 3892).
   */
  'leg.refer': ok(
    'main',
    Type.Object({
      legId: id,
      referId: id,
      to: sipUri,
      inPlaceOf: nullable(id),
    }),
  ),
  /** The caller of an incoming leg takes the place of a leg's far end, or is refused (481, 488); its own leg ends. `leg.replaced` if it is another node, which joins two calls. */
  'leg.replace': ok('main', Type.Object({ legId: id, byLegId: id })),
  /** `farEnd`: how the leg's other party ended. It is passed on as far as it means something to a phone. */
  'leg.hangup': ok(
    'main',
    Type.Object({
      legId: id,
      reason: endedReason,
      farEnd: Type.Optional(Type.Object({ sipCode: nullable(Type.Integer()), q850: nullable(Type.Integer()) })),
    }),
  ),
  /**
   * Moves a leg to another room; `mustExist`: failure `not_found` if that room is gone. `muted`: it comes in muted; into a conference it comes
   * as `leg.update` has said since it came into the room before. `payment`: the leg is a payment line. From its
   * first frame in the room, it has a capture pause of its own. When that has lasted `maxSeconds`, the leg ends.
   */
  'leg.move': leg(
    'main',
    Type.Object({
      legId: id,
      room: roomSpec,
      mustExist: boolean,
      muted: boolean,
      payment: Type.Optional(paymentPause),
    }),
  ),
  /**
   * Who hears whom. `heardBy`: only these legs of the room hear it (a whisper); `hears`: it hears only these; null: all.
   * Absent fields keep their value. A leg that nobody hears and that hears all is a monitor: it is not in any recording's mix
   * of the others.
   */
  'leg.update': leg(
    'main',
    Type.Object({
      legId: id,
      muted: Type.Optional(boolean),
      deaf: Type.Optional(boolean),
      heardBy: hearing,
      hears: hearing,
      /** Applies to the leg itself, wherever it goes; absent fields keep their value. */
      sound: Type.Optional(legSound),
    }),
  ),
  /** On hold: the leg neither hears the room nor is heard, and hears `sources` in a loop; a SIP peer gets `sendonly`. */
  'leg.hold': leg('main', Type.Object({ legId: id, held: boolean, sources: playSources })),
  /** Listens to what the party says until `leg.stop_listen`; a second one replaces the first. */
  'leg.listen': ok('leg', Type.Object({ legId: id, listen: listenSpec })),
  'leg.stop_listen': ok('leg', Type.Object({ legId: id })),
  'leg.read': command<{ legs: LegSnapshot[] }>()('main', Type.Object({ legIds: list(id, MAX_IDS) })),
  /**
   * Plays to this leg alone, in sequence; replaces what is playing, or with `append` waits behind it. `hangupAfter`: the leg
   * ends with the last one. Each accepted playback ends in one `play.finished`. One whose first sound takes more than three
   * seconds to make is accepted by then, and fails later.
   */
  'leg.play': ok(
    'leg',
    Type.Object({
      legId: id,
      playId: text(200),
      sources: playSources,
      loop: boolean,
      hangupAfter: nullable(endedReason),
      append: Type.Optional(boolean),
      /** Ends as soon as somebody else is in the leg's room; for who is not alone it never begins. */
      whileAlone: Type.Optional(boolean),
    }),
  ),
  'leg.stop_play': ok('leg', Type.Object({ legId: id })),
  /**
   * Collects keys and, with `speech`, words. Plays `prompts`, falls silent at the first key or word, and ends by a terminator, a
   * length, a time-out or words: `leg.collected`. With `speech` it replaces `leg.listen`, and nothing listens after its end. No
   * time-out fires while somebody speaks or is being recognised. Only `leg.collected` reports the words; if `sensitive`, they are
   * in no transcript.
   */
  'leg.collect': ok(
    'leg',
    Type.Object({
      legId: id,
      collectId: text(200),
      prompts: playSources,
      maxDigits: integer(1, 1000),
      terminators: text(16),
      /** The keys that count here: it ends as soon as no further key could make another of them. Absent or empty: any keys. */
      options: Type.Optional(list(line(20), MAX_OPTIONS)),
      /**
       * Keys that the party has pressed since its last collection ended, alone in its room and heard by nobody: the first keys of this
       * one, whose prompts are then not played; or left for the next one. Absent, or with `playThrough`: forgotten.
       */
      ahead: Type.Optional(oneOf('take', 'keep')),
      /** Keys between the end of this collection and the next one may be a secret, and are treated so. */
      hidesAhead: Type.Optional(boolean),
      firstDigitTimeoutMs: integer(0, MAX_TIMER_MS),
      interDigitTimeoutMs: integer(0, MAX_TIMER_MS),
      /** The keys are a secret (a PIN): `leg.dtmf` masks them and streams do not see them. */
      sensitive: boolean,
      /** Words count too: the first utterance ends it. Absent: keys only. */
      speech: Type.Optional(nullable(listenSpec)),
      /** The prompts are heard to their end; keys and words until then do not count. Absent: the first key ends them. */
      playThrough: Type.Optional(boolean),
      /**
       * Capture of the leg's room from the moment when these keys end the collection, so that the first word after them is included.
       * `digits` null: from the beginning of the prompts, if they can be played.
       */
      agreement: Type.Optional(Type.Object({ digits: nullable(line(1000)), capture: roomCapture })),
    }),
  ),
  /**
   * Captures the headers of a leg's RTP packets for this time, discarding earlier ones; 0: stops. Failure `invalid` for a leg
   * without RTP.
   */
  'leg.trace_packets': ok('leg', Type.Object({ legId: id, seconds: integer(0, 180) })),
  /** `masked`: the room's capture is paused, so that these keys are shown to nobody. */
  'leg.send_dtmf': command<{ masked: boolean }>()(
    'leg',
    Type.Object({ legId: id, digits: text(1000), durationMs: integer(20, 10_000) }),
  ),
  'room.play': ok('room', Type.Object({ roomId: id, sources: playSources, loop: boolean })),
  /** Ends every leg in the room. */
  'room.close': ok('main', Type.Object({ roomId: id, reason: endedReason })),
  /** Failure `conflict` when paused already. */
  'capture.pause': command<CaptureState>()(
    'target',
    Type.Object({
      target,
      maxSeconds: pauseSeconds,
      reason: text(1000),
      maskDtmf: boolean,
      destinationLegId: nullable(id),
      request: requested,
    }),
  ),
  /** The payment line of a pause that has none, or whose line has gone. Failure `conflict` when not paused. */
  'capture.direct': command<CaptureState>()('target', Type.Object({ target, destinationLegId: id })),
  /** Failure `conflict` when not paused. */
  'capture.resume': command<CaptureState>()('target', Type.Object({ target, request: requested })),
  'stream.start': command<StreamSnapshot>()('starts', streamSpec),
  /** Flushes, sends `stop`, closes; replies with the last counters. */
  'stream.stop': command<StreamSnapshot>()('started', Type.Object({ streamId: id, request: requested })),
  'stream.read': command<{ streams: StreamSnapshot[] }>()('main', Type.Object({ streamIds: list(id, MAX_IDS) })),
  /**
   * Records a leg alone, or a room: a channel for everybody who is or comes there, and one for the product. A party of a call's
   * room stays on the recording when it is moved. It ends with the last of them. `messageMs`: it is the message of a leg, which begins when what is
   * played to the leg, or will be, has ended, and is no longer than this.
   */
  'recording.start': ok(
    'starts',
    Type.Object({
      recordingId: id,
      target,
      encrypted: Type.Optional(boolean),
      messageMs: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
  ),
  /**
   * Silence in every channel until `recording.resume`; the timeline continues. Failure `conflict` if it is already paused.
   */
  'recording.pause': ok('started', Type.Object({ recordingId: id })),
  'recording.resume': ok('started', Type.Object({ recordingId: id })),
  'recording.stop': ok('started', Type.Object({ recordingId: id })),
  /** Transcribes each party of the target, and the product: `transcript.segment`. Parties as for recordings. */
  'transcript.start': ok(
    'starts',
    Type.Object({
      transcriptId: id,
      target,
      language: nullable(line(35)),
      /**
       * Reported while it is said, by `transcript.words` instead of `transcript.segment`; not for the product's speech.
       */
      live: Type.Optional(boolean),
    }),
  ),
  /** Ends with `transcript.ready` once the last words are written. */
  'transcript.stop': ok('started', Type.Object({ transcriptId: id })),
  /** Judges a `sip.register` by H(username:realm:password), hex; media itself answers 403 to a wrong one. */
  'sip.register_check': verdict('main', Type.Object({ registerId: id, ha1: nullable(line(64)) })),
  /** Answers a `sip.register`. `contacts`: all that are registered now, with their remaining time. */
  'sip.register_reply': ok(
    'main',
    Type.Object({
      registerId: id,
      sipCode: integer(200, 699),
      contacts: list(Type.Object({ uri: sipUri, expiresS: integer(0, MAX_TIMER_MS / 1000) }), 100),
      /** With 423: the shortest time that is taken [s]. */
      minExpiresS: nullable(integer(1, 86_400)),
    }),
  ),
  /**
   * Phones that have registered, beside those of `sip.register_reply`: ways over UDP are kept open through NATs. `expiresS` 0: it is registered no
   * more, and its way, or the connection over which it has come, is kept open no longer.
   */
  'sip.keep_open': ok(
    'main',
    Type.Object({
      phones: list(
        Type.Object({
          uri: sipUri,
          ...{ transport, host, port: integer(1, 65_535) },
          expiresS: integer(0, MAX_TIMER_MS / 1000),
        }),
        MAX_KEPT_PHONES,
      ),
    }),
  ),
  /** Judges a `sip.ask` by H(username:realm:password), hex; media itself answers 403 to a wrong one. */
  'sip.ask_check': verdict('main', Type.Object({ askId: id, ha1: nullable(line(64)) })),
  /**
   * Answers a `sip.ask`. With 200 and a `state`, a SUBSCRIBE begins, continues or ends with that state. `about`: who and what, in control's
   * terms, for `sip.subscriptions`. `subscriptionId` of the reply: the subscription is running.
   */
  'sip.ask_reply': command<{ subscriptionId: string | null }>()(
    'main',
    Type.Object({
      askId: id,
      sipCode: integer(200, 699),
      about: nullable(line(300)),
      state: nullable(packageState),
    }),
  ),
  /** Sends a subscription its new state; `state` null: it ends. Failure `not_found` if it has ended. */
  'sip.notify': ok('main', Type.Object({ subscriptionId: id, state: nullable(packageState) })),
  /** All that run. */
  'sip.subscriptions': command<{ subscriptions: { subscriptionId: string; about: string }[] }>()(
    'main',
    Type.Object({}),
  ),
  /** Sends a text to a phone at its contact (RFC 3428); `sip.message_done` tells how it ended. */
  'sip.message': ok(
    'main',
    Type.Object({
      messageId: id,
      uri: sipUri,
      from: sipUri,
      via: phoneVia,
      route,
      text: text(1300),
    }),
  ),
  /** All far ends to maintain; those that are there already and unchanged continue as they are. */
  'connections.set': ok('main', Type.Object({ connections: list(connectionSpec, MAX_CONNECTIONS) })),
  /**
   * The networks of all connections and phones, as canonical CIDR blocks, whose capacity a flood of SIP from strangers must not take.
   * `strangers`: how callers from elsewhere are treated. `asked`: control decides. `challenged`: they need a password, and media itself
   * answers 401. `refused`: none can be admitted; a few are reported to control, and media answers the others 403.
   */
  'sources.set': ok(
    'main',
    Type.Object({ networks: list(line(50), MAX_NETWORKS), strangers: oneOf('asked', 'challenged', 'refused') }),
  ),
  /** SIP messages of a leg that runs, or has ended and is not done; null: none. */
  'sip.trace_read': command<{ trace: SipLegTrace | null }>()('main', Type.Object({ legId: id })),
  /** The traces of the next ended legs. `done`: IDs of traces that were stored, which are deleted. */
  'sip.trace_take': command<{ traces: SipLegTrace[] }>()('main', Type.Object({ done: list(id, MAX_IDS) })),
  /** Closes a browser's WebSocket; its leg, if it has one, ends. */
  'browser.close': ok('main', Type.Object({ browserId: id, code: integer(1000, 4999), reason: line(120) })),
  /** Refuses a browser that is connecting: its upgrade is answered with this HTTP status and JSON. */
  'browser.refuse': ok('main', Type.Object({ browserId: id, status: integer(400, 599), body: jsonObject })),
  /**
   * Admits a connecting browser. A `phone` can be dialled from now on. A `call` has one incoming leg, `legId`, which is answered by
   * `leg.answer`, like any other. `accountSid`: the organisation in `start`. `phone`: its member; it resumes the running call of the
   * same device's earlier connection, or one that its agent has lost.
   */
  'browser.admit': ok(
    'main',
    Type.Object({
      browserId: id,
      as: oneOf('phone', 'call'),
      legId: nullable(id),
      accountSid: line(200),
      phone: nullable(phoneIdentity),
    }),
  ),
  /** A message for the page, sent as it is: `{event: "control", …}`. `node`: the other node that it is connected to, as in `browserTarget`. */
  'browser.send': ok('main', Type.Object({ browserId: id, node: Type.Optional(line(300)), body: jsonObject })),
  /**
   * Speaks a short text to nobody. `affinity`: in whose turn. `samples`: 16-bit PCM, little-endian, mono at 8 kHz, in base64. `capacity`: too
   * much is spoken, or no engine can.
   */
  'speech.speak': command<{ samples: string }>()(
    'main',
    Type.Object({ affinity: text(200), text: text(300), voice: line(100), language: nullable(line(40)) }),
  ),
  'media.snapshot': command<MediaSnapshot>()('main', Type.Object({})),
  'media.stats': command<MediaStats>()('main', Type.Object({})),
}

/** The commands that kinds of sinks bring with their folders: each adds its own by `declare module`. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled from elsewhere.
export interface BroughtCommands {}

export type OwnCommandName = keyof typeof COMMANDS
type Declared = typeof COMMANDS & BroughtCommands
export type CommandName = keyof Declared
export type Request<N extends CommandName> = Static<Declared[N]['request']>
export type Reply<N extends CommandName> = NonNullable<Declared[N]['reply']>
/** Request and reply side by side. */
export type Commands = { [N in CommandName]: { request: Request<N>; reply: Reply<N> } }

/** The commands of these homes. */
export type CommandOf<H extends CommandHome> = {
  [N in CommandName]: Declared[N]['home'] extends H ? N : never
}[CommandName]

/**
 * An expected failure of a command. `unavailable`: it was not sent, or not accepted, and nothing has happened. `unanswered`: it was
 * sent, and nobody knows whether it was carried out; the next snapshot tells. `ended`: what it would start has ended before.
 */
export interface Failure {
  failure: 'not_found' | 'conflict' | 'ended' | 'invalid' | 'capacity' | 'unavailable' | 'unanswered'
  message: string
}

export const isFailure = (value: object): value is Failure => 'failure' in value

/** What a start meets that is repeated: it runs already, or has ended. */
export const isStarted = ({ failure }: Failure): boolean => failure === 'conflict' || failure === 'ended'

/** Whether the outcome of a command is open: it may have been carried out, or may succeed if repeated. */
export const isUndecided = (value: object): value is Failure & { failure: 'unavailable' | 'unanswered' } =>
  isFailure(value) && (value.failure === 'unavailable' || value.failure === 'unanswered')

/** The request was refused: it has not happened, and will not. */
export const isRefused = (value: object): boolean => isFailure(value) && value.failure !== 'unanswered'
