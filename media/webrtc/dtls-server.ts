import {
  constants,
  createHash,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
  X509Certificate,
} from 'node:crypto'
import type { CryptoSuite, SrtpKeys } from '../../sip/sdp/sdes.ts'
import { number, Reader, vector } from './bytes.ts'
import { fingerprintOf } from './certificate.ts'
import * as message from './dtls-handshake.ts'
import {
  ALERT,
  CHANGE_CIPHER_SPEC,
  type DtlsRecord,
  formatRecord,
  HANDSHAKE,
  openRecord,
  prf,
  type RecordKey,
  readRecords,
  recordKeys,
  recordNumber,
  sealRecord,
  VERSION,
} from './dtls-records.ts'
import { beginKeyExchange, type KeyExchange } from './key-exchange.ts'

/** TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, which everybody must have (RFC 8827 §6.5). */
const SUITE = 0xc02b
const EMPTY_RENEGOTIATION = 0x00ff
/** Extensions. */
const GROUPS = 10
const POINT_FORMATS = 11
const SIGNATURES = 13
const USE_SRTP = 14
const EXTENDED_MASTER_SECRET = 23
const RENEGOTIATION = 0xff01
/** Signature schemes. */
const ECDSA_SHA256 = 0x0403
const RSA_SHA256 = 0x0401
const RSA_PSS_SHA256 = 0x0804
const NAMED_CURVE = 3

/** SRTP profiles in the order of our choice (RFC 5764 §4.1.2, RFC 7714 §14.2), with the bytes of a key and of a salt. */
const PROFILES: readonly { id: number; suite: CryptoSuite; keyBytes: number; saltBytes: number }[] = [
  { id: 0x0001, suite: 'AES_CM_128_HMAC_SHA1_80', keyBytes: 16, saltBytes: 14 },
  { id: 0x0007, suite: 'AEAD_AES_128_GCM', keyBytes: 16, saltBytes: 12 },
]

const FATAL = 2
const WARNING = 1
const CLOSE_NOTIFY = 0
const HANDSHAKE_FAILURE = 40

/** Datagrams that may be looked at before keys are agreed on; nobody needs so many. */
const MAX_DATAGRAMS = 500

interface DtlsServerOptions {
  /** DER. */
  certificate: Uint8Array
  privateKey: KeyObject
  /** The fingerprint of the far end's certificate, from its description (RFC 8122). */
  fingerprint: { hash: string; value: string }
}

/** The result of a datagram: what to send back, in order. */
interface DtlsReply {
  datagrams: Uint8Array[]
  /** Once: the handshake is over. */
  keys: SrtpKeys | null
}

const NOTHING: DtlsReply = { datagrams: [], keys: null }

interface Hello {
  clientRandom: Uint8Array
  serverRandom: Uint8Array
  profile: (typeof PROFILES)[number]
  exchange: KeyExchange
}

/**
 * The server side of a DTLS 1.2 handshake that agrees on SRTP keys (RFC 6347, RFC 5764), and nothing else: one suite, ephemeral keys, the
 * extended master secret (RFC 7627). The far end must own its certificate, which must have the fingerprint of its description. There are no
 * timers: a far end that misses something retransmits and is answered again. Datagrams in, datagrams out; nothing throws.
 */
export class DtlsServer {
  /** `failed`: no keys will ever come. */
  state: 'open' | 'connected' | 'failed' = 'open'
  /** Datagrams and records that were nothing of a handshake. */
  refused = 0
  readonly #options: DtlsServerOptions
  readonly #incoming = new message.Reassembly()
  #transcript: Uint8Array[] = []
  #hello: Hello | null = null
  #peer: X509Certificate | null = null
  #master: Uint8Array | null = null
  #isProven = false
  #keys: { client: RecordKey; server: RecordKey } | null = null
  /** Our last flight, sent again if the far end retransmits. */
  #flight: Uint8Array[] = []
  #datagrams = 0
  #sequence = [0, 0]
  #messages = 0

  constructor(options: DtlsServerOptions) {
    this.#options = options
  }

  /** Takes a datagram of the far end's. */
  receive(datagram: Uint8Array): DtlsReply {
    if (this.state === 'failed' || this.#datagrams >= MAX_DATAGRAMS) {
      this.refused++
      return NOTHING
    }
    this.#datagrams++
    try {
      return this.#receive(datagram)
    } catch {
      // OpenSSL's error for an invalid key or certificate.
      return this.#fail()
    }
  }

