/**
 * What the control process and the media process say to each other: the only file of `media/` that control may import.
 *
 * The transport is a Unix socket; a message is a 4-byte big-endian length and that many bytes of UTF-8 JSON. Both sides begin
 * with `hello`. Control sends requests and acknowledgements, media sends replies and events. Events are numbered; media keeps
 * each (bounded, counted) until control has acknowledged it, and sends what is not acknowledged again after a reconnect.
 * A reply is sent after every event that was raised before it.
 */
import ipaddr from 'ipaddr.js'

export const PROTOCOL_VERSION = 2

/** A longer message closes the channel [bytes]. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024

// ---------------------------------------------------------------------------------------------------- shapes

/** Why a leg ended; the API's `ended_reason` (api-additions.md, "Calls"). */
export type EndedReason =
  | 'caller_hangup'
  | 'agent_hangup'
  | 'api_hangup'
  | 'assistant_ended'
  | 'transfer_completed'
  | 'no_answer'
  | 'busy'
  | 'rejected'
  | 'not_found'
  | 'rtp_timeout'
  | 'session_expired'
  | 'max_duration'
  | 'codec_mismatch'
  | 'capacity'
  | 'trunk_error'
  | 'media_failed'
  | 'internal_error'

/** One end of a SIP request, as the wire had it. */
export interface SipParty {
  uri: string
  user: string
  host: string
  displayName: string | null
}

export type CodecName = 'PCMU' | 'PCMA'
/**
 * How keys go over a leg, both ways. `auto`: RFC 4733 where SDP agreed on it, else as tones, and INFO is understood; the others: that
 * way alone.
 */
export type DtmfMode = 'auto' | 'rfc4733' | 'inband' | 'info'
export type SipTransport = 'udp' | 'tcp' | 'tls'

/** `sip`: what a SIP leg is dialled with. */
export interface DialTarget {
  /** Request-URI, for example `sip:200@192.0.2.7:5070`. */
  uri: string
  from: { uri: string; displayName: string | null }
  /** Next hop when it is not the URI's own host. */
  via: { host: string; port: number; transport: SipTransport } | null
  credentials: { username: string; password: string } | null
  codecs: CodecName[]
  /** Absent: `auto`. */
  dtmf?: DtmfMode
}

/** `browser`: the softphone or page that is connected under this ID (`browser.connected`); it rings there. */
export interface BrowserTarget {
  browserId: string
  /** What the page shows while it rings: who calls, for which queue; at most 4 KiB. */
  info?: Record<string, unknown>
}

/** A room of the media engine: who is in it hears each other. Created by the first leg that enters, gone with the last. */
export interface RoomSpec {
  /** The call's ID; for a conference the session's call ID. */
  roomId: string
  /** `call`: all hear each other. `conference`: the same with chimes and without key relay. `echo`: each hears itself. */
  kind: 'call' | 'conference' | 'echo'
  /** Tell the members by a chime that somebody came or went. */
  chimes: boolean
  /** A member who is alone hears music on hold. */
  musicWhenAlone: boolean
  maxMembers: number
}

/** Something that can be heard. */
export type PlaySource =
  /** A recorded phrase of the product: the name of a file in `fixtures/prompts`. */
  | { kind: 'prompt'; name: string }
  /** A WAV file, mono or more, any rate of `codecs/wav.ts`. */
  | { kind: 'file'; path: string }
  | { kind: 'music' }
  | { kind: 'tone'; name: 'ringback' | 'busy' | 'beep' }
  | { kind: 'silence'; ms: number }
  /**
   * Text to speech, sentence by sentence. `voice`: a name of the engine's; null, or one that it does not have: its default.
   * `language`: BCP 47, null: English.
   */
  | { kind: 'speech'; text: string; voice: string | null; language: string | null }

