import Type, { type Static } from 'typebox'
import { cutTo } from '../../sip/message/cut.ts'
import { parseUri } from '../../sip/message/uri.ts'
import type { AddressPolicy } from './addresses.ts'
import { callerIdentity } from './identity.ts'
import { boolean, id, integer, jsonObject, line, list, MAX_TIMER_MS, nullable, oneOf, record, text } from './schema.ts'

export { cutTo }

/** The parts of commands. Each is a schema that media checks, and the type that both sides use. */

const MAX_MEMBERS = 10_000
/** That begin with a room. */
const MAX_ROOM_STREAMS = 100
/** Characters of a text that is spoken. */
const MAX_SPOKEN = 10_000

export const host = Type.String({ pattern: /^[A-Za-z0-9._:-]{1,253}$/ })
const language = line(35)

export const sipUri = Type.Refine(Type.String({ maxLength: 1000 }), value => {
  const uri = parseUri(value)
  return 'scheme' in uri && (uri.scheme === 'sip' || uri.scheme === 'sips')
})

/** Why a leg ended; the API's `ended_reason`. */
export const endedReason = oneOf(
  'caller_hangup',
  'agent_hangup',
  'api_hangup',
  'assistant_ended',
  // It was played to its end.
  'announcement_ended',
  'transfer_completed',
  // No person had answered, and whoever called wanted none other; the second: a message was left there.
  'machine_detected',
  'message_left',
  // One of several devices that rang at once: another answered first.
  'answered_elsewhere',
  'no_answer',
  'busy',
  'rejected',
  'not_found',
  // The far end named others to call in its place (3xx), and none of them may be called.
  'redirect_refused',
  'rtp_timeout',
  'session_expired',
  'max_duration',
  'codec_mismatch',
  'capacity',
  'trunk_error',
  'media_failed',
  // Its node has died, or was cut off, and others have ended it.
  'node_lost',
  // Its node was stopped, and the time to finish was over.
  'shutdown',
  // The database could not be written when the call came.
  'store_unavailable',
  'internal_error',
)
export type EndedReason = Static<typeof endedReason>

/** As SDP names them; of linear samples with the rate. The API's names, too. */
export const CODEC_NAMES = ['PCMU', 'PCMA', 'G722', 'opus', 'L16/16000', 'L16/8000'] as const
export type CodecName = (typeof CODEC_NAMES)[number]
export const codecs = list(oneOf(...CODEC_NAMES), CODEC_NAMES.length)

/**
 * How keys go over a leg, both ways. `auto`: RFC 4733 where SDP agreed on it, else as tones, and INFO is understood; the others: that
 * way alone.
 */
export const dtmfMode = oneOf('auto', 'rfc4733', 'inband', 'info')
export type DtmfMode = Static<typeof dtmfMode>

/**
 * Whether a leg's packets are encrypted. `off`: never; `required`: always, otherwise no call; `optional`: if the far end supports it.
 */
export const srtpPolicy = oneOf('off', 'optional', 'required', 'dtls')
export type SrtpPolicy = Static<typeof srtpPolicy>

export const transport = oneOf('udp', 'tcp', 'tls', 'ws', 'wss')
export type SipTransport = Static<typeof transport>

/** Null: not said, and found by DNS where the host is a name (RFC 3263 §4); else UDP, and 5060, over TLS 5061. */
const via = Type.Object({
  ...{ host, port: nullable(integer(1, 65_535)), transport: nullable(transport) },
  /** As of a phone. */
  node: Type.Optional(line(300)),
})

/**
 * Next hop to a phone: the source of its registration. `node`: host and port of the node that it has registered with, whose connection leads
 * there; absent: this one.
 */
export const phoneVia = Type.Object({
  ...{ host, port: integer(1, 65_535), transport },
  node: Type.Optional(line(300)),
})
export type PhoneVia = Static<typeof phoneVia>