  #receive(datagram: Uint8Array): DtlsReply {
    const reply: DtlsReply = { datagrams: [], keys: null }
    const records = readRecords(datagram)
    if (records.length === 0) this.refused++
    let isRepeated = false
    for (const record of records) {
      const content = this.#contentOf(record)
      if (content === null) continue
      const taken = this.#incoming.push(content)
      isRepeated ||= taken.isRepeated
      for (const one of taken.messages) {
        if (!this.#take(one, record.epoch, reply)) return this.#fail()
      }
    }
    // One repetition of a whole flight is answered once.
    if (isRepeated && reply.datagrams.length === 0) reply.datagrams.push(...this.#flight)
    return reply
  }

  /** The handshake bytes of a record; null: it has none, or is not to be believed. */
  #contentOf(record: DtlsRecord): Uint8Array | null {
    if (record.type === CHANGE_CIPHER_SPEC && record.epoch === 0) return null
    // In clear anybody may have written an alert: only silence follows from it.
    if (record.type === HANDSHAKE && record.epoch === 0) return record.content
    const opened = record.epoch === 1 && this.#keys !== null ? openRecord(this.#keys.client, record) : null
    if (opened === null) this.refused++
    return record.type === HANDSHAKE ? opened : null
  }

  /** False: the handshake has failed. */
  #take(one: message.HandshakeMessage, epoch: number, reply: DtlsReply): boolean {
    if (this.state === 'connected') return true
    const isFinished = one.type === message.FINISHED
    if (isFinished !== (epoch === 1)) return false
    if (one.type === message.CLIENT_HELLO) return this.#hello === null && this.#answer(one, reply)
    if (this.#hello === null) return false
    if (one.type === message.CERTIFICATE) return this.#peer === null && this.#certificate(one)
    if (this.#peer === null) return false
    if (one.type === message.CLIENT_KEY_EXCHANGE) return this.#master === null && this.#agree(one, this.#hello)
    if (this.#master === null) return false
    if (one.type === message.CERTIFICATE_VERIFY) return !this.#isProven && this.#prove(one, this.#peer)
    return isFinished && this.#isProven && this.#finish(one, this.#master, this.#hello, reply)
  }

  // ------------------------------------------------------------------ the handshake, message by message

  #answer(one: message.HandshakeMessage, reply: DtlsReply): boolean {
    const hello = message.readClientHello(one.body)
    if (hello === null || !hello.suites.includes(SUITE)) return false
    const { extensions, random, suites } = hello
    const listOf = (type: number): number[] => new Reader(extensions.get(type) ?? new Uint8Array(0)).numbers()
    const exchange = beginKeyExchange(listOf(GROUPS))
    const profile = PROFILES.find(({ id }) => listOf(USE_SRTP).includes(id))
    if (exchange === null || profile === undefined || !extensions.has(EXTENDED_MASTER_SECRET)) return false
    if (!listOf(SIGNATURES).includes(ECDSA_SHA256)) return false
    this.#hello = { clientRandom: Uint8Array.from(random), serverRandom: randomBytes(32), exchange, profile }
    this.#transcript.push(one.whole)
    const renegotiates = extensions.has(RENEGOTIATION) || suites.includes(EMPTY_RENEGOTIATION)
    this.#send(this.#flightOf(this.#hello, { renegotiates, points: extensions.has(POINT_FORMATS) }), reply)
    return true
  }

  #flightOf(hello: Hello, asked: { renegotiates: boolean; points: boolean }): Uint8Array[] {
    const { serverRandom, clientRandom, exchange, profile } = hello
    const extensions = [
      [USE_SRTP, Buffer.concat([vector(2, number(profile.id, 2)), vector(1)])],
      [EXTENDED_MASTER_SECRET, Buffer.alloc(0)],
      ...(asked.renegotiates ? [[RENEGOTIATION, vector(1)]] : []),
      ...(asked.points ? [[POINT_FORMATS, vector(1, Buffer.from([0]))]] : []),
    ] as [number, Buffer][]
    const written = extensions.map(([type, content]) => Buffer.concat([number(type, 2), vector(2, content)]))
    const params = Buffer.concat([number(NAMED_CURVE, 1), number(exchange.group, 2), vector(1, exchange.publicKey)])
    const signature = sign('sha256', Buffer.concat([clientRandom, serverRandom, params]), this.#options.privateKey)
    const { certificate } = this.#options
    return [
      this.#say(
        message.SERVER_HELLO,
        Buffer.concat([number(VERSION, 2), serverRandom, vector(1), number(SUITE, 2), number(0, 1)]),
        vector(2, ...written),
      ),
      this.#say(message.CERTIFICATE, vector(3, vector(3, certificate))),
      this.#say(message.SERVER_KEY_EXCHANGE, params, number(ECDSA_SHA256, 2), vector(2, signature)),
      // ECDSA or RSA, of whatever authority.
      this.#say(
        message.CERTIFICATE_REQUEST,
        vector(1, Buffer.from([64, 1])),
        vector(2, number(ECDSA_SHA256, 2), number(RSA_PSS_SHA256, 2), number(RSA_SHA256, 2)),
        vector(2),
      ),
      this.#say(message.SERVER_HELLO_DONE),
    ]
  }

  #certificate({ body, whole }: message.HandshakeMessage): boolean {
    const der = new Reader(new Reader(body).vector(3)).vector(3)
    const { hash, value } = this.#options.fingerprint
    if (der.length === 0 || fingerprintOf(der, hash) !== value.toUpperCase()) return false
    this.#peer = new X509Certificate(der)
    this.#transcript.push(whole)
    return true
  }

  #agree({ body, whole }: message.HandshakeMessage, { exchange, clientRandom, serverRandom }: Hello): boolean {
    this.#transcript.push(whole)
    const shared = exchange.agree(new Reader(body).vector(1))
    this.#master = prf(shared, 'extended master secret', this.#hash(), 48)
    this.#keys = recordKeys(this.#master, clientRandom, serverRandom)
    return true
  }

  /** The far end owns the key of its certificate. */
  #prove({ body, whole }: message.HandshakeMessage, { publicKey }: X509Certificate): boolean {
    const reader = new Reader(body)
    const scheme = reader.number(2)
    const signature = reader.vector(2)
    const isEc = publicKey.asymmetricKeyType === 'ec'
    if (isEc !== (scheme === ECDSA_SHA256)) return false
    const signed = Buffer.concat(this.#transcript)
    const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    const key = scheme === RSA_PSS_SHA256 ? { key: publicKey, ...pss } : { key: publicKey }
    if (!isEc && scheme !== RSA_PSS_SHA256 && scheme !== RSA_SHA256) return false
    this.#isProven = verify('sha256', signed, key, signature)
    this.#transcript.push(whole)
    return this.#isProven
  }

  #finish({ body, whole }: message.HandshakeMessage, master: Uint8Array, hello: Hello, reply: DtlsReply): boolean {
    const expected = prf(master, 'client finished', this.#hash(), 12)
    if (body.length !== expected.length || !timingSafeEqual(body, expected)) return false
    this.#transcript.push(whole)
    const verifyData = prf(master, 'server finished', this.#hash(), 12)
    const changed = formatRecord(CHANGE_CIPHER_SPEC, this.#nextNumber(0), Buffer.from([1]))
    const finished = message.formatMessage(message.FINISHED, this.#messages++, verifyData)
    const sealed = sealRecord(this.#keys!.server, HANDSHAKE, this.#nextNumber(1), finished)
    this.#flight = [Buffer.concat([changed, sealed])]
    reply.datagrams.push(...this.#flight)
    reply.keys = srtpKeysOf(master, hello)
    this.state = 'connected'
    this.#transcript = []
    return true
  }

  /** Says goodbye; null: nobody would believe it. */
  goodbye(): Uint8Array | null {
    if (this.state !== 'connected') return null
    return sealRecord(this.#keys!.server, ALERT, this.#nextNumber(1), Buffer.from([WARNING, CLOSE_NOTIFY]))
  }

  // ------------------------------------------------------------------ what goes out

  #say(type: number, ...parts: readonly Uint8Array[]): Uint8Array {
    const said = message.formatMessage(type, this.#messages++, Buffer.concat(parts))
    this.#transcript.push(said)
    return said
  }

  /** A flight of ours in clear: with a certificate like ours it is one datagram. */
  #send(messages: readonly Uint8Array[], reply: DtlsReply): void {
    const records = messages.map(content => formatRecord(HANDSHAKE, this.#nextNumber(0), content))
    this.#flight = [Buffer.concat(records)]
    reply.datagrams.push(...this.#flight)
  }

  #nextNumber(epoch: 0 | 1): Buffer {
    const sequence = this.#sequence[epoch]!
    this.#sequence[epoch] = sequence + 1
    return recordNumber(epoch, sequence)
  }

  #hash(): Buffer {
    return createHash('sha256').update(Buffer.concat(this.#transcript)).digest()
  }

  #fail(): DtlsReply {
    this.state = 'failed'
    this.refused++
    return {
      datagrams: [formatRecord(ALERT, this.#nextNumber(0), Buffer.from([FATAL, HANDSHAKE_FAILURE]))],
      keys: null,
    }
  }
}

/** RFC 5764 §4.2. */
function srtpKeysOf(master: Uint8Array, { clientRandom, serverRandom, profile }: Hello): SrtpKeys {
  const { suite, keyBytes, saltBytes } = profile
  const seed = Buffer.concat([clientRandom, serverRandom])
  const block = prf(master, 'EXTRACTOR-dtls_srtp', seed, 2 * (keyBytes + saltBytes))
  const [clientKey, serverKey] = [block.subarray(0, keyBytes), block.subarray(keyBytes, 2 * keyBytes)]
  const salts = block.subarray(2 * keyBytes)
  const [clientSalt, serverSalt] = [salts.subarray(0, saltBytes), salts.subarray(saltBytes)]
  return {
    suite,
    sendKey: Buffer.concat([serverKey, serverSalt]).toString('base64'),
    receiveKey: Buffer.concat([clientKey, clientSalt]).toString('base64'),
  }
}
