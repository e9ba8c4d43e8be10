import { uint8Array, uint16Array } from '../../codecs/arrays.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import { readUint32 } from './rtp.ts'

/** Event codes 0..15 (RFC 4733 §3.2, Table 3). */
const KEYS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '#', 'A', 'B', 'C', 'D'] as const

/** Bytes of one event in a packet (RFC 4733 §2.3). */
export const DTMF_EVENT_BYTES = 4
/** The duration that ends a segment of a long event, timestamp units (RFC 4733 §2.5.1.3). */
const SEGMENT_UNITS = 0xffff
/** Without a packet for this long the event is over: three packets at the usual 50 ms. */
export const EVENT_TIMEOUT_MS = 150
/** An older packet is not a reordered one: the sender's timestamps have restarted. */
const FORGET_MS = 5_000

const END_BIT = 0x80
const VOLUME_MASK = 0x3f

/** The result of one packet or of passing time. The reader reuses one object: valid until its next call. */
export interface DtmfReading {
  /** a key went down */
  began: DtmfKey | null
  /** a key came up; with both set, that was the key before the one that began */
  ended: DtmfKey | null
  /** of the ended key [ms] */
  durationMs: number
}

/**
 * Reads the keys out of telephone-event packets (RFC 4733). Every packet says when its event began, so one that arrives is
 * enough: markers and ends may be lost, packets doubled or reordered, and no key is read twice.
 *
 *      0                   1                   2                   3
 *      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *     |     event     |E|R| volume    |          duration             |
 */
export class DtmfEventReader {
  /** packets with events that are no keys: flash, tones, trunk signals */
  ignored = 0
  /** packets that are too short, or that contradict the event they belong to */
  malformed = 0
  readonly #clockRateHz: number
  readonly #reading: DtmfReading = { began: null, ended: null, durationMs: 0 }
  #active: DtmfKey | null = null
  /** Start of the active event, or of the last one: of its last segment. */
  #timestamp = 0
  #code = -1
  #durationUnits = 0
  #segmentsUnits = 0
  #lastMs = 0
  /** The only packet so far was an end. It is reported at the next call, so that one reading never has two ends. */
  #endDue = false

  /** @param clockRateHz of the payload type, as in SDP */
  constructor(clockRateHz = 8_000) {
    this.#clockRateHz = clockRateHz
  }

  /** The key that is down. */
  get active(): DtmfKey | null {
    return this.#active
  }

