import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { type Duplex, Transform } from 'node:stream'
import { connect, createServer as createTlsServer } from 'node:tls'
import { StreamFramer } from '../../../sip/message/framer.ts'
import { UdpRelay } from '../../e2e/udp-relay.ts'
import type { Sipp } from './sipp.ts'

// A door is a proxy between a SIPp and the product, which converts between TCP and TLS, as Debian's SIPp has no TLS. It may also lose messages,
// of UDP too.

export interface Door {
  port: number
  close(): void
}

interface PhoneDoor extends Door {
  /** Connects this SIPp, which is called. */
  leadsTo(sipp: Pick<Sipp, 'host' | 'port'>): void
}

/** PEM files of a certificate and its key. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** Makes a self-signed certificate for these addresses, and URIs, in a folder. */
export function makeCertificate(
  folder: string,
  hosts: readonly string[],
  name = 'tandem',
  uris: readonly string[] = [],
): CertificateFiles {
  const alternatives = [...hosts.map(host => `IP:${host}`), ...uris.map(uri => `URI:${uri}`)]
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${alternatives.join(',')}`]
  execFileSync('openssl', [...made, ...named, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { cert, key }
}

/** Changes a message of either direction; null: it is lost. */
export type Passes = (message: Buffer) => Buffer | null

const ALL: Passes = message => message

/** Opens a door for a SIPp that calls: it connects over TCP, and the door connects to a server over TLS or TCP, as its Contact says then. */
export function doorTo(server: { host: string; port: number }, way: 'tls' | 'tcp', passes = ALL): Promise<Door> {
  const named: Passes = message =>
    passes(changed(message, text => text.replace(/^(Contact: <sip:\S*;transport=)TCP(?=>)/m, `$1${way}`)))
  const door = createServer(near => {
    const far = way === 'tls' ? connect({ ...server, rejectUnauthorized: false }) : createConnection(server)
    connectBoth(near, far, named, passes)
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
      passes(changed(message, text => text.replaceAll(`:${inside};transport=TCP`, `:${port};transport=${way}`)))
    connectBoth(far, createConnection({ host, port: inside }), passes, named)
  }
  const door =
    way === 'tls' ? createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, serve) : createServer(serve)
  return opened(door, host)
}

/** Opens a door over UDP for a SIPp that calls. Its Contact names the door. */
export async function datagramsTo({ host, port }: { host: string; port: number }, passes: Passes): Promise<Door> {
  const named = (message: string): string => withRport(at(message, relay.behind))
  const relay = new UdpRelay((bytes, isOfSipp) => passes(isOfSipp ? changed(bytes, named) : bytes), host)
  return { port: await relay.before(port), close: () => relay.close() }
}

/** Opens a door over UDP for a SIPp that is called. Its Contact names the door. */
export async function datagramsFrom({ host, port }: Pick<Sipp, 'host' | 'port'>, passes: Passes): Promise<Door> {
  const relay = new UdpRelay(
    (bytes, isOfProduct) => passes(isOfProduct ? bytes : changed(bytes, message => withRport(at(message, own)))),
    host,
  )
  const own = await relay.before(port)
  return { port: own, close: () => relay.close() }
}

const changed = (bytes: Buffer, change: (message: string) => string): Buffer =>
  Buffer.from(change(bytes.toString('latin1')), 'latin1')

/** SIPp asks for no `rport` (RFC 3581), without which answers to its requests would bypass the door. */
const withRport = (message: string): string =>
  message.startsWith('SIP/2.0') ? message : message.replace(/^(Via: .*;branch=[^;\r]+)\r$/m, '$1;rport\r')

/** A message whose Contact has this port. */
const at = (message: string, port: number): string => message.replace(/^(Contact: <sip:\S*:)\d+(?=[;>])/m, `$1${port}`)

/** Opens a door for a phone that keeps one connection to the product: first for the SIPp that registers over it, then for one that is called. */
export async function connectionOf(server: { host: string; port: number }, way: 'tls' | 'tcp'): Promise<PhoneDoor> {
  const far = way === 'tls' ? connect({ ...server, rejectUnauthorized: false }) : createConnection(server)
  const [there, back] = [messages(ALL), messages(ALL)]
  far.on('error', () => {})
  there.pipe(far).pipe(back)
  const serve = (near: Duplex): void => {
    near.on('error', () => {})
    near.pipe(there, { end: false })
    back.unpipe()
    back.pipe(near)
  }
  const door = await opened(createServer(serve), server.host)
  return { ...door, leadsTo: ({ host, port }) => serve(createConnection({ host, port })) }
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
