import { randomBytes, sign } from 'node:crypto'
import { number, Reader, vector } from './bytes.ts'
import {
  DtlsEnd,
  type DtlsReply,
  ECDSA_SHA256,
  EXTENDED_MASTER_SECRET,
  GROUPS,
  type Hello,
  NAMED_CURVE,
  POINT_FORMATS,
  PROFILES,
  RENEGOTIATION,
  SCHEMES,
  SIGNATURES,
  USE_SRTP,
} from './dtls-end.ts'
import * as message from './dtls-handshake.ts'
import { prf, recordKeys, VERSION } from './dtls-records.ts'
import { beginKeyExchange } from './key-exchange.ts'

/** TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, which everybody must have (RFC 8827 §6.5). */
const SUITE = 0xc02b
const EMPTY_RENEGOTIATION = 0x00ff

/** The server. There are no timers: a far end that misses something retransmits and is answered again. */
export class DtlsServer extends DtlsEnd {
  protected override readonly mayRepeat = true
  #isProven = false

  /** Whether a ClientHello with this random value belongs to this handshake; otherwise the far end begins another one. */
  isOf(clientRandom: Uint8Array): boolean {
    if (this.state === 'failed') return false
    return this.hello === null || Buffer.compare(this.hello.clientRandom, clientRandom) === 0
  }

  protected override take(one: message.HandshakeMessage, reply: DtlsReply): boolean {
    if (one.type === message.CLIENT_HELLO) return this.hello === null && this.#answer(one, reply)
    if (this.hello === null) return false
    if (one.type === message.CERTIFICATE) return this.peer === null && this.takeCertificate(one)
    if (this.peer === null) return false
    if (one.type === message.CLIENT_KEY_EXCHANGE) return this.master === null && this.#agree(one, this.hello)
    if (this.master === null) return false
    if (one.type === message.CERTIFICATE_VERIFY) {
      this.#isProven = !this.#isProven && this.isSigned(new Reader(one.body), Buffer.concat(this.transcript), this.peer)
      this.transcript.push(one.whole)
      return this.#isProven
    }
    if (one.type !== message.FINISHED || !this.#isProven || !this.takeFinished(one, this.master, 'client')) return false
    reply.datagrams.push(...this.send(this.finish(this.master, 'server')))
    reply.keys = this.connect(this.master, this.hello, false)
    return true
  }

  #answer(one: message.HandshakeMessage, reply: DtlsReply): boolean {
    const hello = message.readClientHello(one.body)
    if (hello === null || !hello.suites.includes(SUITE)) return false
    const { extensions, random, suites } = hello
    const listOf = (type: number): number[] => new Reader(extensions.get(type) ?? new Uint8Array(0)).numbers()
    const exchange = beginKeyExchange(listOf(GROUPS))
    const profile = PROFILES.find(({ id }) => listOf(USE_SRTP).includes(id))
    if (exchange === null || profile === undefined || !extensions.has(EXTENDED_MASTER_SECRET)) return false
    if (!listOf(SIGNATURES).includes(ECDSA_SHA256)) return false
    this.hello = { clientRandom: Uint8Array.from(random), serverRandom: randomBytes(32), exchange, profile }
    this.transcript.push(one.whole)
    const renegotiates = extensions.has(RENEGOTIATION) || suites.includes(EMPTY_RENEGOTIATION)
    const asked = { renegotiates, points: extensions.has(POINT_FORMATS) }
    reply.datagrams.push(...this.send(this.#flightOf(this.hello, asked)))
    return true
  }

  #flightOf(hello: Hello, asked: { renegotiates: boolean; points: boolean }) {
    const { serverRandom, clientRandom, exchange, profile } = hello
    const extensions = message.formatExtensions([
      [USE_SRTP, Buffer.concat([vector(2, number(profile.id, 2)), vector(1)])],
      [EXTENDED_MASTER_SECRET, Buffer.alloc(0)],
      ...(asked.renegotiates ? [[RENEGOTIATION, vector(1)] as const] : []),
      ...(asked.points ? [[POINT_FORMATS, vector(1, Buffer.from([0]))] as const] : []),
    ])
    const params = Buffer.concat([number(NAMED_CURVE, 1), number(exchange.group, 2), vector(1, exchange.publicKey)])
    const signature = sign('sha256', Buffer.concat([clientRandom, serverRandom, params]), this.options.privateKey)
    const { certificate } = this.options
    return [
      this.say(
        message.SERVER_HELLO,
        Buffer.concat([number(VERSION, 2), serverRandom, vector(1), number(SUITE, 2), number(0, 1)]),
        extensions,
      ),
      this.say(message.CERTIFICATE, vector(3, vector(3, certificate))),
      this.say(message.SERVER_KEY_EXCHANGE, params, number(ECDSA_SHA256, 2), vector(2, signature)),
      // ECDSA or RSA, of whatever authority.
      this.say(message.CERTIFICATE_REQUEST, vector(1, Buffer.from([64, 1])), vector(2, ...SCHEMES), vector(2)),
      this.say(message.SERVER_HELLO_DONE),
    ]
  }

  #agree({ body, whole }: message.HandshakeMessage, { exchange, clientRandom, serverRandom }: Hello): boolean {
    this.transcript.push(whole)
    const shared = exchange.agree(new Reader(body).vector(1))
    this.master = prf(shared, 'extended master secret', this.hash(), 48)
    const { client, server } = recordKeys(this.master, clientRandom, serverRandom)
    this.keys = { ours: server, theirs: client }
    return true
  }
}
