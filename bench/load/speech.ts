import { seededNoise } from '../hearing/noises.ts'

/** A room's conversation repeats after a minute [slots of 20 ms]. */
const SLOTS = 3000
const SLOT_MS = 20
/** Lengths of spurts and pauses: mean and bounds [slots]. */
const SPURT = { mean: 80, least: 20, most: 400 }
const PAUSE = { mean: 25, least: 15, most: 100 }
/** Share of spurts in which two parties speak at once. */
const BOTH_SHARE = 0.06

const NOBODY = -1

/**
 * Who speaks in each room and when: one party for some seconds, a pause, the next one. Sometimes two speak at once; then no mark could be read, so
 * they say none. Each room has its own conversation, the same in every run.
 */
export class Speech {
  readonly #roomSize: number
  readonly #legs: number
  readonly #first: Int16Array
  readonly #second: Int16Array

  constructor(legs: number, roomSize: number) {
    this.#legs = legs
    this.#roomSize = roomSize
    const rooms = Math.ceil(legs / roomSize)
    this.#first = new Int16Array(rooms * SLOTS).fill(NOBODY)
    this.#second = new Int16Array(rooms * SLOTS).fill(NOBODY)
    for (let room = 0; room < rooms; room++) this.#plan(room)
  }

  /** What a leg says at `ms` after the start. */
  at(leg: number, ms: number): 'marks' | 'voice' | 'silence' {
    const room = Math.floor(leg / this.#roomSize)
    const place = leg % this.#roomSize
    const slot = room * SLOTS + (Math.floor(ms / SLOT_MS) % SLOTS)
    const isFirst = this.#first[slot] === place
    if (this.#second[slot] !== NOBODY) return isFirst || this.#second[slot] === place ? 'voice' : 'silence'
    return isFirst ? 'marks' : 'silence'
  }

  /** Number of the other legs in a leg's room, which hear it. */
  othersOf(leg: number): number {
    const room = leg - (leg % this.#roomSize)
    return Math.min(this.#roomSize, this.#legs - room) - 1
  }

  #plan(room: number): void {
    const noise = seededNoise(room + 1)
    const random = (): number => (noise() + 1) / 2
    const length = ({ mean, least, most }: typeof SPURT): number =>
      Math.round(Math.min(most, Math.max(least, -mean * Math.log(1 - random()))))
    const members = this.othersOf(room * this.#roomSize) + 1
    const anybody = (): number => Math.min(members - 1, Math.floor(random() * members))
    for (let slot = Math.floor(random() * SPURT.mean); slot < SLOTS; ) {
      const end = Math.min(SLOTS - PAUSE.least, slot + length(SPURT))
      const [first, other] = [anybody(), anybody()]
      const isBoth = random() < BOTH_SHARE && other !== first
      for (; slot < end; slot++) {
        this.#first[room * SLOTS + slot] = first
        if (isBoth) this.#second[room * SLOTS + slot] = other
      }
      slot += length(PAUSE)
    }
  }
}
