import { constants, createHash, type KeyObject, timingSafeEqual, verify, X509Certificate } from 'node:crypto'
import type { CryptoSuite, SrtpKeys } from '../../sip/sdp/sdes.ts'
import { number, Reader } from './bytes.ts'
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
  recordNumber,
  sealRecord,
} from './dtls-records.ts'
import type { KeyExchange } from './key-exchange.ts'

/** Extensions. */
export const GROUPS = 10
export const POINT_FORMATS = 11
export const SIGNATURES = 13
export const USE_SRTP = 14
export const EXTENDED_MASTER_SECRET = 23
export const RENEGOTIATION = 0xff01
/** Signature schemes. */
export const ECDSA_SHA256 = 0x0403
const RSA_SHA256 = 0x0401
const RSA_PSS_SHA256 = 0x0804
/** Those that we verify. */
export const SCHEMES = [ECDSA_SHA256, RSA_PSS_SHA256, RSA_SHA256].map(scheme => number(scheme, 2))
export const NAMED_CURVE = 3

interface Profile {
  id: number
  suite: CryptoSuite
  keyBytes: number
  saltBytes: number
}

/** SRTP profiles in the order of our choice (RFC 5764 §4.1.2, RFC 7714 §14.2), with the bytes of a key and of a salt. */
export const PROFILES: readonly Profile[] = [
  { id: 0x0001, suite: 'AES_CM_128_HMAC_SHA1_80', keyBytes: 16, saltBytes: 14 },
  { id: 0x0007, suite: 'AEAD_AES_128_GCM', keyBytes: 16, saltBytes: 12 },
]

const FATAL = 2
const WARNING = 1
const CLOSE_NOTIFY = 0
const HANDSHAKE_FAILURE = 40

/** Datagrams that may be looked at before keys are agreed on; nobody needs so many. */
const MAX_DATAGRAMS = 500

export interface DtlsOptions {
  /** DER. */
  certificate: Uint8Array
  privateKey: KeyObject
  /** The fingerprint of the far end's certificate, from its description (RFC 8122). */
  fingerprint: { hash: string; value: string }
}

/** The result of a datagram: what to send back, in order. */
export interface DtlsReply {
  datagrams: Uint8Array[]
  /** Once: the handshake is over. */
  keys: SrtpKeys | null
}

/** What both hellos say. */
export interface Hello {
  clientRandom: Uint8Array
  serverRandom: Uint8Array
  profile: Profile
  exchange: KeyExchange
}

/** A part of a flight, without its record. */
interface Part {
  type: number
  epoch: 0 | 1
  content: Uint8Array
}

const NOTHING: DtlsReply = { datagrams: [], keys: null }
const CHANGED: Part = { type: CHANGE_CIPHER_SPEC, epoch: 0, content: Buffer.from([1]) }

/**
 * One end of a DTLS 1.2 handshake that agrees on SRTP keys (RFC 6347, RFC 5764), and nothing else: ephemeral keys, the extended master
 * secret (RFC 7627). The far end must own its certificate, which must have the fingerprint of its description. Datagrams and the time in,
 * datagrams out; nothing throws.
 */
export abstract class DtlsEnd {
  /** `failed`: no keys will ever come. */
  state: 'open' | 'connected' | 'failed' = 'open'
  /** Datagrams and records that were nothing of a handshake. */
  refused = 0
  protected readonly options: DtlsOptions
  protected transcript: Uint8Array[] = []
  protected hello: Hello | null = null
  protected peer: X509Certificate | null = null
  protected master: Uint8Array | null = null
  protected keys: { ours: RecordKey; theirs: RecordKey } | null = null
  readonly #incoming = new message.Reassembly()
  /** Our last flight, sent again if something of it, or of the answer, is lost. */
  #flight: readonly Part[] = []
  #datagrams = 0
  readonly #sequence = [0, 0]
  #messages = 0

  constructor(options: DtlsOptions) {
    this.options = options
  }

  /** False: the handshake has failed. */
  protected abstract take(one: message.HandshakeMessage, reply: DtlsReply): boolean

