import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { type Duplex, Transform } from 'node:stream'
import { connect, createServer as createTlsServer } from 'node:tls'
import { StreamFramer } from '../../../sip/message/framer.ts'
import type { Sipp } from './sipp.ts'

/** Debian's SIPp speaks no TLS: what it says over TCP passes through doors that do. A door may also lose a message, as who stands between may. */

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

/** What becomes of a message that passes, of either direction; null: it is lost. */
export type Passes = (message: Buffer) => Buffer | null

const ALL: Passes = message => message

/** By which a SIPp that calls over TCP reaches a server, over TLS or TCP. */
export function doorTo(server: { host: string; port: number }, way: 'tls' | 'tcp', passes = ALL): Promise<Door> {
  const door = createServer(near => {
    const far = way === 'tls' ? connect({ ...server, rejectUnauthorized: false }) : createConnection(server)
    connectBoth(near, far, passes, passes)
  })
  return opened(door, server.host)
}

/** By which a SIPp that is called over TCP is reached, over TLS or TCP; its Contact names the door. */
export async function doorFrom(
  { host, port: inside }: Sipp,
  { cert, key }: CertificateFiles,
  way: 'tls' | 'tcp',
  passes = ALL,
): Promise<Door> {
  const serve = (far: Duplex): void => {
    const { port } = door.address() as AddressInfo
    const named: Passes = message =>
      passes(
        Buffer.from(
          message.toString('latin1').replaceAll(`:${inside};transport=TCP`, `:${port};transport=${way}`),
          'latin1',
        ),
      )
    connectBoth(far, createConnection({ host, port: inside }), passes, named)
  }
  const door =
    way === 'tls' ? createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, serve) : createServer(serve)
  return opened(door, host)
}

async function opened(door: Server, host: string): Promise<Door> {
  await new Promise<void>(resolve => door.listen(0, host, resolve))
  return { port: (door.address() as AddressInfo).port, close: () => void door.close() }
}

function connectBoth(one: Duplex, other: Duplex, there: Passes, back: Passes): void {
  for (const side of [one, other]) side.on('error', () => {})
  one.pipe(messages(there)).pipe(other).pipe(messages(back)).pipe(one)
}

/** Message by message, since reads do not end where they do. */
function messages(passes: Passes): Transform {
  const framer = new StreamFramer()
  return new Transform({
    transform(bytes, _, done) {
      for (const event of framer.push(bytes)) {
        const passed = event.kind === 'message' ? passes(Buffer.from(event.bytes)) : null
        if (passed !== null) this.push(passed)
      }
      done()
    },
  })
}
