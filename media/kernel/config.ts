import { networkInterfaces } from 'node:os'
import type { SpeechConfig } from '../speech/speech-protocol.ts'

/** What the supervisor hands to the media process in `TANDEM_MEDIA_CONFIG`; it has checked every value. */
export interface MediaConfig {
  dataDir: string
  socketPath: string
  sipHost: string
  sipPort: number
  /** SIP over TLS; null: not listened for. Files in PEM. */
  sipTls: { port: number; certFile: string; keyFile: string } | null
  /** Private networks that SIP may be sent to whoever asks for it (CIDR). */
  allowedNetworks: string[]
  /** Of the call WebSocket, on `sipHost`. */
  wsPort: number
  /** Who is believed about X-Forwarded-For on it (CIDR). */
  trustedProxies: string[]
  /** Where the API's pages are; no slash at its end. */
  publicUrl: string
  publicIp: string | null
  rtpPorts: { first: number; last: number }
  engineThreads: number
  maxCalls: number
  /** How long running calls may finish after SIGTERM [s]. */
  drainSeconds: number
  speech: SpeechConfig
  logLevel: string
  version: string
}

/** The address that far ends can reach us at: the configured one, or the first of this host when we listen on all. */
export function advertisedHost(config: Pick<MediaConfig, 'publicIp' | 'sipHost'>): string {
  if (config.publicIp !== null) return config.publicIp
  if (config.sipHost !== '0.0.0.0' && config.sipHost !== '::') return config.sipHost
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return addresses.find(address => address.family === 'IPv4' && !address.internal)?.address ?? '127.0.0.1'
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
