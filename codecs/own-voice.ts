import { dbOf } from './level.ts'
import type { Voice } from './voice-activity.ts'

/** The level of a voice is that of its last second or two [share of a frame of voice]. */
const FOLLOWING = 0.015
/** So many frames are heard before anything is believed. */
const FIRST_FRAMES = 15
/**
 * What is softer than the talker by this much does not belong to how loud the talker is (as in ITU-T P.56). A talker who has moved away from the
 * telephone becomes the measure after a while [dB, dB per such frame].
 */
const FAR_DB = 15
const MOVING_DB = 0.01
/** Begins and ends of words are as soft. If there is more of it than half of the silence by so much, it is others [frames]. */
const OTHERS_FRAMES = 25
const MOST_FRAMES = 100
const SILENCE_SHARE = 0.5

/** How loud the one who speaks into the telephone is, and when others behind are heard: in an office, a restaurant. */
export class OwnVoice {
  #power = 0
  #frames = 0
  #far = 0
  /** The last frame with a voice was too soft to tell how loud the talker is. */
  isFar = false

  /** null: not enough was heard yet [dBov]. */
  get levelDbov(): number | null {
    return this.#frames < FIRST_FRAMES ? null : dbOf(this.#power)
  }

  /** @param levelDbov of the frame @returns whether the talker has a voice in it: others have none */
  hear(levelDbov: number, voice: Voice): Voice {
    if (voice === 'none') {
      this.#far = Math.max(0, this.#far - SILENCE_SHARE)
      return 'none'
    }
    const own = this.levelDbov
    this.isFar = own !== null && levelDbov < own - FAR_DB
    if (!this.isFar) {
      if (voice === 'voice') this.#learn(10 ** (levelDbov / 10))
      return voice
    }
    this.#power *= 10 ** (-MOVING_DB / 10)
    this.#far = Math.min(MOST_FRAMES, this.#far + 1)
    return this.#far < OTHERS_FRAMES ? voice : 'none'
  }

  #learn(power: number): void {
    this.#power += (power - this.#power) * Math.max(FOLLOWING, 1 / ++this.#frames)
  }
}