/** How a leg is listened to: voice activity, and what was said. Nothing is heard in a card-payment pause. */
export interface ListenSpec {
  listenId: string
  /** BCP 47; null: English. */
  language: string | null
  /** Silence that ends what is said [ms]. */
  endOfSpeechMs: number
  /** What is longer is cut here and given out as it is [ms]. */
  maxUtteranceMs: number
  /** Voice while something is played to the leg silences it within one frame; null: it plays on. */
  bargeIn: BargeIn | null
}

export interface BargeIn {
  /** Voice of this length declares it [ms]. */
  afterMs: number
  /** What was played goes on when the utterance turns out to be no words, or one of `backChannels` (`mm-hm`, `yes`). */
  resume: boolean
  backChannels: string[]
}

/** What was said, and when its parts were ready. */
export interface Utterance {
  text: string
  /** Of the first and last voice, ISO-8601 UTC. */
  startedAt: string
  endedAt: string
  /** From the last voice until the silence was long enough [ms]. */
  endpointMs: number
  /** What the transcription took after that [ms]. */
  transcribeMs: number
  /** It silenced what was being played. */
  bargedIn: boolean
  /** What had been silenced goes on: a false alarm, nothing to react to. */
  resumed: boolean
  /** Which engine understood it: `moonshine`, or the remote model's name. */
  engine: string
}

export interface Quality {
  /** `L16`: linear, of a browser. */
  codec: CodecName | 'L16' | null
  packetsReceived: number
  packetsSent: number
  packetsLost: number
  /** Lost share of the expected packets [%]. */
  lossPct: number
  /** Interarrival jitter, RFC 3550 §6.4.1 [ms]. */
  jitterMs: number
  /** From RTCP; null before the first report with a round trip in it [ms]. */
  roundTripMs: number | null
  /** Estimate by the E-model, 1 to 4.5. */
  mos: number
}

/** What a leg is connected by: SIP and RTP, or the call WebSocket. */
export type LegKind = 'sip' | 'browser'

export interface LegSnapshot {
  legId: string
  kind: LegKind
  direction: 'inbound' | 'outbound'
  /** `incoming`: waiting for `leg.answer` or `leg.reject`. */
  state: 'incoming' | 'dialing' | 'ringing' | 'answered' | 'ended'
  to: SipParty
  from: SipParty
  roomId: string | null
  muted: boolean
  deaf: boolean
  /** The far end has put us on hold. */
  held: boolean
  /** We have put it on hold. */
  onHold: boolean
  collecting: boolean
  playing: boolean
  quality: Quality
}

export interface CaptureState {
  paused: boolean
  reason: string | null
  /** ISO-8601 UTC. */
  pausedAt: string | null
  resumesAt: string | null
  destinationLegId: string | null
  maskDtmf: boolean
}

/** What a capture pause, a stream or a recording is attached to: one party's leg, or all of a room. */
export type Target = { legId: string } | { roomId: string }

export type StreamTracks = 'inbound' | 'outbound' | 'both'
export type StreamFormat = 'mulaw_8000' | 'l16_8000' | 'l16_16000'
export type StreamStatus = 'connecting' | 'streaming' | 'reconnecting' | 'stopped' | 'failed'
export type StreamEndedReason = 'call_ended' | 'stopped' | 'receiver_closed' | 'connect_failed'

export interface StreamSnapshot {
  streamId: string
  status: StreamStatus
  framesSent: number
  framesDropped: number
  endedReason: StreamEndedReason | null
}

/** Which addresses may be dialled for a customer's URL. */
export interface AddressPolicy {
  /** Refuse private, loopback, link-local and other special addresses, but for `allowed`. */
  publicOnly: boolean
  /** CIDR blocks that an operator lets through. */
  allowed: string[]
}

export interface StreamSpec {
  streamId: string
  target: Target
  url: string
  tracks: StreamTracks
  format: StreamFormat
  customParameters: Record<string, string>
  /** `start.accountSid`: the organisation's ID. */
  accountSid: string
  /** `start.callSid`. */
  callSid: string
  /** `whsec_…`, signs the upgrade request (Standard Webhooks). */
  signingSecret: string
  addresses: AddressPolicy
}

