import type { Static } from 'typebox'
import type { Answer } from '../../codecs/detectors/answer-detector.ts'
import type { EndedReason, requested, SipTransport, Target } from './parts.ts'
import type {
  CaptureState,
  ClaimedIdentity,
  ConnectionReport,
  LegCause,
  LegFigures,
  Quality,
  RecordingInfo,
  SipParty,
  StreamSnapshot,
  Utterance,
} from './shapes.ts'

/** A nonce of this node's, or of one that shares its key, and which use of it this is: media has seen none later here. */
export interface NonceUse {
  value: string
  count: number
}

export interface Events {
  'leg.incoming': {
    legId: string
    to: SipParty
    from: SipParty
    source: { host: string }
    /** Another node has passed it on by `leg.pass_on`; or with `joins` it calls, by `leg.refer_join`, for a member who leaves both calls. */
    passedOn?: { proven?: string; joins?: true }
    /** The registration whose contact was called: the To header, not the Request-URI, says which number. */
    connectionId?: string
    /** Call-ID header, for the operator's logs. */
    sipCallId: string
    /** The leg whose place it is to take (RFC 3891): nobody has judged whether it may. */
    replaces?: string
    /** The account that a digest for our realm names, and its hash; not verified. Null: none. */
    digest: { username: string; algorithm: 'MD5' | 'SHA-256'; nonce: NonceUse } | null
    /** Absent: the INVITE has only From about its caller. */
    identity?: ClaimedIdentity
  }
  /**
   * The far end wants its party called elsewhere (REFER): `leg.refer_answer`, `leg.refer_bridge` or `leg.refer_join` follows within 4 s,
   * else 503. `replaces`: in the place of a dialog, of this leg of ours or of one elsewhere; `atNode`: of another node of ours.
   */
  'leg.refer_asked': {
    legId: string
    referId: string
    to: SipParty
    replaces: { legId: string | null; dialog: string; atNode?: true } | null
  }
  /** How `leg.refer`, `leg.refer_bridge` or `leg.refer_join` gets on, as a SIP status of the target; 408: nothing was told in time. */
  'leg.refer_progress': { legId: string; referId: string; sipCode: number; isOver: boolean }
  /**
   * The far end names other targets (3xx), if those are followed. `leg.redirect_answer` says within 4 s which may be called; otherwise
   * none is. Most preferred first.
   */
  'leg.redirected': { legId: string; redirectId: string; to: SipParty[]; connectionId: string | null }
  /**
   * Somebody else is the leg's far end from now on, after `leg.refer_bridge` or `leg.refer_join`; with `joins` another node after `leg.replace`, whose
   * member leaves this call.
   */
  'leg.replaced': { legId: string; by: SipParty; connectionId?: string; joins?: true }
  /** The call now goes over this connection, after another one did not accept it. */
  'leg.routed': { legId: string; connectionId: string }
  'leg.ringing': { legId: string }
  /**
   * A called far end is heard in its leg's room before it has answered (early media); it hears nobody. `isHeard` false: no longer, since the
   * call continues by another way.
   */
  'leg.early_media': { legId: string; isHeard: boolean }
  'leg.answered': { legId: string }
  /** A leg enters or leaves a conference. Not reported for a party's own room. */
  'leg.joined': { legId: string; roomId: string; muted: boolean }
  'leg.left': { legId: string; roomId: string }
  /** The far end has put us on hold, or taken us back. */
  'leg.held': { legId: string }
  'leg.resumed': { legId: string }
  /** It starts or stops speaking; for legs with `speechEvents`. Nobody who is muted or on hold speaks, nor in a card-payment pause. */
  'leg.speaking': { legId: string; isSpeaking: boolean }
  /**
   * The active speaker of a conference, among those with `speechEvents`; null: the last one has left, and nobody
   * speaks.
   */
  'room.active_speaker': { roomId: string; legId: string | null }
  /** The received audio is poor for some seconds, or has recovered; the figures are those of the call so far. */
  'leg.quality': { legId: string; isPoor: boolean; quality: Quality }
  /** T.38 fax is relayed between two legs instead of audio, or no longer. */
  'leg.fax': { legId: string; partnerId: string; isRelayed: boolean }
  /** A fax machine, or a modem, calls or answers there: told once, and its audio is left alone from then on. */
  'leg.fax_tone': { legId: string; tone: 'cng' | 'ced' | 'ans' | 'ansam' }
  /** Who answered a leg with `answering`; sent once, `ms` after its answer. `cause`: what decided. */
  'leg.answered_by': { legId: string } & Answer
  /** A machine's greeting is over: a message can be left. `timeout`: it had no end. */
  'leg.message_ended': { legId: string; ended: 'beep' | 'silence' | 'timeout'; ms: number }
  /**
   * Its audio is missing or has stopped, although it should arrive; reported once until it resumes. Packets: so far.
   */
  'leg.one_way': { legId: string; packetsReceived: number; packetsSent: number }
  /** `key` is `*` and `masked` true during a card-payment pause that masks keys. */
  'leg.dtmf': { legId: string; key: string; masked: boolean; source: 'rfc4733' | 'inband' | 'info' }
  'leg.collected': {
    legId: string
    collectId: string
    digits: string
    ended: 'terminator' | 'length' | 'timeout' | 'speech'
    /** The words, if words ended it; null for a secret entry that was typed. */
    utterance: Utterance | null
  }
  /**
   * Voice was detected. `bargedIn`: playback has ended with that frame. One `leg.utterance` follows. It has no words if a
   * card-payment pause began, too much waits, or no engine recognised them. None follows if the listening ends first.
   */
  'leg.speech_started': { legId: string; listenId: string; bargedIn: boolean }
  'leg.utterance': { legId: string; listenId: string; utterance: Utterance }
  /**
   * `sipCode`: the code of its refusal, by the far end or by us. `durationMs`: since its answer, by a steady clock; absent: it was
   * never answered.
   */
  'leg.ended': {
    legId: string
    reason: EndedReason
    sipCode: number | null
    /** For a SIP leg. */
    cause?: LegCause
    quality: Quality
    /** The figures so far of those whom it leaves in its call's room, as its call ends with it. Absent: of nobody. */
    others?: LegFigures[]
    durationMs?: number
  }
  /** Its first frame was sent: the first sound of a turn. */
  /** `clockMs`: by the clock of the leg's engine, as `Utterance.endedClockMs` [ms]. */
  'play.started': { legId: string; playId: string; clockMs: number }
  /** `interrupted`: by a key, a voice or another play. `heardMs`: how much of it was sent. */
  'play.finished': {
    legId: string
    playId: string
    ended: 'played' | 'interrupted' | 'failed'
    heardMs: number
  }
  /** A conference begins or ends. Not reported for a party's own room. */
  'room.opened': { roomId: string }
  /** `durationMs`: since it was opened, by a clock that nobody sets. */
  /** `last`: the figures so far of who left last, whose call may be about to end. Absent: nobody was there, or a leg of another thread. */
  'room.closed': { roomId: string; durationMs?: number; last?: LegFigures }
  /** A pause began or ended, by a command (`request` as there) or by its own deadline. */
  'capture.changed': {
    target: Target
    state: CaptureState
    by: 'command' | 'deadline' | 'ended'
    request?: Static<typeof requested>
  }
  /** `request`: as in `stream.stop`. */
  'stream.changed': StreamSnapshot & { request?: Static<typeof requested> }
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
   * For a `live` transcript: a party began to speak (`text` empty), has said this so far, or this in the end. `text` null: the
   * words were not recognised. Times of the first and last voice, before the event [ms].
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
    /** For the address-of-record. */
    user: string
    /** Contacts with the time each asks for; `*` with 0 removes all. */
    contacts: {
      uri: string
      expiresS: number
      /** Instance and `reg-id` of the phone's flow (RFC 5626), which replaces the former flow with the same. Absent: the phone states none. */
      flow?: { instance: string; regId: number }
    }[]
    /** The user that the digest names, and its hash (RFC 7616 §3.4). */
    username: string
    algorithm: 'MD5' | 'SHA-256'
    nonce: NonceUse
    /** Next hop for requests to its contacts: their source, or the first proxy of `path`. */
    source: { transport: SipTransport; host: string; port: number }
    /** The proxies between us and the phone (RFC 3327), as Route values, the nearest first; only of those that are believed. Absent: none. */
    path?: string[]
    callId: string
    cSeq: number
  }
  /** The connection of a SIP client is closed or leads nowhere (TCP, TLS, WebSocket), so its registrations cannot be reached. */
  'sip.gone': { source: { transport: SipTransport; host: string; port: number } }
  /**
   * A SUBSCRIBE (RFC 6665) or MESSAGE (RFC 3428) of a phone with a digest answer to a fresh challenge of ours. Control has it judged by
   * `sip.ask_check` and answers by `sip.ask_reply`, all within 4 s, else 503.
   */
  'sip.ask': {
    askId: string
    /** The user that it is about, or for. */
    to: string
    username: string
    algorithm: 'MD5' | 'SHA-256'
    nonce: NonceUse
    source: { transport: SipTransport; host: string; port: number }
    what:
      | {
          method: 'SUBSCRIBE'
          package: 'message-summary' | 'dialog'
          /** The one that it refreshes or ends; null: a new one. */
          subscriptionId: string | null
          isEnd: boolean
        }
      | { method: 'MESSAGE'; text: string }
  }
  /** It has run out, or its phone is gone. */
  'sip.unsubscribed': { subscriptionId: string }
  /** How a `sip.message` ended: what the phone answered, 408 when it was silent, 503 when it could not be reached. */
  'sip.message_done': { messageId: string; sipCode: number }
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
  /** `goesOn`: the leg of the call that it resumes, ringing or running; null: none. */
  'browser.connected': { browserId: string; goesOn: string | null }
  /** The page's request to control: `{event: "control", …}`, at most 4 KiB. */
  'browser.message': { browserId: string; body: Record<string, unknown> }
  /** `forGood`: on purpose; else it may come back. */
  'browser.closed': { browserId: string; forGood: boolean }
}

export type EventName = keyof Events
/** An event of the media engine: `{ name, at (ISO-8601 UTC), body }`. */
export type MediaEvent = { [N in EventName]: { name: N; at: string; body: Events[N] } }[EventName]
