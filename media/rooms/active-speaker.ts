import type { Leg } from './leg.ts'
import type { Room, RoomTap } from './room.ts'

/** Interval of checks [ticks]. */
const EVERY_TICKS = 5
/** An interrupting speaker becomes the active one when it has been louder by this much for this long, so not by a single word [dB, checks]. */
const LOUDER_DB = 3
const LOUDER_LOOKS = 6

/**
 * The active speaker of a room: the loudest one. A speaker who falls silent stays it until somebody else speaks, so that a breath
 * changes nothing. Two who speak at once do not alternate with every syllable.
 */
export class ActiveSpeaker implements RoomTap {
  #legId: string | null = null
  readonly #room: Room
  readonly #changed: (legId: string | null) => void
  #ticks = 0
  #rival: string | null = null
  #looks = 0

  constructor(room: Room, changed: (legId: string | null) => void) {
    this.#room = room
    this.#changed = changed
  }

  get legId(): string | null {
    return this.#legId
  }

  played(): void {}

  tick(): void {
    if (this.#ticks++ % EVERY_TICKS !== 0) return
    let current: Leg | null = null
    let loudest: Leg | null = null
    for (const leg of this.#room.legs) {
      if (leg.id === this.#legId) current = leg
      if (leg.voice?.isSpeaking !== true) continue
      if (loudest === null || leg.voice.levelDbov > loudest.voice!.levelDbov) loudest = leg
    }
    if (loudest !== null && loudest !== current && this.#isNext(loudest, current)) this.#take(loudest.id)
    else if (current === null && this.#legId !== null) this.#take(null)
  }

  #isNext(rival: Leg, current: Leg | null): boolean {
    if (current?.voice?.isSpeaking !== true) return true
    const isLouder = rival.voice!.levelDbov >= current.voice.levelDbov + LOUDER_DB
    this.#looks = isLouder && this.#rival === rival.id ? this.#looks + 1 : isLouder ? 1 : 0
    this.#rival = rival.id
    return this.#looks >= LOUDER_LOOKS
  }

  #take(legId: string | null): void {
    this.#legId = legId
    this.#rival = null
    this.#looks = 0
    this.#changed(legId)
  }
}