export interface RecordingInfo {
  /** The recorded call's ID. */
  recordingId: string
  /** File name inside the data directory's `recordings/`. */
  file: string
  sampleRateHz: number
  durationMs: number
  sizeBytes: number
  /** One channel for each participant, in the file's order. */
  channels: { legId: string }[]
  /** Stretches of silence put there by a capture pause. */
  segments: { fromMs: number; toMs: number; reason: string }[]
}

/** A far end that media keeps up with until it is not in `connections.set` any more. */
export interface ConnectionSpec {
  connectionId: string
  /** `register`: there, as `from`. `ping`: asks it by OPTIONS whether it is there. */
  keep: 'register' | 'ping'
  /** Request-URI. */
  uri: string
  /** From, and the address-of-record that is registered. */
  from: string
  via: { host: string; port: number; transport: SipTransport }
  credentials: { username: string; password: string } | null
  /**
   * User part of the Contact that a registration leaves. Nobody else can know it, so that a call to it is one of this
   * connection (`leg.incoming.connectionId`).
   */
  contactUser: string
}

/** What is known of a far end; `sipCode`: what it said, or 408 and 503 for what it did not. */
export interface ConnectionReport {
  connectionId: string
  status: 'registered' | 'reachable' | 'unreachable'
  sipCode: number | null
}

export interface MediaSnapshot {
  /** Events up to this number are already contained in the snapshot. */
  seq: number
  draining: boolean
  legs: LegSnapshot[]
  rooms: { roomId: string; legIds: string[]; capture: CaptureState }[]
  captures: { target: Target; state: CaptureState }[]
  streams: StreamSnapshot[]
  recordings: { recordingId: string }[]
  /** Pages that are connected. */
  browserIds: string[]
}

/** Counters since the media process started, by Prometheus-style name, and gauges. */
export interface MediaStats {
  counters: Record<string, number>
  gauges: Record<string, number>
}

// ---------------------------------------------------------------------------------------------------- commands

type Ok = Record<string, never>