/** The full state, sent to a subscriber each time (RFC 3842, RFC 4235). */
export const packageState = Type.Union([
  Type.Object({
    package: Type.Literal('message-summary'),
    waiting: integer(0, 1_000_000),
    heard: integer(0, 1_000_000),
  }),
  Type.Object({
    package: Type.Literal('dialog'),
    dialogs: list(
      Type.Object({
        id: line(100),
        direction: oneOf('initiator', 'recipient'),
        state: oneOf('trying', 'early', 'confirmed'),
      }),
      20,
    ),
  }),
])
export type PackageState = Static<typeof packageState>

export const credentials = nullable(Type.Object({ username: line(200), password: line(200) }))

/**
 * Reliable provisional responses (RFC 3262): never, so a caller that requires them is refused; for callers that require them; for all
 * that support them.
 */
export const reliability = oneOf('off', 'when_required', 'when_supported')
export type Reliability = Static<typeof reliability>

/** `sip`: what a SIP leg is dialled with. */
/** Proxies on the way to a far end, as Route values, the nearest first. Absent: none. */
export const route = Type.Optional(list(line(500), 5))

export const dialTarget = Type.Object({
  /** Request-URI, for example `sip:200@192.0.2.7:5070`. */
  uri: sipUri,
  from: Type.Object({ uri: sipUri }),
  /** The far end's hosts in the order to try them; none: the first of the route, else the URI's own. */
  hosts: list(via, 20),
  route,
  /** Final statuses after which the next host or target is tried, besides no answer and no connection. Absent: 503. */
  tryNextOn: Type.Optional(list(integer(300, 699), 100)),
  /** It has not answered its last OPTIONS: it is not waited for as long as one that may only be slow. */
  isSilent: Type.Optional(boolean),
  /** Go where a 3xx says. Absent: it is a refusal like others. */
  followRedirects: Type.Optional(boolean),
  /** Over which connection this is; `leg.routed` tells which one took the call on. */
  connectionId: Type.Optional(id),
  /** Calls that the connection may begin per second: no more INVITEs leave. Absent: no limit. */
  callsPerSecond: Type.Optional(integer(1, 1000)),
  /** Whoever named it may lead us only to public addresses, and to the private networks that the operator allows. */
  publicOnly: boolean,
  credentials,
  /** Caller identity besides From. Absent: none. */
  identity: Type.Optional(callerIdentity),
  codecs,
  /** Absent: `auto`. */
  dtmf: Type.Optional(dtmfMode),
  /** Absent: `optional` over TLS, which keeps the keys secret, else `off`. */
  srtp: Type.Optional(srtpPolicy),
  /** The dialog that the call replaces at the far end (RFC 3891), and who requests it (RFC 3892). Absent: none. */
  replaces: Type.Optional(line(1000)),
  referredBy: Type.Optional(line(1000)),
  /** User-to-user information for who is called (RFC 7433). Absent: the caller's, if it has any. */
  userToUser: Type.Optional(line(500)),
  /** Absent: its provisional responses are acknowledged where it wants that. */
  reliable: Type.Optional(reliability),
})
export type DialTarget = Static<typeof dialTarget>

/** A softphone: whose it is, and what stays the same when it comes back. */
export const phoneIdentity = Type.Object({ agent: line(300), device: line(200) })
export type PhoneIdentity = Static<typeof phoneIdentity>

/** `browser`: the softphone or page that is connected under this ID (`browser.connected`); it rings there. */
export const browserTarget = Type.Object({
  browserId: id,
  /** The other node that it is connected to: the `HOST:PORT` of its call WebSocket. Absent: this one. */
  node: Type.Optional(line(300)),
  /** What the page shows while it rings: the caller and the queue; at most 4 KiB. */
  info: Type.Optional(jsonObject),
})
export type BrowserTarget = Static<typeof browserTarget>

/** The target of a capture pause, a stream or a recording: one party's leg, or a whole room. */
export const target = Type.Union([Type.Object({ legId: id }), Type.Object({ roomId: id })])
export type Target = Static<typeof target>

const addresses = Type.Unsafe<AddressPolicy>(Type.Object({ publicOnly: boolean, allowed: list(line(100), 1000) }))

const tracks = oneOf('inbound', 'outbound', 'both')
export type StreamTracks = Static<typeof tracks>
const format = oneOf('mulaw_8000', 'l16_8000', 'l16_16000')
export type StreamFormat = Static<typeof format>

