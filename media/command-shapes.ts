import { parseUri } from '../sip/uri.ts'
import type {
  AddressPolicy,
  BrowserTarget,
  CodecName,
  CommandName,
  ConnectionSpec,
  DialTarget,
  DtmfMode,
  EndedReason,
  ListenSpec,
  PhoneIdentity,
  PlaySource,
  Request,
  RoomCapture,
  RoomSpec,
  SrtpPolicy,
  StreamSpec,
  Target,
} from './protocol.ts'
import {
  boolean,
  id,
  integer,
  line,
  list,
  nullable,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  text,
  variant,
} from './shape.ts'

/** The longest time that a timer of Node takes, 24.8 days [ms]. */
const MAX_TIMER_MS = 2 ** 31 - 1
const MAX_MEMBERS = 10_000
/** Elements of a list of IDs. */
const MAX_IDS = 10_000
/** Far ends that are kept up with. */
const MAX_CONNECTIONS = 10_000
/** That begin with a room. */
const MAX_ROOM_STREAMS = 100
const MAX_NETWORKS = 100_000
/** Characters of a text that is spoken. */
const MAX_SPOKEN = 10_000
const HOST = /^[A-Za-z0-9._:-]{1,253}$/

const host: Shape<string> = (value): value is string => typeof value === 'string' && HOST.test(value)

const sipUri: Shape<string> = (value): value is string => {
  if (typeof value !== 'string' || value.length > 1000) return false
  const uri = parseUri(value)
  return 'scheme' in uri && (uri.scheme === 'sip' || uri.scheme === 'sips')
}

const reason: Shape<EndedReason> = oneOf(
  'caller_hangup',
  'agent_hangup',
  'api_hangup',
  'assistant_ended',
  'announcement_ended',
  'transfer_completed',
  'answered_elsewhere',
  'no_answer',
  'busy',
  'rejected',
  'not_found',
  'rtp_timeout',
  'session_expired',
  'max_duration',
  'codec_mismatch',
  'capacity',
  'trunk_error',
  'media_failed',
  'node_lost',
  'store_unavailable',
  'internal_error',
)

const dtmfMode: Shape<DtmfMode> = oneOf('auto', 'rfc4733', 'inband', 'info')
const srtp: Shape<SrtpPolicy> = oneOf('off', 'optional', 'required')
const codecs: Shape<CodecName[]> = list(oneOf('PCMU', 'PCMA'), 10)

const maybe = <T>(shape: Shape<T>): Shape<T> => optional(shape) as Shape<T>

const target: Shape<Target> = (value): value is Target =>
  object<{ legId: string }>({ legId: id })(value) || object<{ roomId: string }>({ roomId: id })(value)

const addresses: Shape<AddressPolicy> = object<AddressPolicy>({ publicOnly: boolean, allowed: list(line(100), 1000) })

const stream: Shape<StreamSpec> = object<StreamSpec>({
  streamId: id,
  target,
  url: text(4096),
  tracks: oneOf('inbound', 'outbound', 'both'),
  format: oneOf('mulaw_8000', 'l16_8000', 'l16_16000'),
  customParameters: record(text(10_000), 1000),
  accountSid: text(200),
  callSid: text(200),
  signingSecret: line(1000),
  addresses,
})

const capture: Shape<RoomCapture> = object<RoomCapture>({
  recordingId: nullable(id),
  encrypted: maybe(boolean),
  transcript: nullable(object({ transcriptId: id, language: nullable(line(35)) })),
  streams: maybe(list(stream, MAX_ROOM_STREAMS)),
})

const room: Shape<RoomSpec> = object<RoomSpec>({
  roomId: id,
  kind: oneOf('call', 'conference', 'echo'),
  chimes: boolean,
  musicWhenAlone: boolean,
  maxMembers: integer(1, MAX_MEMBERS),
  capture: maybe(capture),
})

const speed: Shape<number> = (value): value is number => typeof value === 'number' && value >= 0.5 && value <= 2

const sources: Shape<PlaySource[]> = list(
  variant<'kind', PlaySource>('kind', {
    prompt: object({ kind: oneOf('prompt'), name: line(200), language: optional(line(35)) as Shape<string> }),
    file: object({ kind: oneOf('file'), path: line(4096) }),
    music: object({ kind: oneOf('music') }),
    tone: object({ kind: oneOf('tone'), name: oneOf('ringback', 'busy', 'beep') }),
    silence: object({ kind: oneOf('silence'), ms: integer(0, MAX_TIMER_MS) }),
    speech: object({
      kind: oneOf('speech'),
      text: text(MAX_SPOKEN),
      voice: nullable(line(100)),
      language: nullable(line(35)),
      speed: maybe(speed),
      recorded: maybe(list(line(200), 10)),
    }),
  }),
  100,
)

const via = object({ host, port: integer(1, 65_535), transport: oneOf('udp', 'tcp', 'tls') })
const credentials = nullable(object({ username: line(200), password: line(200) }))

const connection: Shape<ConnectionSpec> = object<ConnectionSpec>({
  connectionId: id,
  keep: oneOf('register', 'ping'),
  uri: sipUri,
  from: sipUri,
  via,
  credentials,
  contactUser: line(100),
})

const dialTarget: Shape<DialTarget> = object<DialTarget>({
  uri: sipUri,
  from: object({ uri: sipUri }),
  via: nullable(via),
  publicOnly: boolean,
  credentials,
  codecs,
  dtmf: optional(dtmfMode) as Shape<DtmfMode>,
  srtp: optional(srtp) as Shape<SrtpPolicy>,
})