  /** Whether the far end needs our last flight again when it repeats its own. */
  protected abstract readonly mayRepeat: boolean

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
        if (!this.#takes(one, record.epoch, reply)) return this.#fail()
      }
    }
    // One repetition of a whole flight is answered once.
    if (isRepeated && this.mayRepeat && reply.datagrams.length === 0) reply.datagrams.push(...this.repeated())
    return reply
  }

  /** The handshake bytes of a record; null: it has none, or is not to be believed. */
  #contentOf(record: DtlsRecord): Uint8Array | null {
    if (record.type === CHANGE_CIPHER_SPEC && record.epoch === 0) return null
    // In clear anybody may have written an alert: only silence follows from it.
    if (record.type === HANDSHAKE && record.epoch === 0) return record.content
    const opened = record.epoch === 1 && this.keys !== null ? openRecord(this.keys.theirs, record) : null
    if (opened === null) this.refused++
    return record.type === HANDSHAKE ? opened : null
  }

  #takes(one: message.HandshakeMessage, epoch: number, reply: DtlsReply): boolean {
    if (this.state === 'connected') return true
    return (one.type === message.FINISHED) === (epoch === 1) && this.take(one, reply)
  }

  // ------------------------------------------------------------------ what both ends take

  protected takeCertificate({ body, whole }: message.HandshakeMessage): boolean {
    const der = new Reader(new Reader(body).vector(3)).vector(3)
    const { hash, value } = this.options.fingerprint
    if (der.length === 0 || fingerprintOf(der, hash) !== value.toUpperCase()) return false
    this.peer = new X509Certificate(der)
    this.transcript.push(whole)
    return true
  }

  /** Whether a scheme and signature that are read next are of the far end's key: it owns its certificate. */
  protected isSigned(reader: Reader, signed: Uint8Array, { publicKey }: X509Certificate): boolean {
    const scheme = reader.number(2)
    const signature = reader.vector(2)
    const isEc = publicKey.asymmetricKeyType === 'ec'
    if (isEc !== (scheme === ECDSA_SHA256)) return false
    const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    const key = scheme === RSA_PSS_SHA256 ? { key: publicKey, ...pss } : { key: publicKey }
    if (!isEc && scheme !== RSA_PSS_SHA256 && scheme !== RSA_SHA256) return false
    return verify('sha256', signed, key, signature)
  }

  /** @param whose `client` or `server` */
  protected takeFinished({ body, whole }: message.HandshakeMessage, master: Uint8Array, whose: string): boolean {
    const expected = this.finishedOf(master, whose)
    if (body.length !== expected.length || !timingSafeEqual(body, expected)) return false
    this.transcript.push(whole)
    return true
  }

  protected finishedOf(master: Uint8Array, whose: string): Uint8Array {
    return prf(master, `${whose} finished`, this.hash(), 12)
  }

  protected hash(): Buffer {
    return createHash('sha256').update(Buffer.concat(this.transcript)).digest()
  }

  /** There are keys (RFC 5764 §4.2). */
  protected connect(master: Uint8Array, { clientRandom, serverRandom, profile }: Hello, isClient: boolean): SrtpKeys {
    this.state = 'connected'
    this.transcript = []
    const { suite, keyBytes, saltBytes } = profile
    const seed = Buffer.concat([clientRandom, serverRandom])
    const block = prf(master, 'EXTRACTOR-dtls_srtp', seed, 2 * (keyBytes + saltBytes))
    const salts = block.subarray(2 * keyBytes)
    const of = (side: 0 | 1): string =>
      Buffer.concat([
        block.subarray(side * keyBytes, (side + 1) * keyBytes),
        salts.subarray(side * saltBytes, (side + 1) * saltBytes),
      ]).toString('base64')
    return { suite, sendKey: of(isClient ? 0 : 1), receiveKey: of(isClient ? 1 : 0) }
  }

  // ------------------------------------------------------------------ what goes out

  protected say(type: number, ...parts: readonly Uint8Array[]): Part {
    const content = message.formatMessage(type, this.#messages++, Buffer.concat(parts))
    this.transcript.push(content)
    return { type: HANDSHAKE, epoch: 0, content }
  }

  /** The end of our last flight: all that follows is sealed. */
  protected finish(master: Uint8Array, whose: string): Part[] {
    return [CHANGED, { ...this.say(message.FINISHED, this.finishedOf(master, whose)), epoch: 1 }]
  }

  /** With a certificate like ours a flight is one datagram. */
  protected send(flight: readonly Part[]): Uint8Array[] {
    this.#flight = flight
    return this.repeated()
  }

  /** Our last flight, in records of new numbers: those of before would be taken for repeats (RFC 6347 §4.1.2.6). */
  protected repeated(): Uint8Array[] {
    return this.#flight.length === 0 ? [] : [Buffer.concat(this.#flight.map(part => this.#recordOf(part)))]
  }

  #recordOf({ type, epoch, content }: Part): Uint8Array {
    const place = this.#nextNumber(epoch)
    return epoch === 0 ? formatRecord(type, place, content) : sealRecord(this.keys!.ours, type, place, content)
  }

  #nextNumber(epoch: 0 | 1): Buffer {
    const sequence = this.#sequence[epoch]!
    this.#sequence[epoch] = sequence + 1
    return recordNumber(epoch, sequence)
  }

  /** Says goodbye; null: nobody would believe it. */
  goodbye(): Uint8Array | null {
    if (this.state !== 'connected') return null
    return sealRecord(this.keys!.ours, ALERT, this.#nextNumber(1), Buffer.from([WARNING, CLOSE_NOTIFY]))
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