const mode = oneOf('fork', 'bidirectional')
export type StreamMode = Static<typeof mode>

/** The API request behind a command, which the event that tells of it gives back. */
export const requested = Type.Optional(Type.Object({ requestId: text(200), idempotencyKey: nullable(text(1000)) }))

export const streamSpec = Type.Object({
  streamId: id,
  target,
  /** Absent: `fork`, which hears only. `bidirectional`: what the receiver says is played to the target. */
  mode: Type.Optional(mode),
  url: text(4096),
  tracks,
  format,
  customParameters: record(text(10_000), 1000),
  /** `start.accountSid`: the organisation's ID. */
  accountSid: text(200),
  /** `start.callSid`. */
  callSid: text(200),
  /** `whsec_…`, signs the upgrade request (Standard Webhooks). */
  signingSecret: line(1000),
  addresses,
  request: requested,
})
export type StreamSpec = Static<typeof streamSpec>

/** How it is found out whether a person or a machine has answered a leg. Times count from its answer, in frames that came [ms]. */
export const answeringSpec = Type.Object({
  legId: id,
  /** The end of a machine's greeting is reported too. */
  messageEnd: boolean,
  /** The name of a party that may be a machine, too. */
  messageEndOfUnknown: Type.Optional(boolean),
  /** So long without a voice: nobody knows. */
  initialSilenceMs: integer(500, 20_000),
  /** Longer speech without a pause of `afterGreetingSilenceMs` is a machine. */
  greetingMs: integer(500, 10_000),
  /** This much silence after a shorter greeting is a person. */
  afterGreetingSilenceMs: integer(200, 5000),
  /** More words in a row are a machine. */
  maxWords: integer(1, 50),
  /** Shorter sounds are no words. */
  minWordMs: integer(20, 1000),
  /** Silence between two words. */
  betweenWordsMs: integer(20, 1000),
  /** Undecided by then, the result stays unknown. */
  totalMs: integer(1000, 60_000),
  /** Silence that ends a machine's greeting where no beep does. */
  messageSilenceMs: integer(500, 10_000),
  /** A greeting without an end is given up then. */
  messageMs: integer(1000, 300_000),
})
export type AnsweringSpec = Static<typeof answeringSpec>

/** Capture of a room from its first sample on. */
export const roomCapture = Type.Object({
  recordingId: nullable(id),
  /** The recording's file is encrypted. */
  encrypted: Type.Optional(boolean),
  transcript: nullable(Type.Object({ transcriptId: id, language: nullable(language) })),
  streams: Type.Optional(list(streamSpec, MAX_ROOM_STREAMS)),
  /** For the leg that it names, from its answer on. Absent: no detection. */
  answering: Type.Optional(answeringSpec),
})
export type RoomCapture = Static<typeof roomCapture>

/** Processing of a party's audio before others in its room hear it, and speech events. Null: as the room says, else none. */
export const legSound = Type.Object({
  gainDb: Type.Optional(nullable(Type.Number({ minimum: -24, maximum: 24 }))),
  autoGain: Type.Optional(nullable(boolean)),
  noiseSuppression: Type.Optional(nullable(boolean)),
  /** `leg.speaking`, `room.active_speaker` of a conference, and the level in the leg's snapshot. */
  speechEvents: Type.Optional(nullable(boolean)),
})
export type LegSound = Static<typeof legSound>

/** A room of the media engine: its members hear each other. Created by the first leg that enters, gone with the last. */
export const roomSpec = Type.Object({
  /** The call's ID; for a conference the session's call ID. */
  roomId: id,
  /** `call`: all hear each other. `conference`: the same with chimes and without key relay. `echo`: each hears itself. */
  kind: oneOf('call', 'conference', 'echo'),
  /** Tell the members by a chime that somebody came or went. */
  chimes: boolean,
  /** A single member hears music on hold. */
  musicWhenAlone: boolean,
  maxMembers: integer(1, MAX_MEMBERS),
  /**
   * Default for legs in it without settings of their own. The first leg that brings one sets it for the room. Absent:
   * none.
   */
  sound: Type.Optional(legSound),
  /** Begins with the room, from its first sample on. Absent: nothing does. */
  capture: Type.Optional(roomCapture),
  /** Whoever enters it is about to be asked for a secret: its keys are one from now on, also before the question. */
  hidesKeys: Type.Optional(boolean),
})
export type RoomSpec = Static<typeof roomSpec>

