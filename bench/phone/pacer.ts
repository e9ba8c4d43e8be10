import { Clock, SLOTS } from '../../media/engine/clock.ts'

/** Calls every member once in 20 ms, spread over the slots of a frame; runs while it has members. */
class Pacer {
  readonly #slots: (() => void)[][] = Array.from({ length: SLOTS }, () => [])
  readonly #clock = new Clock(
    slot => {
      for (const member of this.#slots[slot]!.slice()) member()
    },
    () => performance.now(),
  )
  #joined = 0

  /** Adds a member. @returns a function that removes it; idempotent */
  join(member: () => void): () => void {
    const slot = this.#slots[this.#joined++ % SLOTS]!
    slot.push(member)
    this.#clock.start()
    return () => {
      if (slot.includes(member)) slot.splice(slot.indexOf(member), 1)
      if (this.#slots.every(members => members.length === 0)) this.#clock.stop()
    }
  }
}

/** One clock for all phones of the process. */
export const pacer = new Pacer()