  /** How long the key that is down, or was the last one, has lasted by its packets. */
  get durationMs(): number {
    return ((this.#segmentsUnits + this.#durationUnits) * 1_000) / this.#clockRateHz
  }

  /**
   * Reads the payload of one packet; only its first event, as keys do not overlap.
   *
   * @param timestamp unsigned 32 bit, of the RTP header
   */
  read(
    timestamp: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    marker: boolean,
    nowMs: number,
  ): DtmfReading {
    this.#clear()
    if (length < DTMF_EVENT_BYTES || offset + DTMF_EVENT_BYTES > bytes.length) {
      this.malformed++
      return this.#reading
    }
    const word = readUint32(bytes, offset)
    const code = word >>> 24
    const key = KEYS[code]
    if (key === undefined) {
      this.ignored++
      return this.#reading
    }
    const ended = ((word >>> 16) & END_BIT) !== 0
    this.#follow(key, code, timestamp, word & 0xffff, ended, marker, nowMs)
    return this.#reading
  }

  /** Ends a key whose end packets were all lost; to be called on the tick. */
  advance(nowMs: number): DtmfReading {
    this.#clear()
    if (this.#active !== null && nowMs - this.#lastMs >= EVENT_TIMEOUT_MS) this.#end()
    return this.#reading
  }

  /** Forgets the sender: a new SSRC. A key that is down ends. */
  reset(): DtmfReading {
    this.#clear()
    if (this.#active !== null) this.#end()
    this.#code = -1
    return this.#reading
  }

  #follow(
    key: DtmfKey,
    code: number,
    timestamp: number,
    durationUnits: number,
    ended: boolean,
    marker: boolean,
    nowMs: number,
  ): void {
    const known = this.#code >= 0
    const ahead = (timestamp - this.#timestamp) | 0
    if (known && ahead < 0 && nowMs - this.#lastMs < FORGET_MS) return
    if (known && ahead === 0) {
      if (code !== this.#code) this.malformed++
      else if (this.#active !== null) this.#prolong(durationUnits, ended, nowMs)
      return
    }
    if (known && code === this.#code && !marker && ahead === SEGMENT_UNITS) {
      this.#timestamp = timestamp
      this.#segmentsUnits += SEGMENT_UNITS
      this.#durationUnits = 0
      // After a time-out the key has been reported; its remaining packets must not count as a second one.
      if (this.#active !== null) this.#prolong(durationUnits, ended, nowMs)
      return
    }
    if (known && code === this.#code && !marker && this.#isMoved(ahead, durationUnits, ended, nowMs)) {
      this.#timestamp = timestamp
      if (this.#active !== null) this.#prolong(durationUnits, ended, nowMs)
      return
    }
    if (this.#active !== null) this.#end()
    this.#active = key
    this.#code = code
    this.#timestamp = timestamp
    this.#segmentsUnits = 0
    this.#durationUnits = 0
    this.#reading.began = key
    this.#prolong(durationUnits, false, nowMs)
    this.#endDue = ended
  }

  /**
   * Whether it is the same key, from a sender whose timestamps advance while it is down (against §2.5.1.2), as its duration does. A key
   * that is pressed again begins after the end of the one before, so its duration is less than the advance.
   */
  #isMoved(ahead: number, durationUnits: number, ended: boolean, nowMs: number): boolean {
    if (nowMs - this.#lastMs >= EVENT_TIMEOUT_MS || ahead > durationUnits) return false
    const longer = durationUnits - this.#durationUnits
    return this.#active === null ? ended && longer === 0 : longer > 0 || (ended && longer === 0)
  }

  #prolong(durationUnits: number, ended: boolean, nowMs: number): void {
    this.#lastMs = nowMs
    this.#durationUnits = Math.max(this.#durationUnits, durationUnits)
    if (ended) this.#end()
  }

  #end(): void {
    this.#reading.ended = this.#active
    this.#reading.durationMs = this.durationMs
    this.#active = null
    this.#endDue = false
  }

  #clear(): void {
    this.#reading.began = null
    this.#reading.ended = null
    this.#reading.durationMs = 0
    if (this.#endDue) this.#end()
  }
}

/** Keys that may wait to be sent; further ones are refused and counted. */
const DTMF_QUEUE_KEYS = 64
/** The E bit is sent three times (RFC 4733 §2.5.1.4). */
export const END_PACKETS = 3
const MIN_TONE_MS = 100
/** Keeps the duration below 0xffff units, so that no event needs segments. */
const MAX_TONE_MS = 8_000

/** What a tick of the writer sends; one object, reused. */
export interface DtmfPacket {
  /** false in the gap between two keys: nothing, or silence, is sent in this tick */
  send: boolean
  /** of the RTP header: the first packet of an event */
  marker: boolean
  /** of the RTP header, unsigned 32 bit: the start of the event */
  timestamp: number
  readonly payload: Uint8Array
}

/** Sends queued keys as telephone events in the place of audio, one packet per tick (RFC 4733 §2.5.1). */
export class DtmfEventWriter {
  /** keys that did not fit in the queue */
  refused = 0
  readonly packet: DtmfPacket = { send: false, marker: false, timestamp: 0, payload: uint8Array(DTMF_EVENT_BYTES) }
  readonly #frameUnits: number
  readonly #frameMs: number
  readonly #toneMs: number
  readonly #maxToneMs: number
  readonly #gapTicks: number
  readonly #volume: number
  readonly #codes = uint8Array(DTMF_QUEUE_KEYS)
  readonly #tones = uint16Array(DTMF_QUEUE_KEYS)
  #first = 0
  #queued = 0
  /** Tick within the current key, its tone and its gap; -1 between keys. */
  #tick = -1

  /**
   * @param options `frameUnits` timestamp units of a tick (160), `frameMs` (20), `toneMs` (100, the least),
   *   `gapMs` (50), `volumeDbm0` (-10)
   */
  constructor(
    options: { frameUnits?: number; frameMs?: number; toneMs?: number; gapMs?: number; volumeDbm0?: number } = {},
  ) {
    this.#frameUnits = options.frameUnits ?? 160
    this.#frameMs = options.frameMs ?? 20
    const longestMs = Math.floor(SEGMENT_UNITS / this.#frameUnits) * this.#frameMs
    this.#maxToneMs = Math.min(MAX_TONE_MS, longestMs)
    this.#toneMs = options.toneMs ?? MIN_TONE_MS
    this.#gapTicks = Math.max(END_PACKETS - 1, Math.ceil((options.gapMs ?? 50) / this.#frameMs))
    this.#volume = Math.min(VOLUME_MASK, Math.max(0, -(options.volumeDbm0 ?? -10)))
  }

  /** Keys wait or are being sent. */
  get busy(): boolean {
    return this.#queued > 0
  }

  /** @returns false when it is no key, or when 64 keys wait; nothing is queued then */
  enqueue(key: string, toneMs = this.#toneMs): boolean {
    const code = KEYS.indexOf(key.toUpperCase() as DtmfKey)
    if (code < 0) return false
    if (this.#queued === DTMF_QUEUE_KEYS) {
      this.refused++
      return false
    }
    const slot = (this.#first + this.#queued) % DTMF_QUEUE_KEYS
    this.#codes[slot] = code
    this.#tones[slot] = Math.ceil(Math.min(this.#maxToneMs, Math.max(MIN_TONE_MS, toneMs)) / this.#frameMs)
    this.#queued++
    return true
  }

  /**
   * One tick of the sender.
   *
   * @param timestamp of the audio frame that the tick would send, unsigned 32 bit
   * @returns whether the tick belongs to the keys: audio is left out, and `packet` says what is sent instead
   */
  tick(timestamp: number): boolean {
    const packet = this.packet
    packet.send = false
    if (this.#queued === 0) return false
    const tick = ++this.#tick
    const toneTicks = this.#tones[this.#first]!
    packet.marker = tick === 0
    if (tick === 0) packet.timestamp = timestamp
    packet.send = tick < toneTicks + END_PACKETS - 1
    if (packet.send) this.#write(Math.min(tick + 1, toneTicks) * this.#frameUnits, tick + 1 >= toneTicks)
    if (tick + 1 === toneTicks + this.#gapTicks) this.#nextKey()
    return true
  }

  /** A key is being sent, or the gap after it. */
  get isUnderWay(): boolean {
    return this.#tick >= 0
  }

  /** Ends the key that is being sent before its time. @returns whether `packet` is its end; those that wait are not begun */
  cutShort(): boolean {
    if (!this.isUnderWay) return false
    const ticks = this.#tick + 1
    const isDown = ticks < this.#tones[this.#first]!
    if (isDown) this.#write(ticks * this.#frameUnits, true)
    this.packet.marker = false
    this.#nextKey()
    return isDown
  }

  /** Takes the keys that wait, in their order. */
  takeWaiting(): { key: DtmfKey; toneMs: number }[] {
    const begun = this.isUnderWay ? 1 : 0
    const waiting = Array.from({ length: this.#queued - begun }, (_, i) => {
      const slot = (this.#first + begun + i) % DTMF_QUEUE_KEYS
      return { key: KEYS[this.#codes[slot]!]!, toneMs: this.#tones[slot]! * this.#frameMs }
    })
    this.clear()
    return waiting
  }

  /** Drops the keys that wait; the one being sent is finished, so that the far end sees its end. */
  clear(): void {
    this.#queued = this.#tick < 0 ? 0 : 1
  }

  #write(durationUnits: number, ended: boolean): void {
    const payload = this.packet.payload
    payload[0] = this.#codes[this.#first]!
    payload[1] = (ended ? END_BIT : 0) | this.#volume
    payload[2] = durationUnits >>> 8
    payload[3] = durationUnits
  }

  #nextKey(): void {
    this.#tick = -1
    this.#first = (this.#first + 1) % DTMF_QUEUE_KEYS
    this.#queued--
  }
}
