import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { DEFAULT_WS_PORT } from './addresses.ts'

/** The configuration contract: one table for parsing, error messages and `tandem --help`. */
export interface Config {
  /** Absolute path. */
  dataDir: string
  httpHost: string
  /** 0: any free port. */
  httpPort: number
  /** Addresses for SIP and RTP; `::`: every address of both families. */
  sipHosts: string[]
  sipPort: number
  /** Port of SIP over TLS, if there is a certificate. */
  sipTlsPort: number
  /** PEM files, absolute paths; null: no TLS. */
  sipTlsCert: string | null
  sipTlsKey: string | null
  /** PEM file of the key that signs calls, and the URL where far ends find its certificate; null: calls are not signed. */
  stirKey: string | null
  stirCertUrl: string | null
  /** PEM file of the authorities trusted to certify signers of calls; null: no signature is verified. */
  stirAnchors: string | null
  /** Port of the call WebSocket, on `sipHosts`. */
  wsPort: number
  /** The same over TLS, with the certificate of SIP; null: disabled. */
  wssPort: number | null
  /** Origins of other sites whose pages may use SIP over WebSocket; `*`: all. */
  sipWsOrigins: string[]
  /** Where browsers find the product, if not at our own address; no trailing slash. */
  publicUrl: string | null
  /** CIDR blocks of the proxies whose X-Forwarded-For is trusted. */
  trustedProxies: string[]
  rtpPorts: { first: number; last: number }
  rtpSockets: (typeof RTP_SOCKETS)[number]
  /** Compiles the packet path before the first call. */
  warmUp: boolean
  /** The addresses that far ends use instead of ours, at most one of each family. */
  publicIps: string[]
  /** Name servers for SIP domains; empty: the machine's own. */
  dnsServers: string[]
  /** CIDR blocks of the SIP proxies that are trusted to name the caller. */
  sipProxies: string[]
  /** The drachtio server that has the sockets of SIP; null: they are our own. */
  drachtio: DrachtioServer | null
  /** The HEP collector for SIP and RTCP; null: none. */
  hepTarget: HepTarget | null
  engineThreads: number
  /** `postgres://…`; null: SQLite in the data directory. */
  databaseUrl: string | null
  /** Null: generated once, and kept in the data directory. */
  nodeId: string | null
  liveKey: string | null
  testKey: string | null
  /** CIDR blocks. */
  allowPrivateUrls: string[]
  /** A provider that speaks OpenAI's HTTP API, for flows of live mode; null: none. */
  modelUrl: string | null
  modelKey: string | null
  modelName: string
  /** Further models that may be named. */
  modelNames: string[]
  /** The same for embeddings; null: those of this machine. */
  embeddingsUrl: string | null
  embeddingsKey: string | null
  embeddingsName: string
  /** The price of a million tokens, by model. */
  modelPrices: ReadonlyMap<string, { input: number; output: number }>
  /** Speech from a provider that speaks OpenAI's HTTP API; null: offline only. */
  ttsUrl: string | null
  ttsKey: string | null
  ttsModel: string
  ttsVoice: string
  /** The provider's voices. `language`: BCP 47, null: that of the text. */
  ttsVoices: { name: string; language: string | null }[]
  /** The same for recognition; `ws://` and `wss://`: its realtime WebSocket. */
  sttUrl: string | null
  sttKey: string | null
  sttModel: string
  /** After this time without an answer from a provider, the offline engine is used [ms]. */
  speechTimeoutMs: number
  /** Load the offline engines at the start. */
  speechPreload: boolean
  /** Of the mail server; null: none. */
  smtpUrl: string | null
  logLevel: LogLevel
  /** 0: no session timer is asked for. */
  sipSessionSeconds: number
  drainSeconds: number
  maxCalls: number
}

export interface DrachtioServer {
  host: string
  port: number
  secret: string
}

export interface HepTarget {
  transport: 'udp' | 'tcp' | 'tls'
  host: string
  port: number
  captureId: number
  password: string | null
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

type Parsed<T> = { value: T } | { bad: string }

interface Setting<T> {
  name: string
  /** In the form that a user would write; null: none. */
  default: string | null
  help: string
  /** `{ bad }` says what to set instead. */
  parse(text: string): Parsed<T>
  /** The value if the variable is not set and has no textual default. */
  absent?: T
  /** Its value is never printed. */
  secret?: true
}

type Settings = { [K in keyof Config]: Setting<Config[K]> }

const ok = <T>(value: T): Parsed<T> => ({ value })
const bad = (advice: string): Parsed<never> => ({ bad: advice })

function integer(min: number, max: number): (text: string) => Parsed<number> {
  return text => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? ok(value) : bad(`set a whole number from ${min} to ${max}`)
  }
}

