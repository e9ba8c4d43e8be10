import type { Leg } from './leg.ts'

/** So long all must be as plain as it is before packets pass: a key, a prompt or a pause of speech seldom comes alone [frames]. */
const PLAIN_FRAMES = 50

/** A room, as far as who passes packets through it must know it. */
export interface PlainRoom {
  readonly legs: readonly Leg[]
  /** Nothing but its members is heard in it, and nobody but they hear it. */
  readonly isPlain: boolean
}

/**
 * Two parties in the same codec, of whom nobody else hears or says anything: there is nothing to mix, and packets go from one to the other as
 * they come. That ends with the first packet for which it is not so any more, whatever was begun: each one is asked for.
 */
export class PassThrough {
  /** Packets pass. */
  isOn = false
  readonly #room: PlainRoom
  readonly #changed: (isOn: boolean) => void
  #plain = 0

  constructor(room: PlainRoom, changed: (isOn: boolean) => void) {
    this.#room = room
    this.#changed = changed
  }

  /** Begins a tick. @returns true: nothing is to be mixed in it */
  tick(now: number): boolean {
    const [one, other] = this.#room.legs
    if (one === undefined || other === undefined || !this.#isOpen(one, other)) {
      this.#plain = 0
      return this.#end()
    }
    if (this.isOn) {
      const isPassing = one.passed(now)
      return (other.passed(now) && isPassing) || this.#end()
    }

    if (++this.#plain < PLAIN_FRAMES || !one.mayPassTo(other, now) || !other.mayPassTo(one, now)) return false
    const isOpen = (): boolean => this.#isOpen(one, other)
    if (!one.passTo(other, isOpen, now)) return false
    this.#set(true)
    return other.passTo(one, isOpen, now) || this.#end()
  }

  #isOpen(one: Leg, other: Leg): boolean {
    const { legs, isPlain } = this.#room
    return legs.length === 2 && legs[0] === one && legs[1] === other && isPlain && one.isPlain && other.isPlain
  }

  /** The mix goes on: whoever is pulled passes nothing more. */
  #end(): false {
    if (this.isOn) this.#plain = 0
    this.#set(false)
    return false
  }

  #set(isOn: boolean): void {
    if (isOn === this.isOn) return
    this.isOn = isOn
    this.#changed(isOn)
  }

  /** Idempotent. */
  close(): void {
    this.#set(false)
  }
}
