import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { type Duplex, Transform } from 'node:stream'
import { connect, createServer as createTlsServer } from 'node:tls'
import { StreamFramer } from '../../../sip/message/framer.ts'
import type { Sipp } from './sipp.ts'

// A door is a proxy between a SIPp and the product, which converts between TCP and TLS, as Debian's SIPp has no TLS. It may also lose messages.

export interface Door {
  port: number
  close(): void
}

/** PEM files of a certificate and its key. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** Makes a self-signed certificate for these addresses, in a folder. */
export function makeCertificate(folder: string, hosts: readonly string[], name = 'tandem'): CertificateFiles {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${hosts.map(host => `IP:${host}`).join(',')}`]
  execFileSync('openssl', [...made, ...named, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { cert, key }
}

/** Changes a message of either direction; null: it is lost. */
export type Passes = (message: Buffer) => Buffer | null

const ALL: Passes = message => message

/** Opens a door for a SIPp that calls: it connects over TCP, and the door connects to a server over TLS or TCP. */
export function doorTo(server: { host: string; port: number }, way: 'tls' | 'tcp', passes = ALL): Promise<Door> {
  const door = createServer(near => {
    const far = way === 'tls' ? connect({ ...server, rejectUnauthorized: false }) : createConnection(server)
    connectBoth(near, far, passes, passes)
  })
  return opened(door, server.host)
}

/** Opens a door for a SIPp that is called: the product connects over TLS or TCP, and the door to the SIPp over TCP. Its Contact names the door. */
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

/** Splits the stream into messages, since reads do not end where messages do. */
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