const address = (text: string): Parsed<string> =>
  isIP(text) ? ok(text) : bad('set an IP address, for example 127.0.0.1 or 0.0.0.0')

function addressList(text: string): Parsed<string[]> {
  const addresses = [...new Set(items(text))]
  return addresses.length > 0 && addresses.every(item => isIP(item) !== 0)
    ? ok(addresses)
    : bad('set IP addresses with commas between them, for example 192.0.2.10,2001:db8::10, or 0.0.0.0 or ::')
}

function publicAddresses(text: string): Parsed<string[]> {
  const addresses = items(text)
  const families = new Set(addresses.map(isIP))
  return addresses.length > 0 && !families.has(0) && families.size === addresses.length
    ? ok(addresses)
    : bad('set an IP address, or one of IPv4 and one of IPv6 with a comma between them')
}

const DNS_SERVER = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/

function dnsServers(text: string): Parsed<string[]> {
  const servers = items(text)
  const isServer = (item: string): boolean => {
    const [, six, four] = DNS_SERVER.exec(item) ?? []
    return isIP(item) !== 0 || isIP(six ?? four ?? '') !== 0
  }
  return servers.length > 0 && servers.every(isServer)
    ? ok(servers)
    : bad('set addresses with commas between them, for example 192.0.2.53,[2001:db8::53]:5353')
}

const items = (text: string): string[] =>
  text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')

function portRange(text: string): Parsed<{ first: number; last: number }> {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text)?.map(Number) ?? []
  const good = first !== undefined && last !== undefined && first >= 1024 && last <= 65_535 && last - first >= 3
  return good
    ? ok({ first, last })
    : bad('set FIRST-LAST within 1024-65535 and at least four ports, for example 20000-29999')
}

function cidrList(text: string): Parsed<string[]> {
  const blocks = items(text)
  return blocks.every(block => ipaddr.isValidCIDR(block))
    ? ok(blocks)
    : bad('set CIDR blocks with commas between them, for example 10.0.0.0/8,192.168.1.5/32')
}

function ttsVoices(text: string): Parsed<Config['ttsVoices']> {
  const voices = items(text).map(item => /^([^:\s]{1,100})(?::([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*))?$/.exec(item))
  return voices.every(voice => voice !== null)
    ? ok(voices.map(([, name = '', language = null]) => ({ name, language })))
    : bad('set names with commas between them, each with its language where it has one: alloy,klara:de')
}

function modelPrices(text: string): Parsed<Config['modelPrices']> {
  const prices = new Map<string, { input: number; output: number }>()
  for (const entry of text.split(',').map(one => one.trim())) {
    if (entry === '') continue
    const parts = /^([^=\s]+)=(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)$/.exec(entry)
    if (parts === null) return bad('set model=2.5/10 with commas between: prices of a million tokens in, and out')
    prices.set(parts[1] ?? '', { input: Number(parts[2]), output: Number(parts[3]) })
  }
  return ok(prices)
}

function modelUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^https?:$/.test(url.protocol)
    ? ok(text.replace(/\/+$/, ''))
    : bad('set an http:// or https:// URL, for example https://host/v1')
}

function publicUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  const isBare = url !== null && url.search === '' && url.hash === '' && url.username === ''
  return isBare && /^https?:$/.test(url.protocol)
    ? ok(text.replace(/\/+$/, ''))
    : bad('set an http:// or https:// address, for example https://voice.example.com')
}

function databaseUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  const isWhole =
    url !== null && /^postgres(ql)?:$/.test(url.protocol) && url.hostname !== '' && url.pathname.length > 1
  return isWhole ? ok(text) : bad('set postgres://USER:PASSWORD@HOST:5432/DATABASE, or leave it unset for SQLite')
}

const HEP_PORT = 9060
const HEP_CAPTURE_ID = 2001

