import type { SocketChoice } from './rtp/datagrams/choose.ts'
import type { SpeechConfig } from './speech/speech-protocol.ts'

/** What the supervisor hands to the media process in `TANDEM_MEDIA_CONFIG`; it has checked every value. */
export interface MediaConfig {
  dataDir: string
  socketPath: string
  /** To listen on for SIP and RTP; `::`: every address of both families. */
  sipHosts: string[]
  sipPort: number
  /** SIP over TLS; null: not listened for. Files in PEM. */
  sipTls: { port: number; certFile: string; keyFile: string } | null
  /** What calls are signed with, and the authorities that their signatures are held against; files in PEM. */
  stir: { signing: { keyFile: string; certUrl: string } | null; anchorsFile: string | null }
  /** Private networks that SIP may be sent to whoever asks for it (CIDR). */
  allowedNetworks: string[]
  /** Of the call WebSocket, and of SIP over WebSocket, on `sipHosts`. */
  wsPort: number
  /** The same over TLS, with the certificate of `sipTls`; null: not listened for. */
  wssPort: number | null
  /** Origins whose pages may speak SIP over WebSocket; `*`: all. */
  sipWsOrigins: string[]
  /** Who is believed about X-Forwarded-For on it (CIDR). */
  trustedProxies: string[]
  /** Where the API's pages are; no slash at its end. */
  publicUrl: string
  /** What far ends reach us at instead, at most one of each family. */
  publicIps: string[]
  /** Asked for NAPTR and SRV records; empty: the machine's own. */
  dnsServers: string[]
  /** SIP proxies that are believed (CIDR). */
  sipProxies: string[]
  /** The drachtio server that has the sockets of SIP in our place; null: they are ours. */
  drachtio: { host: string; port: number; secret: string } | null
  /** Where SIP and RTCP are told to as HEP; null: nowhere. */
  hep: {
    transport: 'udp' | 'tcp' | 'tls'
    host: string
    port: number
    captureId: number
    password: string | null
  } | null
  rtpPorts: { first: number; last: number }
  rtpSockets: SocketChoice
  /** What every packet passes is compiled before the first call. */
  warmsUp: boolean
  engineThreads: number
  maxCalls: number
  /** What challenges are marked with, the same at all nodes of one database. */
  nonceSecret: string
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
