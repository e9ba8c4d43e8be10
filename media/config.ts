import type { SocketChoice } from './rtp/datagrams/choose.ts'
import type { SpeechConfig } from './speech/speech-protocol.ts'

/**
 * The configuration that the supervisor passes to the media process in `TANDEM_MEDIA_CONFIG`. It has checked every
 * value.
 */
export interface MediaConfig {
  dataDir: string
  socketPath: string
  /** To listen on for SIP and RTP; `::`: every address of both families. */
  sipHosts: string[]
  sipPort: number
  /** SIP over TLS; null: not listened for. Files in PEM. */
  sipTls: { port: number; certFile: string; keyFile: string } | null
  /** PEM files: the key that signs calls, and the authorities for verifying signatures. */
  stir: { signing: { keyFile: string; certUrl: string } | null; anchorsFile: string | null }
  /** Private networks that SIP may be sent to whoever asks for it (CIDR). */
  allowedNetworks: string[]
  /** Ports of the call WebSocket and of SIP over WebSocket, on `sipHosts`. */
  wsPort: number
  /** The same over TLS, with the certificate of `sipTls`; null: not listened for. */
  wssPort: number | null
  /** Origins whose pages may speak SIP over WebSocket; `*`: all. */
  sipWsOrigins: string[]
  /** Trusted proxies for X-Forwarded-For there (CIDR). */
  trustedProxies: string[]
  /** Base address of the API's pages; no trailing slash. */
  publicUrl: string
  /** Addresses announced to far ends instead, at most one of each family. */
  publicIps: string[]
  /** Asked for NAPTR and SRV records; empty: the machine's own. */
  dnsServers: string[]
  /** SIP proxies that are believed (CIDR). */
  sipProxies: string[]
  /** The drachtio server that has the sockets of SIP in our place; null: they are ours. */
  drachtio: { host: string; port: number; secret: string } | null
  /** The HEP collector for SIP and RTCP; null: none. */
  hep: {
    transport: 'udp' | 'tcp' | 'tls'
    host: string
    port: number
    captureId: number
    password: string | null
  } | null
  rtpPorts: { first: number; last: number }
  rtpSockets: SocketChoice
  /** The packet path is compiled before the first call. */
  warmsUp: boolean
  engineThreads: number
  maxCalls: number
  /** The key that marks challenges, the same at all nodes of a database. */
  nonceSecret: string
  /** Where the other nodes find our SIP, `host:port`; null: nowhere. */
  node: string | null
  /** The session timer that far ends are asked for; 0: none [s]. */
  sessionSeconds: number
  /** How long running calls may finish after SIGTERM [s]. */
  drainSeconds: number
  speech: SpeechConfig
  logLevel: string
  version: string
}

/** Splits the RTP ports into equal ranges, one for each thread, so that threads share nothing. */
export function portRanges(
  { first, last }: MediaConfig['rtpPorts'],
  threads: number,
): { first: number; last: number }[] {
  const portsEach = Math.floor((last - first + 1) / 2 / threads) * 2
  return Array.from({ length: threads }, (_, i) => ({
    first: first + i * portsEach,
    last: first + (i + 1) * portsEach - 1,
  }))
}
