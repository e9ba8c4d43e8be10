import type { RtpPacket } from './rtp.ts'

/** Transit times are counted at 8 kHz. */
const UNITS_PER_MS = 8
/**
 * No packet is faster by this much than all others of the last seconds: the sender's timestamps have jumped. Where packets before it are missing, a
 * few of them may really be lost [ms].
 */
const FASTER_MS = { next: 40, ahead: 70 }
/** A packet that others have overtaken is not later than this [ms]. */
const OVERTAKEN_MS = 2000
/** So few numbers may be missing although no audio is, where packets of something else came this recently: some of those were lost [ms]. */
const FEW = 3
const OTHERS_MS = 1000
/** Timestamps and numbers that do not fit each other are a pause if the packet is less than half of it too fast, or than this [ms]. */
const LEAST_FASTER_MS = 10
/** What arrives later than this behind the packet before it was sent after a pause [ms]. */
const PAUSE_MS = 60
/** Maximum length of a packet [ms]. */
const PACKET_MS = 200
/** A sender that restarts with the numbers of a moment ago is told from packets that come twice by so many of them in so much time [ms]. */
const REPEATS = 3
const REPEATS_MS = 30
/** Packets count for the fastest one for this long, or up to twice as long [calls of `arrived`]. */
const WINDOW = 20

/**
 * What becomes of a packet. `on`: it goes on where the others were, or is one of them that was late. `held`: it fits nowhere, and the next one will
 * tell what it is. Otherwise the sender has restarted: its timestamps (`retimed`), or its sequence numbers, too (`renumbered`).
 */
type Judgement = 'on' | 'held' | 'retimed' | 'renumbered'

export interface HeldPacket {
  readonly bytes: Uint8Array
  readonly sequence: number
  readonly timestamp: number
  readonly transit: number
  /** When it arrived, monotonic [ms]. */
  readonly at: number
  /** The next sequence number then. */
  readonly next: number
}

/**
 * Continues the sequence numbers and timestamps of a sender that restarts either under the same SSRC, as some do for music, after a transfer or at
 * the end of hold. Timestamps that jump while sequence numbers go on are followed at once, and the other way round. A packet that fits in neither
 * way is held, and is followed if the next one continues it (RFC 3550 §A.1).
 */
export class Continuity {
  /** To be added to what the sender writes. */
  sequenceShift = 0
  timestampShift = 0
  /** Packets that were held and continued by none. */
  dropped = 0
  /** Of the next packet of audio, as on the wire, the timestamp as signed 32 bit. Fields, because each packet asks for them; another one is to be judged. */
  nextSequence = -1
  nextTimestamp = 0
  /** From packet to packet [timestamp units]. */
  step = 0
  #clockRateHz = 0
  /** How far the last packet that was judged was behind the one before, 0: it was the first; and the number after it. */
  #stepped = 0
  #steppedNext = -1
  #held: HeldPacket | null = null
  /** From this number on, each packet is one step behind the one before. */
  #evenSince = 0
  /** When a packet without audio came last [ms]. */
  #otherAt = Number.NEGATIVE_INFINITY
  /** Transit of the fastest packet of the last seconds, and of those that count for longer; NaN: unknown. */
  #fastest = Number.NaN
  #fastestSince = Number.NaN
  #calls = 0
  /** Packets in sequence that have come before, when the first of them came, the number that follows them, and the next one of the stream. */
  readonly #repeats = { count: 0, since: 0, following: 0, next: 0 }

  /** A packet without audio. */
  skip(sequence: number, now: number): void {
    this.#otherAt = now
    if (sequence !== this.nextSequence) return
    this.nextSequence = (sequence + 1) & 0xffff
    this.#evenSince = this.nextSequence
  }

