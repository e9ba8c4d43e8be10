import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { isInNetworks } from '../protocol.ts'
import { SIP_PROTOCOL, type SipUpgrade } from '../signalling/endpoint/sip-websockets.ts'

/** The path of SIP over WebSocket (RFC 7118). */
export const SIP_PATH = '/v1/sip'

export interface SipDoorOptions {
  /** Origins of pages that may connect; `*`: all. Programs that are not browsers send none. */
  origins: readonly string[]
  hasRoom: (host: string) => boolean
  accept: (upgrade: SipUpgrade) => void
}

export interface DoorRefusal {
  status: number
  code: string
  message: string
}

/** Who may use SIP on the port of the call WebSocket; null: anybody, since digest decides. */
export function sipRefusal(
  { origins, hasRoom }: SipDoorOptions,
  { headers }: IncomingMessage,
  host: string,
): DoorRefusal | null {
  const { origin } = headers
  if (origin !== undefined && !origins.includes('*') && !origins.includes(origin)) {
    const message = 'SIP is not open to pages of this origin (TANDEM_SIP_WS_ORIGINS).'
    return { status: 403, code: 'origin_mismatch', message }
  }
  const asked = String(headers['sec-websocket-protocol'] ?? '').split(',')
  if (!asked.some(name => name.trim() === SIP_PROTOCOL)) {
    return { status: 400, code: 'parameter_invalid', message: 'SIP over WebSocket needs the sub-protocol `sip`.' }
  }
  if (hasRoom(host)) return null
  return { status: 503, code: 'capacity_exhausted', message: 'Too many connections; come again later.' }
}

/** Whether the client speaks TLS, with us or with a proxy that is believed. */
export const isSecure = ({ socket, headers }: IncomingMessage, trustedProxies: readonly string[]): boolean =>
  socket instanceof TLSSocket ||
  (headers['x-forwarded-proto'] === 'https' && isInNetworks(socket.remoteAddress ?? '', trustedProxies))