/** `country`: as it sounds there, ISO 3166-1; absent: by ITU-T E.180. */
export const toneSource = Type.Object({
  kind: Type.Literal('tone'),
  name: oneOf('ringback', 'busy', 'beep'),
  country: Type.Optional(Type.String({ pattern: '^[A-Z]{2}$' })),
})
export type ToneSource = Static<typeof toneSource>

/** Something that can be heard. */
const playSource = Type.Union([
  /**
   * A recorded phrase of the product: the name of a file in `fixtures/prompts`. `language`: BCP 47; absent, or one in which there is no
   * such recording: English.
   */
  Type.Object({ kind: Type.Literal('prompt'), name: line(200), language: Type.Optional(language) }),
  /** A WAV file, mono or more, any rate of `codecs/wav.ts`. */
  Type.Object({ kind: Type.Literal('file'), path: line(4096) }),
  Type.Object({ kind: Type.Literal('music') }),
  toneSource,
  Type.Object({ kind: Type.Literal('silence'), ms: integer(0, MAX_TIMER_MS) }),
  /**
   * Text to speech, sentence by sentence. `voice`: a name of the engine's; null or unknown: its default. `language`: BCP
   * 47; null: English. `speed`: 1 or absent: normal; 2: twice as fast. `recorded`: prompts with the same words, in
   * sequence, for when no engine speaks it.
   */
  Type.Object({
    kind: Type.Literal('speech'),
    text: text(MAX_SPOKEN),
    voice: nullable(line(100)),
    language: nullable(language),
    speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2 })),
    recorded: Type.Optional(list(line(200), 10)),
  }),
])
export type PlaySource = Static<typeof playSource>
export const playSources = list(playSource, 100)

const bargeIn = Type.Object({
  /** Voice of this length declares it [ms]. */
  afterMs: integer(20, 5000),
  /**
   * Interrupted playback resumes if the utterance turns out to be no words, or one of `backChannels` (`mm-hm`, `yes`).
   */
  resume: boolean,
  backChannels: list(line(100), 200),
})
export type BargeIn = Static<typeof bargeIn>

/** How a leg is listened to: voice activity and words. Nothing is heard in a card-payment pause. */
export const listenSpec = Type.Object({
  listenId: text(200),
  /** BCP 47; null: English. */
  language: nullable(language),
  /** Silence that ends an utterance [ms]. */
  endOfSpeechMs: integer(100, 10_000),
  /** Longer utterances are cut here and delivered [ms]. */
  maxUtteranceMs: integer(1000, 120_000),
  /** Voice while something is played to the leg silences it within one frame; null: it plays on. */
  bargeIn: nullable(bargeIn),
})
export type ListenSpec = Static<typeof listenSpec>

export const pauseSeconds = integer(1, MAX_TIMER_MS / 1000)

/** The capture pause that a payment line brings with it. */
export const paymentPause = Type.Object({ maxSeconds: pauseSeconds, reason: text(1000), maskDtmf: boolean })
export type PaymentPause = Static<typeof paymentPause>

/** Who hears whom: legs of the room; null: all. */
export const hearing = Type.Optional(nullable(list(id, MAX_MEMBERS)))

/** A far end that media keeps up with until it is not in `connections.set` any more. */
export const connectionSpec = Type.Object({
  connectionId: id,
  /** `register`: there, as `from`. `ping`: asks it by OPTIONS whether it is there. */
  keep: oneOf('register', 'ping'),
  /** Request-URI. */
  uri: sipUri,
  /** From, and the address-of-record that is registered. */
  from: sipUri,
  via,
  /** Further hosts of it, asked where that one is silent, or says 503. */
  others: list(via, 20),
  credentials,
  /**
   * User part of the Contact that a registration leaves. Nobody else can know it, so that a call to it is one of this
   * connection (`leg.incoming.connectionId`).
   */
  contactUser: line(100),
})
export type ConnectionSpec = Static<typeof connectionSpec>