  /** To be called a few times a second. @param least transit of the fastest packet since the last call [1/8 ms, signed 32 bit] */
  arrived(least: number): void {
    if (!(((least - this.#fastest) | 0) > 0)) this.#fastest = least
    if (!(((least - this.#fastestSince) | 0) > 0)) this.#fastestSince = least
    if (++this.#calls % WINDOW !== 0) return
    this.#fastest = this.#fastestSince
    this.#fastestSince = Number.NaN
  }

  /**
   * Judges a packet.
   *
   * @param transit of it, if its sender has not restarted [1/8 ms, signed 32 bit]
   * @param before of the last packet
   * @param clockRateHz of its timestamps
   */
  judge(packet: RtpPacket, transit: number, before: number, clockRateHz: number, now: number): Judgement {
    const { sequence, timestamp } = packet
    if (clockRateHz !== this.#clockRateHz) return this.#begin(packet, clockRateHz)
    const ahead = ((sequence + 1 - this.nextSequence) << 16) >> 16
    const step = this.#stepTo(timestamp)
    const late = (transit - this.#fastest) | 0
    const isEven = step === ahead * this.step
    const held = this.#held
    const continued = held !== null && this.#continues(held, packet) ? held : null
    if (ahead > 0 && this.#mayFollow(ahead, step, late, now) && (isEven || continued === null)) {
      this.#follow(sequence, timestamp, ahead === 1 ? step : this.step, isEven)
      return 'on'
    }
    const isOld = ahead <= 0 && late < OVERTAKEN_MS * UNITS_PER_MS && this.#mayBeOld(ahead, step)
    if (isOld && !this.#isRepeated(sequence, now)) return 'on'
    if (continued !== null) {
      this.#restart(continued, continued.transit, before)
      this.#follow(sequence, timestamp, (timestamp - continued.timestamp) | 0)
      return 'renumbered'
    }
    if (!isOld && ahead !== 1 && step !== this.step) return 'held'
    this.#drop()
    this.#restart(packet, transit, before)
    return ahead === 1 ? 'retimed' : 'renumbered'
  }

  /** Keeps a packet that was judged as `held`. @param bytes are copied */
  hold({ sequence, timestamp }: RtpPacket, bytes: Uint8Array, transit: number, at: number): void {
    this.#drop()
    this.#held = { bytes: bytes.slice(), sequence, timestamp, transit, at, next: this.nextSequence }
  }

  /** After a restart: the packet before the one that was judged, which comes first; null: none was held. */
  release(): HeldPacket | null {
    const held = this.#held
    this.#held = null
    return held
  }

  /** Another source. */
  reset(): void {
    this.#drop()
    this.sequenceShift = 0
    this.timestampShift = 0
    this.#clockRateHz = 0
  }

  /** The first packet of all, or of another clock. */
  #begin({ sequence, timestamp }: RtpPacket, clockRateHz: number): 'on' {
    this.#clockRateHz = clockRateHz
    this.#fastest = Number.NaN
    this.#fastestSince = Number.NaN
    this.step = clockRateHz / 50
    this.#follow(sequence, timestamp, this.step)
    this.#stepped = 0
    return 'on'
  }

  /** Timestamp units in one of 8 kHz. */
  get #scale(): number {
    return this.#clockRateHz / (1000 * UNITS_PER_MS)
  }

  #follow(sequence: number, timestamp: number, step: number, isEven = false): void {
    if (!isEven) this.#evenSince = sequence
    if (step > 0 && step <= this.#longest && (step < this.step || this.#isNoPause(sequence, step))) this.step = step
    this.nextSequence = (sequence + 1) & 0xffff
    this.#stepped = step
    this.#steppedNext = this.nextSequence
    this.nextTimestamp = (timestamp + this.step) | 0
  }

  /** Packets that become longer are as far apart twice in a row, and pauses are not. */
  #isNoPause(sequence: number, step: number): boolean {
    return sequence === this.#steppedNext && (this.#stepped === 0 || this.#stepped === step)
  }

  /** From the newest packet. */
  #stepTo(timestamp: number): number {
    return (timestamp - this.nextTimestamp + this.step) | 0
  }

  /** Of a packet [timestamp units]. */
  get #longest(): number {
    return PACKET_MS * UNITS_PER_MS * this.#scale
  }

  /** Whether it follows those before it, with a pause, or after some that are lost. */
  #mayFollow(ahead: number, step: number, late: number, now: number): boolean {
    // There is no room for the packets that are missing before it.
    const isFull = ahead > 1 && step <= (ahead - 1) * this.step
    if (step < 0 || (isFull && (ahead > FEW || now - this.#otherAt > OTHERS_MS))) return false
    const pause = (step - ahead * this.step) / this.#scale
    const faster = FASTER_MS[ahead === 1 ? 'next' : 'ahead'] * UNITS_PER_MS
    return late > -(pause > 0 ? Math.min(faster, Math.max(pause / 2, LEAST_FASTER_MS * UNITS_PER_MS)) : faster)
  }

  /** Whether it is as old as its number. */
  #mayBeOld(ahead: number, step: number): boolean {
    if (ahead === 0) return step === 0
    const even = (this.nextSequence - 1 - this.#evenSince) & 0xffff
    return -ahead <= even ? step === ahead * this.step : 2 * step <= ahead * this.step
  }

  /** An old packet has come. @returns whether it and those before it are none that have come twice, since nothing newer comes any more */
  #isRepeated(sequence: number, now: number): boolean {
    const repeats = this.#repeats
    if (sequence !== repeats.following || repeats.next !== this.nextSequence) {
      repeats.count = 0
      repeats.since = now
      repeats.next = this.nextSequence
    }
    repeats.following = (sequence + 1) & 0xffff
    return ++repeats.count >= REPEATS && now - repeats.since >= REPEATS_MS
  }

  #continues({ sequence, timestamp, next }: HeldPacket, packet: RtpPacket): boolean {
    const step = (packet.timestamp - timestamp) | 0
    const isNext = packet.sequence === ((sequence + 1) & 0xffff) && next === this.nextSequence
    return isNext && step > 0 && step <= this.#longest
  }

  /** A packet is the next one, whatever its numbers are; where its timestamp is wrong, too, it comes a pause after the one before, if there was any. */
  #restart({ sequence, timestamp }: { sequence: number; timestamp: number }, transit: number, before: number): void {
    const usual = this.step
    const step = this.#stepTo(timestamp)
    this.sequenceShift = (this.sequenceShift + this.nextSequence - sequence) & 0xffff
    if (step !== usual) {
      const pause = (transit + (step - usual) / this.#scale - before) | 0
      const frames = pause > PAUSE_MS * UNITS_PER_MS ? Math.round((pause * this.#scale) / usual) : 0
      this.timestampShift = (this.timestampShift + (1 + frames) * usual - step) | 0
    }
    this.#follow(sequence, timestamp, usual)
  }

  #drop(): void {
    if (this.#held !== null) this.dropped++
    this.#held = null
  }
}
