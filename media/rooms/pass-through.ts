import type { Leg } from './leg.ts'

/** All conditions must have held this long before packets are relayed: a key, a prompt or a pause in speech seldom comes alone [frames]. */
const PLAIN_FRAMES = 50

/** The part of a room that matters for pass-through. */
interface PlainRoom {
  readonly legs: readonly Leg[]
  /** It contains nothing but its members' own voices, and nobody else listens. */
  readonly isPlain: boolean
}

/**
 * Relays packets between two parties with the same codec if nobody else is heard or listens: there is nothing to mix. It ends with
 * the first packet for which the conditions no longer hold, whatever has begun: they are checked for each packet.
 */
export class PassThrough {
  /** Packets are being relayed. */
  isOn = false
  readonly #room: PlainRoom
  readonly #changed: (isOn: boolean) => void
  #plain = 0

  constructor(room: PlainRoom, changed: (isOn: boolean) => void) {
    this.#room = room
    this.#changed = changed
  }

  /** Begins a tick. @returns true: nothing has to be mixed in it */
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

  /** Somebody has left: the conditions must hold as long for whoever comes next. */
  restart(): void {
    this.#plain = 0
  }

  #isOpen(one: Leg, other: Leg): boolean {
    const { legs, isPlain } = this.#room
    return legs.length === 2 && legs[0] === one && legs[1] === other && isPlain && one.isPlain && other.isPlain
  }

  /** Back to the mix: a leg that is pulled stops relaying. */
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
