import { randomBytes, sign } from 'node:crypto'
import { number, Reader, vector } from './bytes.ts'
import {
  DtlsEnd,
  type DtlsOptions,
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
import { beginKeyExchange, NAMED_GROUPS } from './key-exchange.ts'

/** TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, and the same for a far end whose certificate is of RSA. */
const SUITES = [0xc02b, 0xc02f]
/** Our flight is repeated after this long, then after twice as long each time, as audio waits for it (RFC 6347 §4.2.4.1) [ms]. */
const FIRST_WAIT_MS = 400
const MAX_WAIT_MS = 3200

/** The client: it begins, and repeats its flight until it is answered. */
export class DtlsClient extends DtlsEnd {
  readonly #clientRandom = randomBytes(32)
  #serverHello: Omit<Hello, 'exchange'> | null = null
  #isCookieSent = false
  #isAskedForCertificate = false
  #theirKey: Uint8Array = new Uint8Array(0)
  /** Null: our flight has just left [ms]. */
  #dueAt: number | null = Number.NEGATIVE_INFINITY
  #waitMs = FIRST_WAIT_MS

  constructor(options: DtlsOptions) {
    super(options)
    this.#begin(new Uint8Array(0))
  }

  /** A far end that repeats its last flight has all of ours. */
  protected override get mayRepeat(): boolean {
    return this.state === 'open'
  }

  /** What is to be sent by now. */
  due(now: number): Uint8Array[] {
    const { state } = this
    const at = this.#dueAt
    if (state !== 'open' || (at !== null && now < at)) return []
    this.#dueAt = now + this.#waitMs
    if (at === null) return []
    this.#waitMs = Math.min(2 * this.#waitMs, MAX_WAIT_MS)
    return this.repeated()
  }

  #begin(cookie: Uint8Array): Uint8Array[] {
    const extensions = message.formatExtensions([
      [GROUPS, vector(2, ...NAMED_GROUPS.map(group => number(group, 2)))],
      [POINT_FORMATS, vector(1, Buffer.from([0]))],
      [SIGNATURES, vector(2, ...SCHEMES)],
      [USE_SRTP, Buffer.concat([vector(2, ...PROFILES.map(({ id }) => number(id, 2))), vector(1)])],
      [EXTENDED_MASTER_SECRET, Buffer.alloc(0)],
      [RENEGOTIATION, vector(1)],
    ])
    const suites = vector(2, ...SUITES.map(suite => number(suite, 2)))
    const hello = [number(VERSION, 2), this.#clientRandom, vector(1), vector(1, cookie), suites]
    return this.send([this.say(message.CLIENT_HELLO, ...hello, vector(1, Buffer.from([0])), extensions)])
  }

  protected override take(one: message.HandshakeMessage, reply: DtlsReply): boolean {
    if (one.type === message.HELLO_VERIFY_REQUEST) return this.#serverHello === null && this.#verify(one, reply)
    if (one.type === message.SERVER_HELLO) return this.#serverHello === null && this.#read(one)
    if (this.#serverHello === null) return false
    if (one.type === message.CERTIFICATE) return this.peer === null && this.takeCertificate(one)
    if (this.peer === null) return false
    if (one.type === message.SERVER_KEY_EXCHANGE) return this.hello === null && this.#exchange(one, this.#serverHello)
    if (this.hello === null) return false
    if (this.master === null) return this.#reply(one, this.hello, reply)
    if (one.type !== message.FINISHED || !this.takeFinished(one, this.master, 'server')) return false
    reply.keys = this.connect(this.master, this.hello, true)
    return true
  }

  /** It wants to see first that we are where we say (RFC 6347 §4.2.1). Neither hello counts in the transcript. */
  #verify({ body }: message.HandshakeMessage, reply: DtlsReply): boolean {
    const reader = new Reader(body)
    reader.number(2)
    const cookie = reader.vector(1)
    if (reader.isBroken || this.#isCookieSent) return false
    this.#isCookieSent = true
    this.#dueAt = null
    this.transcript = []
    reply.datagrams.push(...this.#begin(cookie))
    return true
  }

  #read({ body, whole }: message.HandshakeMessage): boolean {
    const hello = message.readServerHello(body)
    if (hello === null || hello.version !== VERSION || !SUITES.includes(hello.suite)) return false
    const chosen = new Reader(hello.extensions.get(USE_SRTP) ?? new Uint8Array(0)).numbers()[0]
    const profile = PROFILES.find(({ id }) => id === chosen)
    if (profile === undefined || !hello.extensions.has(EXTENDED_MASTER_SECRET)) return false
    const serverRandom = Uint8Array.from(hello.random)
    this.#serverHello = { clientRandom: this.#clientRandom, serverRandom, profile }
    this.transcript.push(whole)
    return true
  }

  #exchange({ body, whole }: message.HandshakeMessage, hello: Omit<Hello, 'exchange'>): boolean {
    const reader = new Reader(body)
    const isNamed = reader.number(1) === NAMED_CURVE
    const exchange = beginKeyExchange([reader.number(2)])
    const theirs = reader.vector(1)
    const params = body.subarray(0, body.length - reader.left)
    const signed = Buffer.concat([hello.clientRandom, hello.serverRandom, params])
    if (!isNamed || exchange === null || !this.isSigned(reader, signed, this.peer!)) return false
    this.#theirKey = theirs
    this.hello = { ...hello, exchange }
    this.transcript.push(whole)
    return true
  }

  #reply({ type, whole }: message.HandshakeMessage, hello: Hello, reply: DtlsReply): boolean {
    this.transcript.push(whole)
    if (type === message.CERTIFICATE_REQUEST) {
      this.#isAskedForCertificate = true
      return true
    }
    if (type !== message.SERVER_HELLO_DONE) return false
    const { certificate, privateKey } = this.options
    const isAsked = this.#isAskedForCertificate
    const shown = isAsked ? [this.say(message.CERTIFICATE, vector(3, vector(3, certificate)))] : []
    const exchanged = this.say(message.CLIENT_KEY_EXCHANGE, vector(1, hello.exchange.publicKey))
    this.master = prf(hello.exchange.agree(this.#theirKey), 'extended master secret', this.hash(), 48)
    const { client, server } = recordKeys(this.master, hello.clientRandom, hello.serverRandom)
    this.keys = { ours: client, theirs: server }
    const signature = sign('sha256', Buffer.concat(this.transcript), privateKey)
    const proven = isAsked ? [this.say(message.CERTIFICATE_VERIFY, number(ECDSA_SHA256, 2), vector(2, signature))] : []
    this.#waitMs = FIRST_WAIT_MS
    this.#dueAt = null
    reply.datagrams.push(...this.send([...shown, exchanged, ...proven, ...this.finish(this.master, 'client')]))
    return true
  }
}
