import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'

/** A certificate with its chain, and its key, in PEM. */
export interface TlsCredential {
  cert: Buffer
  key: Buffer
}

/** What a server is made with. */
export const credentialOf = ({ cert, key }: Partial<TlsCredential>): Partial<TlsCredential> =>
  cert === undefined || key === undefined ? {} : { cert, key }

/** A server without a certificate: it listens, and refuses every handshake until it has one. */
export const NO_TLS: Partial<TlsCredential> & { expiresAt: null } = { expiresAt: null }

/** The certificate and its key; throws when one cannot be read, or they do not fit each other. */
export function tlsCredential([cert, key]: Buffer[]): TlsCredential & { expiresAt: number } {
  if (cert === undefined || key === undefined) throw new Error('one of the two is missing')
  createSecureContext({ cert, key })
  return { cert, key, expiresAt: Date.parse(new X509Certificate(cert).validTo) }
}