function hepTarget(text: string): Parsed<HepTarget> {
  const url = URL.canParse(text) ? new URL(text) : null
  const captureId = Number(url?.searchParams.get('id') ?? HEP_CAPTURE_ID)
  const isWhole =
    url !== null && /^(udp|tcp|tls):$/.test(url.protocol) && url.hostname !== '' && ['', '/'].includes(url.pathname)
  if (!isWhole || !Number.isInteger(captureId) || captureId < 0 || captureId >= 2 ** 32) {
    return bad('set udp://, tcp:// or tls:// with the collector, for example udp://homer.example.com:9060?id=2001')
  }
  return ok({
    transport: url.protocol.slice(0, -1) as HepTarget['transport'],
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? HEP_PORT : Number(url.port),
    captureId,
    password: url.searchParams.get('password'),
  })
}

const DRACHTIO_PORT = 9022

function drachtioServer(text: string): Parsed<DrachtioServer> {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.protocol !== 'tcp:' || url.hostname === '' || url.password === '') {
    return bad('set tcp://:SECRET@HOST:9022 with the address and the secret of the drachtio server for applications')
  }
  return ok({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? DRACHTIO_PORT : Number(url.port),
    secret: decodeURIComponent(url.password),
  })
}

function smtpUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== ''
    ? ok(text)
    : bad('set smtp:// or smtps://, for example smtps://USER:PASSWORD@mail.example.com?from=tandem@example.com')
}

function sttUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^(https?|wss?):$/.test(url.protocol)
    ? ok(text.replace(/\/+$/, ''))
    : bad(
        'set an http(s):// or ws(s):// URL, for example https://host/v1 or wss://host/v1/realtime?intent=transcription',
      )
}

/** Origins as browsers send them, or `*` for all. */
function originList(text: string): Parsed<string[]> {
  const origins = text.split(',').map(part => part.trim())
  const wrong = origins.find(origin => origin !== '*' && !(URL.canParse(origin) && new URL(origin).origin === origin))
  return wrong === undefined ? ok(origins) : bad(`set origins such as https://crm.example.com, not ${wrong}`)
}

const path = (text: string): Parsed<string> => (text.includes('\0') ? bad('set a path') : ok(resolve(text)))

/** RFC 4028 §4 allows no session shorter than 90 s. */
function sessionSeconds(text: string): Parsed<number> {
  const parsed = integer(0, 86_400)(text)
  return 'value' in parsed && parsed.value > 0 && parsed.value < 90 ? bad('set 0, or 90 to 86400') : parsed
}

const yesOrNo = (text: string): Parsed<boolean> =>
  text === 'yes' || text === 'no' ? ok(text === 'yes') : bad('set yes or no')

const key = (prefix: string) => (text: string) =>
  new RegExp(`^${prefix}_[A-Za-z0-9_-]{16,200}$`).test(text)
    ? ok(text)
    : bad(`set ${prefix}_ and at least 16 letters, digits, - or _`)

const RTP_SOCKETS = ['auto', 'native', 'node'] as const

const rtpSockets = (text: string): Parsed<(typeof RTP_SOCKETS)[number]> => {
  const choice = RTP_SOCKETS.find(one => one === text)
  return choice === undefined ? bad(`set ${RTP_SOCKETS.join(', ')}`) : ok(choice)
}

const logLevel = (text: string): Parsed<LogLevel> =>
  LOG_LEVELS.find(level => level === text) === undefined
    ? bad(`set one of ${LOG_LEVELS.join(', ')}`)
    : ok(text as LogLevel)

