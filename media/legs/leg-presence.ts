import { OneWayWatch } from '../rtp/one-way-watch.ts'
import type { LegMedia } from './leg-media.ts'

/**
 * A party that sends nothing for this long, although it should, and does not answer by SIP either, has gone [ms]. One that has said that it falls
 * silent need not send anything more (RFC 3389 §4); if it is gone, that shows when its session is refreshed, as while it holds.
 */
const RTP_TIMEOUT_MS = 60_000
/**
 * Some phones leave out silence, do not say so, and send no reports: such a one is asked by SIP, late, as few calls need it. The rest of the minute
 * is time for six transmissions (RFC 3261 §17.1.2.2) [ms].
 */
const ASKED_AFTER_MS = 45_000
/** A browser checks its path every few seconds (RFC 7675), also when it sends nothing. Without a check for this long its page is gone [ms]. */
const PAGE_TIMEOUT_MS = 15_000
/** A path without packets for this long is not usable [ms]. */
const FLOWING_MS = 1000

/** `isQuiet`: it is to be asked by SIP whether it is there. */
interface PresenceReport {
  isTimedOut: boolean
  isOneWay: boolean
  isQuiet: boolean
}

/** Monitors the arrival of a party's audio: early media, missing audio, and its end. */
export class LegPresence {
  /** Arrival of its last packet [ms], written by the owner. */
  lastPacketAt = Number.POSITIVE_INFINITY
  /** Arrival of its last packet of audio or of a key [ms], written by the owner. What follows from it is found out on demand. */
  heardAt = Number.NEGATIVE_INFINITY
  readonly #oneWay = new OneWayWatch()
  /** When its early media could begin; null: the call is answered, or it has none yet. */
  #earlySince: number | null = null
  #isEarlyTold = false
  #listened = false
  /** When the party said that it falls silent, NaN: it did not; audio that comes later takes that back [ms]. */
  #silentAt = Number.NaN
  /** When the party was last reported as gone, and when it has answered by SIP [ms]. */
  #goneAt = Number.NEGATIVE_INFINITY
  #presentAt = Number.NEGATIVE_INFINITY
  /** The last sign of life before it was asked [ms]. */
  #askedAfter = Number.NaN
  /** Whether audio is expected. A far end that holds us by `sendonly` may send, but many phones then send nothing. */
  #isExpected = false

  /** Notes the negotiated description. `isEarly`: the call is unanswered. */
  agree(direction: LegMedia['direction'], isEarly: boolean, now: number): void {
    const wasExpected = this.#isExpected && this.#earlySince === null
    this.#listened = direction === 'sendrecv' || direction === 'recvonly'
    this.#isExpected = direction === 'sendrecv'
    if (!isEarly) this.#earlySince = null
    else this.#earlySince ??= now
    if (this.#isExpected && !wasExpected && !isEarly) {
      this.#silentAt = Number.NaN
      this.#watch.expect(now)
    }
    this.lastPacketAt = now
  }

  /** It sends no audio, and is not expected to. */
  isElsewhere(at: number): void {
    this.lastPacketAt = at
    this.heardAt = at
  }

  /** It has answered by SIP. */
  isThere(now: number): void {
    this.#presentAt = now
  }

  /** A packet marked the beginning of a talkspurt. */
  begins(now: number): void {
    this.#watch.begins(now)
    this.heardAt = now
  }

  /** It announced silence. */
  fellSilent(now: number): void {
    this.#silentAt = now
    this.#watch.fellSilent()
  }

  /** Its source is gone, and another one may follow. */
  left(): void {
    this.#silentAt = Number.NaN
    this.#watch.fellSilent()
  }

  get #watch(): OneWayWatch {
    this.#oneWay.heardAt = this.heardAt
    return this.#oneWay
  }

  isFlowing(now: number): boolean {
    return this.flowsSince(FLOWING_MS, now)
  }

  /** Whether something has arrived within this time [ms]. */
  flowsSince(ms: number, now: number): boolean {
    return now - this.lastPacketAt < ms
  }

  /**
   * The report about its audio that is due now; null: none. A party that has not answered may be silent. `checkedAt`: a browser's last check of
   * its path; null: it is none.
   */
  check(now: number, checkedAt: number | null): PresenceReport | null {
    if (this.#earlySince !== null || (checkedAt === null && !this.#isExpected)) return null
    const since = Math.max(this.lastPacketAt, this.#goneAt, this.#presentAt, checkedAt ?? 0)
    const isSilent = checkedAt === null && this.#silentAt >= this.heardAt
    const isTimedOut = !isSilent && now - since > (checkedAt === null ? RTP_TIMEOUT_MS : PAGE_TIMEOUT_MS)
    if (isTimedOut) this.#goneAt = now
    const isOneWay = this.#isExpected && this.#watch.isDue(now)
    const isQuiet = !isSilent && checkedAt === null && this.#isToAsk(since, now)
    return isTimedOut || isOneWay || isQuiet ? { isTimedOut, isOneWay, isQuiet } : null
  }

  #isToAsk(since: number, now: number): boolean {
    if (now - since <= ASKED_AFTER_MS || since === this.#askedAfter) return false
    this.#askedAfter = since
    return true
  }

  /** Whether early media has begun; true once. */
  isEarlyHeard(): boolean {
    const since = this.#earlySince
    if (!this.#listened || since === null || this.#isEarlyTold || this.heardAt < since) return false
    this.#isEarlyTold = true
    return true
  }
}
