import { OneWayWatch } from '../rtp/one-way-watch.ts'

/** A party that sends nothing for this long, although it should, is gone [ms]. */
const RTP_TIMEOUT_MS = 60_000
/** A way by which nothing has come for so long is none [ms]. */
const FLOWING_MS = 1000

/** Whether a party's audio comes: before the answer, where it should and does not, and no more. */
export class LegPresence {
  /** When anything of it came last [ms]. Its owner writes it with each packet. */
  lastPacketAt = Number.POSITIVE_INFINITY
  readonly oneWay = new OneWayWatch()
  /** When its audio before the answer could begin; null: the call is answered, or has none yet. */
  #earlySince: number | null = null
  #isEarlyTold = false
  #listened = false

  /** A description was agreed on. `listens`: we hear what comes; `isEarly`: the call is not answered yet. */
  agree(listens: boolean, isEarly: boolean, now: number): void {
    const listened = this.#listened && this.#earlySince === null
    this.#listened = listens
    if (!isEarly) this.#earlySince = null
    else this.#earlySince ??= now
    if (listens && !listened && !isEarly) this.oneWay.expect(now)
    this.lastPacketAt = now
  }

  /** It sends no audio, and is not expected to. */
  isElsewhere(at: number): void {
    this.lastPacketAt = at
    this.oneWay.heardAt = at
  }

  isFlowing(now: number): boolean {
    return this.flowsSince(FLOWING_MS, now)
  }

  /** Whether something has come within so long [ms]. */
  flowsSince(ms: number, now: number): boolean {
    return now - this.lastPacketAt < ms
  }

  /** What is to be told of its audio now; null: nothing. Who has not answered may be silent for as long as it likes. */
  check(now: number): { isTimedOut: boolean; isOneWay: boolean } | null {
    if (!this.#listened || this.#earlySince !== null) return null
    const isTimedOut = now - this.lastPacketAt > RTP_TIMEOUT_MS
    if (isTimedOut) this.lastPacketAt = now
    const isOneWay = this.oneWay.isDue(now)
    return isTimedOut || isOneWay ? { isTimedOut, isOneWay } : null
  }

  /** Whether it is heard before the answer; true once. */
  isEarlyHeard(): boolean {
    const since = this.#earlySince
    if (!this.#listened || since === null || this.#isEarlyTold || this.oneWay.heardAt < since) return false
    this.#isEarlyTold = true
    return true
  }
}