const SETTINGS: Settings = {
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
    help: 'addresses for SIP and RTP with commas between them; 0.0.0.0: every one of IPv4; :: every one of IPv4 and IPv6',
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
    help: 'port for SIP over TLS, once there is a certificate',
    parse: integer(1, 65_535),
  },
  sipTlsCert: {
    name: 'TANDEM_SIP_TLS_CERT',
    default: null,
    help: 'PEM file of our certificate with its chain: SIP over TLS is listened for',
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
    help: 'PEM file of the P-256 key that calls are signed with (STIR/SHAKEN), for connections with `sign_calls`',
    parse: path,
    absent: null,
  },
  stirCertUrl: {
    name: 'TANDEM_STIR_CERT_URL',
    default: null,
    help: 'where far ends find the certificate of that key, with its chain: https://…',
    parse: modelUrl,
    absent: null,
  },
  stirAnchors: {
    name: 'TANDEM_STIR_TRUST_ANCHORS',
    default: null,
    help: 'PEM file of the authorities whose certificates prove who signed a call, for connections with `verify_calls`',
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
    help: "origins whose pages may speak SIP over WebSocket beside the product's own, with commas between them; *: all",
    parse: originList,
    absent: [],
  },
  publicUrl: {
    name: 'TANDEM_PUBLIC_URL',
    default: null,
    help: 'http(s) address of a proxy that browsers use; it passes /v1/web_calls, /v1/softphones and /v1/sip to TANDEM_WS_PORT',
    parse: publicUrl,
    absent: null,
  },
  trustedProxies: {
    name: 'TANDEM_TRUSTED_PROXIES',
    default: '127.0.0.0/8,::1/128',
    help: 'proxies whose X-Forwarded-For tells whose request it is, for limits of guests and pages (CIDR blocks with commas between them)',
    parse: cidrList,
  },
  rtpPorts: { name: 'TANDEM_RTP_PORTS', default: '20000-29999', help: 'UDP ports for RTP and RTCP', parse: portRange },
  rtpSockets: {
    name: 'TANDEM_RTP_SOCKETS',
    default: 'auto',
    help: "how packets, and the frames of forks, are read and sent: native (the system's own calls, many packets at a time; Linux), node, or auto: native where it works",
    parse: rtpSockets,
  },
  warmUp: {
    name: 'TANDEM_WARM_UP',
    default: 'yes',
    help: 'compile what every packet passes before the first call (0.2 s of a core for each thread); no: with the first calls',
    parse: yesOrNo,
  },
  publicIps: {
    name: 'TANDEM_PUBLIC_IP',
    default: null,
    help: 'address that SIP and SDP name instead of our own (behind NAT); one of IPv4 and one of IPv6 with a comma between them',
    parse: publicAddresses,
    absent: [],
  },
  dnsServers: {
    name: 'TANDEM_DNS_SERVERS',
    default: null,
    help: "name servers that are asked where a SIP domain's servers are (NAPTR, SRV): ADDRESS or ADDRESS:PORT with commas between them; absent: the machine's own",
    parse: dnsServers,
    absent: [],
  },
  sipProxies: {
    name: 'TANDEM_SIP_PROXIES',
    default: null,
    help: 'SIP proxies before us (Kamailio) that are believed: X-Forwarded-For tells who calls, Path the way to a phone (CIDR blocks with commas between them)',
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
    help: 'collector of HEP v3 (Homer) that is told of SIP and RTCP, secrets blotted out: udp://, tcp:// or tls:// HOST:9060; number and password of this node as ?id= and &password=',
    parse: hepTarget,
    absent: null,
    secret: true,
  },
  engineThreads: {
    name: 'TANDEM_ENGINE_THREADS',
    default: String(Math.max(1, availableParallelism() - 1)),
    help: 'threads for audio; calls go to the one that has most time left; default: cores - 1',
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
    help: 'name of this node among those on one database; absent: made once, and kept in the data directory',
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
    help: 'private networks that SIP addresses, connections, streams, webhooks, flows and assistants may reach in either mode (CIDR blocks with commas between them)',
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
  modelKey: {
    name: 'TANDEM_MODEL_KEY',
    default: null,
    help: 'key of that provider',
    parse: ok,
    absent: null,
    secret: true,
  },
  modelName: {
    name: 'TANDEM_MODEL_NAME',
    default: 'default',
    help: 'model of assistants that name none',
    parse: ok,
  },
  modelNames: {
    name: 'TANDEM_MODEL_NAMES',
    default: null,
    help: 'other models of that provider that assistants, copilot profiles and flows may name, with commas between; those with a price may be, too',
    parse: text => ok(items(text)),
    absent: [],
  },
  modelPrices: {
    name: 'TANDEM_MODEL_PRICES',
    default: null,
    help: 'what a million tokens cost that go in, and that come out, for `GET /usage`: model=2.5/10, with commas between; of priority processing model:priority=…',
    parse: modelPrices,
    absent: new Map(),
  },
  embeddingsUrl: {
    name: 'TANDEM_EMBEDDINGS_URL',
    default: null,
    help: "what customers' objections mean: a provider's OpenAI-compatible address that has `/embeddings`, for example https://host/v1; absent: by the vectors of words on this machine",
    parse: modelUrl,
    absent: null,
  },
  embeddingsKey: {
    name: 'TANDEM_EMBEDDINGS_KEY',
    default: null,
    help: 'key of that provider',
    parse: ok,
    absent: null,
    secret: true,
  },
  embeddingsName: {
    name: 'TANDEM_EMBEDDINGS_NAME',
    default: 'text-embedding-3-small',
    help: 'its model',
    parse: ok,
  },
  ttsUrl: {
    name: 'TANDEM_TTS_URL',
    default: null,
    help: "text to speech: a provider's OpenAI-compatible address, for example https://host/v1; absent: offline, English",
    parse: modelUrl,
    absent: null,
  },
  ttsKey: {
    name: 'TANDEM_TTS_KEY',
    default: null,
    help: 'key of that provider',
    parse: ok,
    absent: null,
    secret: true,
  },
  ttsModel: { name: 'TANDEM_TTS_MODEL', default: 'gpt-4o-mini-tts', help: 'its model', parse: ok },
  ttsVoice: { name: 'TANDEM_TTS_VOICE', default: 'alloy', help: 'its voice where none is asked for', parse: ok },
  ttsVoices: {
    name: 'TANDEM_TTS_VOICES',
    default: 'alloy,ash,ballad,coral,echo,fable,nova,onyx,sage,shimmer,verse',
    help: 'its voices, which `GET /voices` lists and others are refused: names with commas between them, each with its language where it has one (klara:de)',
    parse: ttsVoices,
  },
  sttUrl: {
    name: 'TANDEM_STT_URL',
    default: null,
    help: 'speech to text: the same, or the wss:// address of its realtime WebSocket; absent: offline, English',
    parse: sttUrl,
    absent: null,
  },
  sttKey: {
    name: 'TANDEM_STT_KEY',
    default: null,
    help: 'key of that provider',
    parse: ok,
    absent: null,
    secret: true,
  },
  sttModel: { name: 'TANDEM_STT_MODEL', default: 'gpt-4o-mini-transcribe', help: 'its model', parse: ok },
  speechTimeoutMs: {
    name: 'TANDEM_SPEECH_TIMEOUT_MS',
    default: '5000',
    help: 'a speech provider that takes longer is left for the offline engine',
    parse: integer(100, 60_000),
  },
  speechPreload: {
    name: 'TANDEM_SPEECH_PRELOAD',
    default: 'yes',
    help: 'load the offline speech engines (600 MB) at the start; no: with the first word, in the middle of calls',
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
    help: 'session timer that far ends are asked for: a call whose far end is gone ends by then [s]; 0: none, else 90 or more',
    parse: sessionSeconds,
  },
  drainSeconds: {
    name: 'TANDEM_DRAIN_SECONDS',
    default: '30',
    help: 'how long running calls may finish after SIGTERM [s]',
    parse: integer(0, 86_400),
  },
  maxCalls: {
    name: 'TANDEM_MAX_CALLS',
    default: '1000',
    help: 'calls at once; above it callers hear 503 with Retry-After',
    parse: integer(1, 100_000),
  },
}

