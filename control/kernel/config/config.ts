export const RTP_SOCKETS = ['auto', 'native', 'node'] as const

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The configuration. `SETTINGS` says where each value comes from. */
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
  /** URL of the mail server; null: none. */
  smtpUrl: string | null
  logLevel: LogLevel
  /** 0: no session timer is asked for. */
  sipSessionSeconds: number
  drainSeconds: number
  /** Of an organisation and mode. */
  maxObjects: number
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
