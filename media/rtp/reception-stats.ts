/** Packets in order before a source is accepted, and how far a sequence number may be off (RFC 3550 §A.1). */
const MIN_SEQUENTIAL = 2
const MAX_DROPOUT = 3_000
const MAX_MISORDER = 100
const SEQUENCES = 65_536

/** One report block (RFC 3550 §6.4.1), as on the wire. */
export interface ReportBlock {
  /** of the stream that is reported on */
  ssrc: number
  /** of the last interval, 256 = all */
  fractionLost: number
  /** signed 24 bit; negative with duplicates */
  cumulativeLost: number
  /** cycles and sequence number, unsigned 32 bit */
  highestSequence: number
  /** timestamp units */
  jitter: number
  /** middle 32 bits of the NTP timestamp of the last sender report; 0 when none came */
  lastSr: number
  /** since then [1/65536 s] */
  delaySinceLastSr: number
}

/** To be filled in place. */
export const emptyBlock = (): ReportBlock => ({
  ssrc: 0,
  fractionLost: 0,
  cumulativeLost: 0,
  highestSequence: 0,
  jitter: 0,
  lastSr: 0,
  delaySinceLastSr: 0,
})

/** Statistics of one received stream: loss and jitter as in RTCP reports (RFC 3550 §A.1, §A.3, §A.8). */
export class ReceptionStats {
  /** valid packets of the present source */
  received = 0
  /** Of the last packet, from its timestamp to its arrival, against a fixed but unknown offset [timestamp units, signed 32 bit] */
  transit = 0
  readonly #clockRateHz: number
  readonly #block: ReportBlock = emptyBlock()
  #ssrc = -1
  #probation = MIN_SEQUENTIAL
  #base = 0
  #highest = 0
  #cycles = 0
  /** Where a stream that has jumped would continue; out of range if none has. */
  #bad = SEQUENCES + 1
  #expectedPrior = 0
  #receivedPrior = 0
  /** Packets expected and received from earlier sources, and from this one before its sequence numbers restarted. */
  #expectedBefore = 0
  #receivedBefore = 0
  #timestamp = -1
  #jitter = 0
  #lastSr = 0
  #lastSrMs = 0

  constructor(clockRateHz = 8_000) {
    this.#clockRateHz = clockRateHz
  }