/** The configuration in `env`, or one line for each bad value with the variable, the value and what to do. */
export function readConfig(env: Record<string, string | undefined>): { config: Config } | { errors: string[] } {
  const errors: string[] = []
  const values: Record<string, unknown> = {}
  for (const [field, setting] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const given = env[setting.name]
    const text = given === undefined || given === '' ? setting.default : given
    if (text === null) {
      values[field] = setting.absent
      continue
    }
    const parsed = setting.parse(text)
    if ('value' in parsed) values[field] = parsed.value
    else errors.push(`${setting.name}=${setting.secret ? '(hidden)' : text} is not valid: ${parsed.bad}.`)
  }
  if (errors.length === 0 && (values.sipTlsCert === null) !== (values.sipTlsKey === null)) {
    errors.push('TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY need each other: set both, or neither.')
  }
  if (errors.length === 0 && values.wssPort !== null && values.sipTlsCert === null) {
    errors.push('TANDEM_WSS_PORT needs a certificate: set TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY.')
  }
  if (errors.length === 0 && (values.stirKey === null) !== (values.stirCertUrl === null)) {
    errors.push('TANDEM_STIR_KEY and TANDEM_STIR_CERT_URL need each other: set both, or neither.')
  }
  return errors.length > 0 ? { errors } : { config: values as unknown as Config }
}

/** The lines of `tandem --help` about the environment. */
export function configHelp(): string[] {
  const settings = Object.values(SETTINGS) as Setting<unknown>[]
  const width = Math.max(...settings.map(setting => setting.name.length))
  return settings.map(setting => `  ${setting.name.padEnd(width)}  ${setting.help} (${setting.default ?? 'not set'})`)
}
