import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { connect, createServer as createTlsServer } from 'node:tls'
import type { Sipp } from './sipp.ts'

/** Debian's SIPp speaks no TLS: what it says over TCP passes through doors that do. */

export interface Door {
  port: number
  close(): void
}

/** PEM files of a certificate and its key. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** A certificate of our own for these addresses, in a folder. */
export function makeCertificate(folder: string, hosts: readonly string[], name = 'tandem'): CertificateFiles {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${hosts.map(host => `IP:${host}`).join(',')}`]
  execFileSync('openssl', [...made, ...named, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { cert, key }
}

/** By which a SIPp that calls over TCP reaches a server over TLS. */
export async function doorToTls(server: { host: string; port: number }): Promise<Door> {
  const door = createServer(plain => {
    const safe = connect({ ...server, rejectUnauthorized: false })
    for (const side of [plain, safe]) side.on('error', () => {})
    plain.pipe(safe).pipe(plain)
  })
  await new Promise<void>(resolve => door.listen(0, server.host, resolve))
  return { port: (door.address() as AddressInfo).port, close: () => void door.close() }
}

/** By which a SIPp that is called over TCP is reached over TLS; its Contact names the door. */
export async function doorFromTls({ host, port: inside }: Sipp, { cert, key }: CertificateFiles): Promise<Door> {
  const door = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, safe => {
    const { port } = door.address() as AddressInfo
    const plain = createConnection({ host, port: inside })
    for (const side of [plain, safe]) side.on('error', () => {})
    const named = new Transform({
      transform: (bytes, _, done) =>
        done(null, bytes.toString('latin1').replaceAll(`:${inside};transport=TCP`, `:${port};transport=tls`)),
    })
    safe.pipe(plain).pipe(named).pipe(safe)
  })
  await new Promise<void>(resolve => door.listen(0, host, resolve))
  return { port: (door.address() as AddressInfo).port, close: () => void door.close() }
}