  /**
   * Counts one packet. A new SSRC starts anew.
   *
   * @param arrivalMs monotonic [ms]
   * @returns false while the source is on probation, or when the number is far off: such a packet is not counted
   */
  receive(ssrc: number, sequence: number, timestamp: number, arrivalMs: number): boolean {
    if (ssrc !== this.#ssrc) {
      this.#keep()
      this.#start(sequence)
      this.#ssrc = ssrc
      this.#highest = (sequence - 1) & 0xffff
      this.#probation = MIN_SEQUENTIAL
      this.#lastSr = 0
    }
    if (!this.#follow(sequence)) return false
    this.#measureJitter(timestamp, arrivalMs)
    return true
  }

  /** From a packet's timestamp to its arrival, as `transit`. */
  transitOf(timestamp: number, arrivalMs: number): number {
    return (Math.round((arrivalMs * this.#clockRateHz) / 1_000) - timestamp) | 0
  }

  /** The source goes on from this number, which is none of a packet that was lost or came late. */
  restart(sequence: number): void {
    if (!this.valid) return
    const jitter = this.#jitter
    this.#keep()
    this.#start(sequence)
    this.#jitter = jitter
  }

  /** Notes a sender report of the source for LSR and DLSR. @param ntp middle 32 bits of its NTP timestamp */
  senderReport(ssrc: number, ntp: number, arrivalMs: number): void {
    if (ssrc !== this.#ssrc) return
    this.#lastSr = ntp
    this.#lastSrMs = arrivalMs
  }

  /** True when the source has passed its probation. */
  get valid(): boolean {
    return this.#ssrc >= 0 && this.#probation === 0
  }

  /** Packets that were due by now. */
  get expected(): number {
    return this.valid ? this.#cycles + this.#highest - this.#base + 1 : 0
  }

  /** Packets expected from all sources. */
  get allExpected(): number {
    return this.#expectedBefore + this.expected
  }

  get allReceived(): number {
    return this.#receivedBefore + this.received
  }

  /** Packets lost from all sources; negative with duplicates. */
  get allLost(): number {
    return this.#expectedBefore - this.#receivedBefore + this.cumulativeLost
  }

  /** Clamped to signed 24 bit; negative with duplicates. */
  get cumulativeLost(): number {
    return Math.max(-0x800000, Math.min(0x7fffff, this.expected - this.received))
  }

  /** Interarrival jitter [ms]. */
  get jitterMs(): number {
    return (this.#jitter * 1_000) / this.#clockRateHz
  }

  /**
   * The block for the next report; its fraction lost is that since the last call.
   *
   * @returns one object, reused; null before a source is valid
   */
  report(nowMs: number): ReportBlock | null {
    if (!this.valid) return null
    const block = this.#block
    const expectedInterval = this.expected - this.#expectedPrior
    const lostInterval = expectedInterval - (this.received - this.#receivedPrior)
    this.#expectedPrior = this.expected
    this.#receivedPrior = this.received
    block.ssrc = this.#ssrc
    const fraction = expectedInterval <= 0 ? 0 : Math.floor((lostInterval * 256) / expectedInterval)
    block.fractionLost = Math.max(0, Math.min(255, fraction))
    block.cumulativeLost = this.cumulativeLost
    block.highestSequence = (this.#cycles + this.#highest) >>> 0
    block.jitter = Math.floor(this.#jitter)
    block.lastSr = this.#lastSr
    block.delaySinceLastSr =
      this.#lastSr === 0 ? 0 : Math.max(0, Math.round(((nowMs - this.#lastSrMs) * 65_536) / 1_000)) >>> 0
    return block
  }

  /** The transition table of `update_seq` in RFC 3550 §A.1. */
  #follow(sequence: number): boolean {
    const ahead = (sequence - this.#highest) & 0xffff
    if (this.#probation > 0) {
      if (ahead !== 1) {
        this.#probation = MIN_SEQUENTIAL - 1
        this.#highest = sequence
        return false
      }
      this.#probation--
      this.#highest = sequence
      if (this.#probation > 0) return false
      this.#start(sequence)
    } else if (ahead < MAX_DROPOUT) {
      if (sequence < this.#highest) this.#cycles += SEQUENCES
      this.#highest = sequence
    } else if (ahead <= SEQUENCES - MAX_MISORDER) {
      if (sequence !== this.#bad) {
        this.#bad = (sequence + 1) & 0xffff
        return false
      }
      this.#keep()
      this.#start(sequence)
    }
    this.received++
    return true
  }

  /** Reports are about one source from its start (RFC 3550 §6.4.1); what a call was like is about all of it. */
  #keep(): void {
    this.#expectedBefore += this.expected
    this.#receivedBefore += this.received
  }

  #start(sequence: number): void {
    this.#base = sequence
    this.#highest = sequence
    this.#cycles = 0
    this.#bad = SEQUENCES + 1
    this.received = 0
    this.#expectedPrior = 0
    this.#receivedPrior = 0
    this.#timestamp = -1
    this.#jitter = 0
  }

  /** Packets with equal timestamps, as in a telephone event, say nothing about the network (RFC 4733 §2.5.2). */
  #measureJitter(timestamp: number, arrivalMs: number): void {
    if (timestamp === this.#timestamp) return
    const first = this.#timestamp < 0
    const transit = this.transitOf(timestamp, arrivalMs)
    const difference = Math.abs((transit - this.transit) | 0)
    this.#timestamp = timestamp
    this.transit = transit
    if (!first) this.#jitter += (difference - this.#jitter) / 16
  }
}