/** One entry per command: request and reply side by side. */
export interface Commands {
  /** Answers an incoming leg (200 OK) into a room of its own or one that exists. `affinity` places all that may meet on one thread. */
  'leg.answer': {
    request: { legId: string; room: RoomSpec; affinity: string; codecs: CodecName[]; dtmf?: DtmfMode }
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
  /** Moves a leg to another room; `mustExist`: failure `not_found` when that room is gone. */
  'leg.move': { request: { legId: string; room: RoomSpec; mustExist: boolean; muted: boolean }; reply: LegSnapshot }
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
  'recording.start': { request: { recordingId: string; target: Target }; reply: Ok }
  'recording.stop': { request: { recordingId: string }; reply: Ok }
  /** Writes down what each party of the target says: `transcript.segment`. */
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
  /** Closes a browser's WebSocket; its leg, if it has one, ends. */
  'browser.close': { request: { browserId: string; code: number; reason: string }; reply: Ok }
  /** Refuses a browser that is connecting: its upgrade is answered with this HTTP status and JSON. */
  'browser.refuse': { request: { browserId: string; status: number; body: Record<string, unknown> }; reply: Ok }
  /**
   * Admits a browser that is connecting. A `phone` can be dialled from now on. A `call` has one leg, `legId`, which is incoming
   * from now on: it is answered by `leg.answer`, like any other. `accountSid`: what `start` says of the organisation.
   */
  'browser.admit': {
    request: { browserId: string; as: 'phone' | 'call'; legId: string | null; accountSid: string }
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

/** An expected failure of a command. `unavailable`: no media process, deadline passed, or draining. */
export interface Failure {
  failure: 'not_found' | 'conflict' | 'invalid' | 'capacity' | 'unavailable'
  message: string
}

export const isFailure = (value: object): value is Failure => 'failure' in value

// ---------------------------------------------------------------------------------------------------- events

export interface Events {
  'leg.incoming': {
    legId: string
    to: SipParty
    from: SipParty
    source: { transport: SipTransport; host: string; port: number }
    /** The registration whose contact was called: the To header, not the Request-URI, says which number. */
    connectionId?: string
    /** Call-ID header, for the operator's logs. */
    sipCallId: string
    /** Whose account a digest for our realm names, and with which hash; nobody has judged it. Null: there is none. */
    digest: { username: string; algorithm: 'MD5' | 'SHA-256' } | null
  }
  'leg.ringing': { legId: string }
  'leg.answered': { legId: string; codec: CodecName | 'L16'; roomId: string }
  'leg.joined': { legId: string; roomId: string; muted: boolean }
  'leg.left': { legId: string; roomId: string }
  /** The far end has put us on hold, or taken us back. */
  'leg.held': { legId: string }
  'leg.resumed': { legId: string }
  /** `key` is `*` and `masked` true during a card-payment pause that masks keys. */
  'leg.dtmf': { legId: string; key: string; masked: boolean; source: 'rfc4733' | 'inband' | 'info' }
  'leg.collected': {
    legId: string
    collectId: string
    digits: string
    ended: 'terminator' | 'length' | 'timeout' | 'speech'
    /** What was said, when words ended it; null for a secret entry that was typed. */
    utterance: Utterance | null
  }
  /**
   * Voice activity was declared. `bargedIn`: what was being played is silent since that frame. One `leg.utterance` follows, without
   * words when a card-payment pause began, too much waits, or no engine could make it out; none when the listening ends first.
   */
  'leg.speech_started': { legId: string; listenId: string; bargedIn: boolean }
  'leg.utterance': { legId: string; listenId: string; utterance: Utterance }
  'leg.ended': { legId: string; reason: EndedReason; sipCode: number | null; quality: Quality }
  /** The first frame of it is on its way: the first sound of a turn. */
  'play.started': { legId: string; playId: string }
  /** `interrupted`: by a key, a voice or another play. `heardMs`: how much of it was sent. */
  'play.finished': {
    legId: string
    playId: string
    ended: 'played' | 'interrupted' | 'failed'
    heardMs: number
  }
  'room.opened': { roomId: string }
  'room.closed': { roomId: string }
  /** A pause began or ended, by a command or by its own deadline. */
  'capture.changed': { target: Target; state: CaptureState; by: 'command' | 'deadline' | 'ended' }
  'stream.changed': StreamSnapshot
  'recording.ready': RecordingInfo
  'recording.failed': { recordingId: string; message: string }
  /** Of the leg's own words, from where the recording of the same target began, else from `transcript.start`. */
  'transcript.segment': { transcriptId: string; legId: string; text: string; startMs: number; endMs: number }
  'transcript.ready': { transcriptId: string; durationMs: number }
  /**
   * A REGISTER with a digest answer to a fresh challenge of ours (without one, media challenges and tells nothing). Control
   * looks up who that is, has the answer judged by `sip.register_check`, stores the contacts and answers by
   * `sip.register_reply`, all within 4 s, else 503.
   */
  'sip.register': {
    registerId: string
    /** The address-of-record's user and host. */
    user: string
    host: string
    /** Contacts with the time each asks for; `*` with 0 removes all. */
    contacts: { uri: string; expiresS: number }[]
    /** Who the digest says it is, and with which hash (RFC 7616 §3.4). */
    username: string
    realm: string
    algorithm: 'MD5' | 'SHA-256'
    source: { transport: SipTransport; host: string; port: number }
    callId: string
    cSeq: number
  }
  /** Told when it changes, and once after `connections.set` has brought a far end. */
  'connection.changed': ConnectionReport
  /**
   * A page asks for the call WebSocket (`use`: by its path) with a token; its upgrade waits for `browser.admit` or
   * `browser.refuse`, 4 s, else 503. `host`: its address.
   */
  'browser.connecting': {
    browserId: string
    use: 'call' | 'phone'
    token: string
    origin: string | null
    host: string
  }
  'browser.connected': { browserId: string }
  /** What the page asks of control: `{event: "control", …}`, at most 4 KiB. */
  'browser.message': { browserId: string; body: Record<string, unknown> }
  'browser.closed': { browserId: string }
}

export type EventName = keyof Events
/** An event of the media engine: `{ name, at (ISO-8601 UTC), body }`. */
export type MediaEvent = { [N in EventName]: { name: N; at: string; body: Events[N] } }[EventName]

// ---------------------------------------------------------------------------------------------------- messages

export type ToMedia =
  /** `bootId` and `lastSeq`: what control has committed of the media process it last spoke to. */
  | { type: 'hello'; version: number; bootId: string | null; lastSeq: number }
  | { type: 'request'; id: number; name: CommandName; body: unknown }
  | { type: 'ack'; seq: number }

export type FromMedia =
  /** `bootId` differs for each start of the media process; `eventsLost` counts what the bounded event buffer had to drop. */
  | { type: 'hello'; version: number; bootId: string; eventsLost: number }
  | { type: 'reply'; id: number; body: unknown }
  | { type: 'event'; seq: number; event: MediaEvent }

const LENGTH_BYTES = 4

/** One message as bytes of the channel. */
export function encodeMessage(message: ToMedia | FromMedia): Buffer {
  const json = Buffer.from(JSON.stringify(message), 'utf8')
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + json.length)
  framed.writeUInt32BE(json.length, 0)
  json.copy(framed, LENGTH_BYTES)
  return framed
}

/** Cuts the bytes of the channel into messages again. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0)

  /** The messages completed by `bytes`, or `{ error }` after which the channel must be closed. */
  read(bytes: Buffer): { messages: Record<string, unknown>[] } | { error: string } {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const messages: Record<string, unknown>[] = []
    let at = 0
    while (this.#pending.length - at >= LENGTH_BYTES) {
      const length = this.#pending.readUInt32BE(at)
      if (length > MAX_MESSAGE_BYTES) return { error: `message of ${length} bytes` }
      if (this.#pending.length - at - LENGTH_BYTES < length) break
      const message = parseObject(this.#pending.toString('utf8', at + LENGTH_BYTES, at + LENGTH_BYTES + length))
      if (message === null) return { error: 'not a JSON object' }
      messages.push(message)
      at += LENGTH_BYTES + length
    }
    this.#pending = this.#pending.subarray(at)
    return { messages }
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

// ---------------------------------------------------------------------------------------------------- addresses

/**
 * Whether a policy lets us dial an IP address, as text; both processes ask here, control when a URL is given and media
 * again for the address that is actually dialled. What is no address is refused by every policy that refuses anything.
 */
export function isAllowedAddress(address: string, policy: AddressPolicy): boolean {
  if (!policy.publicOnly) return true
  if (!ipaddr.isValid(address)) return false
  return isInNetworks(address, policy.allowed) || ipaddr.process(address).range() === 'unicast'
}

/** Whether an IP address lies in one of the blocks (CIDR, or a bare address). IPv4 in IPv6 form counts as IPv4. */
export function isInNetworks(address: string, blocks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return blocks.some(block => {
    const cidr = parseBlock(block)
    return cidr !== null && cidr[0].kind() === parsed.kind() && parsed.match(cidr)
  })
}

/** A CIDR block or a bare address, parsed; null when it is neither. */
export function parseBlock(block: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | null {
  if (ipaddr.isValidCIDR(block)) return ipaddr.parseCIDR(block)
  if (!ipaddr.isValid(block)) return null
  const address = ipaddr.process(block)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
