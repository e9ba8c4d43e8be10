import type { EndedReason, SipTransport, Target } from './parts.ts'
import type {
  CaptureState,
  ConnectionReport,
  Quality,
  RecordingInfo,
  SipParty,
  StreamSnapshot,
  Utterance,
} from './shapes.ts'

export interface Events {
  'leg.incoming': {
    legId: string
    to: SipParty
    from: SipParty
    source: { host: string }
    /** The registration whose contact was called: the To header, not the Request-URI, says which number. */
    connectionId?: string
    /** Call-ID header, for the operator's logs. */
    sipCallId: string
    /** Whose account a digest for our realm names, and with which hash; nobody has judged it. Null: there is none. */
    digest: { username: string; algorithm: 'MD5' | 'SHA-256' } | null
  }
  'leg.ringing': { legId: string }
  'leg.answered': { legId: string }
  'leg.joined': { legId: string; roomId: string; muted: boolean }
  'leg.left': { legId: string; roomId: string }
  /** The far end has put us on hold, or taken us back. */
  'leg.held': { legId: string }
  'leg.resumed': { legId: string }
  /** None of its audio comes, or no more, although it should: told once until some comes again. Packets: so far. */
  'leg.one_way': { legId: string; packetsReceived: number; packetsSent: number }
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
  /**
   * `sipCode`: what its far end, or we, refused it with. `durationMs`: since its answer, by a clock that nobody sets; absent: it was
   * never answered.
   */
  'leg.ended': {
    legId: string
    reason: EndedReason
    sipCode: number | null
    quality: Quality
    durationMs?: number
  }
  /** The first frame of it is on its way: the first sound of a turn. */
  /** `clockMs`: by the clock of the leg's engine, as `Utterance.endedClockMs` [ms]. */
  'play.started': { legId: string; playId: string; clockMs: number }
  /** `interrupted`: by a key, a voice or another play. `heardMs`: how much of it was sent. */
  'play.finished': {
    legId: string
    playId: string
    ended: 'played' | 'interrupted' | 'failed'
    heardMs: number
  }
  'room.opened': { roomId: string }
  /** `durationMs`: since it was opened, by a clock that nobody sets. */
  'room.closed': { roomId: string; durationMs?: number }
  /** A pause began or ended, by a command or by its own deadline. */
  'capture.changed': { target: Target; state: CaptureState; by: 'command' | 'deadline' | 'ended' }
  'stream.changed': StreamSnapshot
  'recording.ready': RecordingInfo
  'recording.failed': { recordingId: string; message: string }
  /**
   * Words of the leg, or of the product to the leg, as far as they were heard; from where the recording of the same target began,
   * else from `transcript.start`.
   */
  'transcript.segment': {
    transcriptId: string
    legId: string
    speaker: 'party' | 'product'
    text: string
    startMs: number
    endMs: number
  }
  /**
   * Of a `live` transcript: a party began to speak (`text` empty), has said this so far, or this in the end. `text` null: what was
   * being said is not to be known. Its first and last voice, before the event [ms].
   */
  'transcript.words': {
    transcriptId: string
    legId: string
    utteranceId: string
    text: string | null
    isFinal: boolean
    beganAgoMs: number
    endedAgoMs: number
  }
  'transcript.ready': { transcriptId: string; durationMs: number }
  /**
   * A REGISTER with a digest answer to a fresh challenge of ours (without one, media challenges and tells nothing). Control
   * looks up who that is, has the answer judged by `sip.register_check`, stores the contacts and answers by
   * `sip.register_reply`, all within 4 s, else 503.
   */
  'sip.register': {
    registerId: string
    /** Of the address-of-record. */
    user: string
    /** Contacts with the time each asks for; `*` with 0 removes all. */
    contacts: { uri: string; expiresS: number }[]
    /** Who the digest says it is, and with which hash (RFC 7616 §3.4). */
    username: string
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
  /** `goesOn`: the leg of the call that it goes on with, which rings or runs; null: none. */
  'browser.connected': { browserId: string; goesOn: string | null }
  /** What the page asks of control: `{event: "control", …}`, at most 4 KiB. */
  'browser.message': { browserId: string; body: Record<string, unknown> }
  /** `forGood`: on purpose; else it may come back. */
  'browser.closed': { browserId: string; forGood: boolean }
}

export type EventName = keyof Events
/** An event of the media engine: `{ name, at (ISO-8601 UTC), body }`. */
export type MediaEvent = { [N in EventName]: { name: N; at: string; body: Events[N] } }[EventName]