const dialOrBrowser: Shape<DialTarget | BrowserTarget> = (value): value is DialTarget | BrowserTarget =>
  dialTarget(value) || object<BrowserTarget>({ browserId: id, info: maybe(jsonObject) })(value)

const listen: Shape<ListenSpec> = object<ListenSpec>({
  listenId: text(200),
  language: nullable(line(35)),
  endOfSpeechMs: integer(100, 10_000),
  maxUtteranceMs: integer(1000, 120_000),
  bargeIn: nullable(object({ afterMs: integer(20, 5000), resume: boolean, backChannels: list(line(100), 200) })),
})

const hearing = optional(nullable(list(id, MAX_MEMBERS))) as Shape<string[] | null>
const jsonObject: Shape<Record<string, unknown>> = (value): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const pauseSeconds = integer(1, MAX_TIMER_MS / 1000)

const nothing = object<Record<string, never>>({})

/** What the body of each command must look like before anything is done with it: the types of `protocol.ts`, at run time. */
export const COMMAND_SHAPES: { [N in CommandName]: Shape<Request<N>> } = {
  'leg.answer': object<Request<'leg.answer'>>({
    legId: id,
    room,
    affinity: text(200),
    codecs,
    dtmf: maybe(dtmfMode),
    srtp: maybe(srtp),
  }),
  'leg.ring': object({ legId: id }),
  'leg.reject': object({
    legId: id,
    sipCode: integer(300, 699),
    retryAfterS: nullable(integer(0, 86_400)),
    reason,
  }),
  'leg.challenge': object({ legId: id }),
  'leg.check_caller': object({ legId: id, ha1: nullable(line(64)) }),
  'leg.dial': object({ legId: id, target: dialOrBrowser, room, affinity: text(200), timeoutS: integer(1, 3600) }),
  'leg.hangup': object({ legId: id, reason }),
  'leg.move': object<Request<'leg.move'>>({
    legId: id,
    room,
    mustExist: boolean,
    muted: boolean,
    payment: maybe(object({ maxSeconds: pauseSeconds, reason: text(1000), maskDtmf: boolean })),
  }),
  'leg.update': object<Request<'leg.update'>>({
    legId: id,
    muted: optional(boolean) as Shape<boolean>,
    deaf: optional(boolean) as Shape<boolean>,
    heardBy: hearing,
    hears: hearing,
  }),
  'leg.hold': object({ legId: id, held: boolean, sources }),
  'leg.listen': object({ legId: id, listen }),
  'leg.stop_listen': object({ legId: id }),
  'leg.read': object({ legIds: list(id, MAX_IDS) }),
  'leg.play': object<Request<'leg.play'>>({
    legId: id,
    playId: text(200),
    sources,
    loop: boolean,
    hangupAfter: nullable(reason),
    append: maybe(boolean),
  }),
  'leg.stop_play': object({ legId: id }),
  'leg.collect': object<Request<'leg.collect'>>({
    legId: id,
    collectId: text(200),
    prompts: sources,
    maxDigits: integer(1, 1000),
    terminators: text(16),
    firstDigitTimeoutMs: integer(0, MAX_TIMER_MS),
    interDigitTimeoutMs: integer(0, MAX_TIMER_MS),
    sensitive: boolean,
    speech: maybe(nullable(listen)) as Shape<ListenSpec | null>,
    playThrough: maybe(boolean),
    agreement: maybe(object({ digits: nullable(line(1000)), capture })),
  }),
  'leg.send_dtmf': object({ legId: id, digits: text(1000), durationMs: integer(20, 10_000) }),
  'room.play': object({ roomId: id, sources, loop: boolean }),
  'room.close': object({ roomId: id, reason }),
  'capture.pause': object({
    target,
    maxSeconds: pauseSeconds,
    reason: text(1000),
    maskDtmf: boolean,
    destinationLegId: nullable(id),
  }),
  'capture.resume': object({ target }),
  'stream.start': stream,
  'stream.stop': object({ streamId: id }),
  'stream.read': object({ streamIds: list(id, MAX_IDS) }),
  'recording.start': object<Request<'recording.start'>>({ recordingId: id, target, encrypted: maybe(boolean) }),
  'recording.pause': object({ recordingId: id }),
  'recording.resume': object({ recordingId: id }),
  'recording.stop': object({ recordingId: id }),
  'transcript.start': object({ transcriptId: id, target, language: nullable(line(35)) }),
  'transcript.stop': object({ transcriptId: id }),
  'sip.register_check': object({ registerId: id, ha1: nullable(line(64)) }),
  'sip.register_reply': object({
    registerId: id,
    sipCode: integer(200, 699),
    contacts: list(object({ uri: sipUri, expiresS: integer(0, MAX_TIMER_MS / 1000) }), 100),
    minExpiresS: nullable(integer(1, 86_400)),
  }),
  'connections.set': object({ connections: list(connection, MAX_CONNECTIONS) }),
  'sources.set': object({ networks: list(line(50), MAX_NETWORKS) }),
  'browser.close': object({ browserId: id, code: integer(1000, 4999), reason: line(120) }),
  'browser.refuse': object({ browserId: id, status: integer(400, 599), body: jsonObject }),
  'browser.admit': object({
    browserId: id,
    as: oneOf('phone', 'call'),
    legId: nullable(id),
    accountSid: line(200),
    phone: nullable(object<PhoneIdentity>({ agent: line(300), device: line(200) })),
  }),
  'browser.send': object({ browserId: id, body: jsonObject }),
  'media.snapshot': nothing,
  'media.stats': nothing,
}
