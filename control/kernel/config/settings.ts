import { availableParallelism } from 'node:os'
import { DEFAULT_WS_PORT } from '../addresses.ts'
import {
  address,
  addressList,
  anyText,
  bad,
  cidrList,
  databaseUrl,
  dnsServers,
  drachtioServer,
  hepTarget,
  integer,
  key,
  LOG_LEVELS,
  logLevel,
  modelPrices,
  modelUrl,
  names,
  ok,
  originList,
  type Parsed,
  path,
  portRange,
  publicAddresses,
  publicUrl,
  rtpSockets,
  sessionSeconds,
  smtpUrl,
  sttUrl,
  ttsVoices,
  yesOrNo,
} from './values.ts'

export interface Setting<T> {
  name: string
  /** In the form that a user would write; null: none. */
  default: string | null
  help: string
  parse(text: string): Parsed<T>
  /** The value if the variable is not set and has no textual default. */
  absent?: T
  /** Its value is never printed. */
  secret?: true
}

const keyOfProvider = {
  default: null,
  help: 'key of that provider',
  parse: anyText,
  absent: null,
  secret: true,
} as const

/** One table for parsing, error messages and `tandem --help`. */
export const SETTINGS = {
  dataDir: {
    name: 'TANDEM_DATA_DIR',
    default: './data',
    help: 'database, recordings, sockets; locked against a second instance',
    parse: path,
  },
  httpHost: { name: 'TANDEM_HTTP_HOST', default: '127.0.0.1', help: 'address of the REST API', parse: address },
  httpPort: {
    name: 'TANDEM_HTTP_PORT',
    default: '8080',
    help: 'port of the REST API; 0: any free one',
    parse: integer(0, 65_535),
  },
  sipHosts: {
    name: 'TANDEM_SIP_HOST',
    default: '127.0.0.1',
    help: 'addresses for SIP and RTP, separated by commas; 0.0.0.0: all of IPv4; :: all of IPv4 and IPv6',
    parse: addressList,
  },
  sipPort: {
    name: 'TANDEM_SIP_PORT',
    default: '5060',
    help: 'port for SIP over UDP and TCP',
    parse: integer(1, 65_535),
  },
  sipTlsPort: {
    name: 'TANDEM_SIP_TLS_PORT',
    default: '5061',
    help: 'port for SIP over TLS, if there is a certificate',
    parse: integer(1, 65_535),
  },
  sipTlsCert: {
    name: 'TANDEM_SIP_TLS_CERT',
    default: null,
    help: 'PEM file of our certificate with its chain; enables SIP over TLS',
    parse: path,
    absent: null,
  },
  sipTlsKey: {
    name: 'TANDEM_SIP_TLS_KEY',
    default: null,
    help: 'PEM file of its private key',
    parse: path,
    absent: null,
  },
  stirKey: {
    name: 'TANDEM_STIR_KEY',
    default: null,
    help: 'PEM file of the P-256 key for signing calls (STIR/SHAKEN), for connections with `sign_calls`',
    parse: path,
    absent: null,
  },
  stirCertUrl: {
    name: 'TANDEM_STIR_CERT_URL',
    default: null,
    help: 'URL where far ends fetch the certificate chain of that key: https://…',
    parse: modelUrl,
    absent: null,
  },
  stirAnchors: {
    name: 'TANDEM_STIR_TRUST_ANCHORS',
    default: null,
    help: 'PEM file of the authorities trusted to certify signers of calls, for connections with `verify_calls`',
    parse: path,
    absent: null,
  },
  wsPort: {
    name: 'TANDEM_WS_PORT',
    default: String(DEFAULT_WS_PORT),
    help: 'port of the call WebSocket of browsers and of SIP over WebSocket (/v1/sip), on TANDEM_SIP_HOST',
    parse: integer(1, 65_535),
  },
  wssPort: {
    name: 'TANDEM_WSS_PORT',
    default: null,
    help: 'port of the same over TLS, with the certificate of TANDEM_SIP_TLS_CERT',
    parse: integer(1, 65_535),
    absent: null,
  },
  sipWsOrigins: {
    name: 'TANDEM_SIP_WS_ORIGINS',
    default: null,
    help: 'further origins whose pages may use SIP over WebSocket, separated by commas; *: all',
    parse: originList,
    absent: [],
  },
  publicUrl: {
    name: 'TANDEM_PUBLIC_URL',
    default: null,
    help: 'http(s) address of the proxy that browsers use; it passes /v1/web_calls, /v1/softphones and /v1/sip to TANDEM_WS_PORT',
    parse: publicUrl,
    absent: null,
  },
  nodeUrl: {
    name: 'TANDEM_NODE_URL',
    default: null,
    help: "http(s) address of this node's API for the other nodes of the database; they pass on what has to be done at this one",
    parse: publicUrl,
    absent: null,
  },
  trustedProxies: {
    name: 'TANDEM_TRUSTED_PROXIES',
    default: '127.0.0.0/8,::1/128',
    help: 'proxies whose X-Forwarded-For names the client, for limits of guests and pages (CIDR blocks, separated by commas)',
    parse: cidrList,
  },
  rtpPorts: { name: 'TANDEM_RTP_PORTS', default: '20000-29999', help: 'UDP ports for RTP and RTCP', parse: portRange },
  rtpSockets: {
    name: 'TANDEM_RTP_SOCKETS',
    default: 'auto',
    help: 'how packets, SIP over UDP and stream frames are read and sent: native (system calls, many packets at a time; Linux), node, or auto: native where it works',
    parse: rtpSockets,
  },
  warmUp: {
    name: 'TANDEM_WARM_UP',
    default: 'yes',
    help: 'compile the path of packets and media streams before the first call (0.4 s of a core per thread, which talks to itself over 127.0.0.1), that of calls in the seconds after the start (some 4 s of a core); no: during the first calls',
    parse: yesOrNo,
  },
  publicIps: {
    name: 'TANDEM_PUBLIC_IP',
    default: null,
    help: 'address that SIP and SDP announce instead of our own (behind NAT); one of IPv4 and one of IPv6, separated by a comma',
    parse: publicAddresses,
    absent: [],
  },
  dnsServers: {
    name: 'TANDEM_DNS_SERVERS',
    default: null,
    help: 'name servers for SIP domains (NAPTR, SRV): ADDRESS or ADDRESS:PORT, separated by commas; absent: those of the machine',
    parse: dnsServers,
    absent: [],
  },
  sipProxies: {
    name: 'TANDEM_SIP_PROXIES',
    default: null,
    help: 'trusted SIP proxies in front of us (Kamailio): X-Forwarded-For names the caller, Path the route to a phone (CIDR blocks, separated by commas)',
    parse: cidrList,
    absent: [],
  },
  drachtio: {
    name: 'TANDEM_DRACHTIO_URL',
    default: null,
    help: 'drachtio server that handles SIP over UDP, TCP and TLS in place of this node: tcp://:SECRET@HOST:9022',
    parse: drachtioServer,
    absent: null,
    secret: true,
  },
  hepTarget: {
    name: 'TANDEM_HEP_URL',
    default: null,
    help: 'HEP v3 collector (Homer) that receives SIP and RTCP, with secrets masked: udp://, tcp:// or tls:// HOST:9060; node number and password as ?id= and &password=',
    parse: hepTarget,
    absent: null,
    secret: true,
  },
  engineThreads: {
    name: 'TANDEM_ENGINE_THREADS',
    default: String(Math.max(1, availableParallelism() - 1)),
    help: 'audio threads; a call goes to the one with the most spare time; default: cores - 1',
    parse: integer(1, 256),
  },
  databaseUrl: {
    name: 'TANDEM_DATABASE_URL',
    default: null,
    help: 'postgres://USER:PASSWORD@HOST:5432/DATABASE (PostgreSQL 15 or later); absent: SQLite in the data directory',
    parse: databaseUrl,
    absent: null,
    secret: true,
  },
  nodeId: {
    name: 'TANDEM_NODE_ID',
    default: null,
    help: 'name of this node among those that share a database; absent: generated once and kept in the data directory',
    parse: text =>
      /^[A-Za-z0-9._-]{1,64}$/.test(text) ? ok(text) : bad('set 1 to 64 letters, digits, dots, dashes or underscores'),
    absent: null,
  },
  liveKey: {
    name: 'TANDEM_LIVE_KEY',
    default: null,
    help: "the first organisation's live key; absent: generated and printed once",
    parse: key('sk_live'),
    absent: null,
    secret: true,
  },
  testKey: {
    name: 'TANDEM_TEST_KEY',
    default: null,
    help: "the first organisation's test key; absent: generated and printed once",
    parse: key('sk_test'),
    absent: null,
    secret: true,
  },
  allowPrivateUrls: {
    name: 'TANDEM_ALLOW_PRIVATE_URLS',
    default: null,
    help: 'private networks that SIP addresses, connections, streams, webhooks, flows and assistants may reach in either mode (CIDR blocks, separated by commas)',
    parse: cidrList,
    absent: [],
  },
  modelUrl: {
    name: 'TANDEM_MODEL_URL',
    default: null,
    help: "language model of assistants, flows and conference notes: a provider's OpenAI-compatible address, for example https://host/v1",
    parse: modelUrl,
    absent: null,
  },
  modelKey: { name: 'TANDEM_MODEL_KEY', ...keyOfProvider },
  modelName: { name: 'TANDEM_MODEL_NAME', default: 'default', help: 'default model', parse: anyText },
  modelNames: {
    name: 'TANDEM_MODEL_NAMES',
    default: null,
    help: 'further models of that provider that assistants, copilot profiles and flows may name, separated by commas; those with a price may be named too',
    parse: names,
    absent: [],
  },
  modelPrices: {
    name: 'TANDEM_MODEL_PRICES',
    default: null,
    help: 'price of a million input and output tokens, for `GET /usage`: model=2.5/10, separated by commas; for priority processing model:priority=…',
    parse: modelPrices,
    absent: new Map(),
  },
  embeddingsUrl: {
    name: 'TANDEM_EMBEDDINGS_URL',
    default: null,
    help: "embeddings for customers' objections: a provider's OpenAI-compatible address with `/embeddings`, for example https://host/v1; absent: word vectors on this machine",
    parse: modelUrl,
    absent: null,
  },
  embeddingsKey: { name: 'TANDEM_EMBEDDINGS_KEY', ...keyOfProvider },
  embeddingsName: {
    name: 'TANDEM_EMBEDDINGS_NAME',
    default: 'text-embedding-3-small',
    help: 'its model',
    parse: anyText,
  },
  ttsUrl: {
    name: 'TANDEM_TTS_URL',
    default: null,
    help: "text to speech: a provider's OpenAI-compatible address, for example https://host/v1; absent: offline, English",
    parse: modelUrl,
    absent: null,
  },
  ttsKey: { name: 'TANDEM_TTS_KEY', ...keyOfProvider },
  ttsModel: { name: 'TANDEM_TTS_MODEL', default: 'gpt-4o-mini-tts', help: 'its model', parse: anyText },
  ttsVoice: { name: 'TANDEM_TTS_VOICE', default: 'alloy', help: 'default voice', parse: anyText },
  ttsVoices: {
    name: 'TANDEM_TTS_VOICES',
    default: 'alloy,ash,ballad,coral,echo,fable,nova,onyx,sage,shimmer,verse',
    help: 'its voices, listed by `GET /voices`; others are refused: names separated by commas, with a language where a voice has one (klara:de)',
    parse: ttsVoices,
  },
  sttUrl: {
    name: 'TANDEM_STT_URL',
    default: null,
    help: 'speech to text: the same, or the wss:// address of its realtime WebSocket; absent: offline, English',
    parse: sttUrl,
    absent: null,
  },
  sttKey: { name: 'TANDEM_STT_KEY', ...keyOfProvider },
  sttModel: { name: 'TANDEM_STT_MODEL', default: 'gpt-4o-mini-transcribe', help: 'its model', parse: anyText },
  speechTimeoutMs: {
    name: 'TANDEM_SPEECH_TIMEOUT_MS',
    default: '5000',
    help: 'after this time without an answer of a speech provider, the offline engine is used',
    parse: integer(100, 60_000),
  },
  speechPreload: {
    name: 'TANDEM_SPEECH_PRELOAD',
    default: 'yes',
    help: 'load the offline speech engines (600 MB) at the start; no: at the first word, during a call',
    parse: yesOrNo,
  },
  smtpUrl: {
    name: 'TANDEM_SMTP_URL',
    default: null,
    help: 'mail server for reports, invitations and notices; the sender as ?from=',
    parse: smtpUrl,
    absent: null,
    secret: true,
  },
  logLevel: { name: 'TANDEM_LOG_LEVEL', default: 'info', help: LOG_LEVELS.join(', '), parse: logLevel },
  sipSessionSeconds: {
    name: 'TANDEM_SIP_SESSION_SECONDS',
    default: '1800',
    help: 'session timer requested from far ends [s]: a call whose far end has vanished ends by then; 0: none, else 90 or more',
    parse: sessionSeconds,
  },
  drainSeconds: {
    name: 'TANDEM_DRAIN_SECONDS',
    default: '30',
    help: 'how long running calls may continue after SIGTERM [s]',
    parse: integer(0, 86_400),
  },
  maxObjects: {
    name: 'TANDEM_MAX_OBJECTS',
    default: '1000',
    help: 'maximum connections, phone numbers, inbound routes, queues, users, teams, rooms, flows, assistants, tools, secrets, sites, API keys, copilot profiles, campaigns, reports, audio assets, documents and organisations of clients, of each, that an organisation has in each mode; more are refused (403 `object_limit`)',
    parse: integer(1, 100_000),
  },
  maxCalls: {
    name: 'TANDEM_MAX_CALLS',
    default: '1000',
    help: 'maximum concurrent calls; further callers get 503 with Retry-After',
    parse: integer(1, 100_000),
  },
} satisfies Record<string, Setting<unknown>>

type ValueOf<S extends Setting<unknown>> =
  | Extract<ReturnType<S['parse']>, { value: unknown }>['value']
  | (S extends { absent: null } ? null : never)

/** The configuration: a value of each setting. */
export type Config = { [K in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[K]> }
