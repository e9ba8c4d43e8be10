import { SILENCE_DBOV } from './level.ts'
import type { Voice } from './voice-activity.ts'

/** Target level of voices: between the loud and the soft talkers on telephones (ITU-T P.56 active level) [dBov]. */
const TARGET_DBOV = -22
/** More is not given and not taken [dB]. */
const MOST_DB = 18
const LEAST_DB = -15
/** Slow, so that a talker's own loud and soft words stay so; down faster than up [dB per frame of voice]. */
const UP_DB = 0.08
const DOWN_DB = 0.24
/** The level of a voice is that of its last second or two [share of a frame of voice]. */
const FOLLOWING = 0.015
/** So many frames are heard before anything is believed. */
const FIRST_FRAMES = 15
/**
 * What is softer than the talker by this much, ends of words aside, is others behind it: noise, whatever a detector of voices says (as in
 * ITU-T P.56). A talker who has moved away from the telephone becomes the measure after a while [dB, dB per such frame].
 */
const FAR_DB = 15
const MOVING_DB = 0.01
/** Noise is the softest sound without a voice; the ends of words are none either [share of a frame without voice]. */
const NOISE_FALLING = 0.2
const NOISE_RISING = 0.005
/** Gain may raise the noise between words up to this level only [dBov]. */
const NOISE_CEILING_DBOV = -45
/** So long without a voice: then nothing is added any more, and it fades so fast [frames, dB per frame]. */
const HANGOVER_FRAMES = 40
const FADE_DB = 0.8
/** By a voice it is there again at once: within one frame for what is usual [dB per frame]. */
const RETURN_DB = 12

const dbOf = (energy: number): number => (energy <= 0 ? SILENCE_DBOV : 10 * Math.log10(energy))

/**
 * Brings a talker slowly to the level at which all others speak. It learns from voice alone, so that noise is never raised to where a
 * voice belongs; in longer pauses nothing is added.
 */
export class AutoGain {
  /** The gain to apply from here on [dB]. */
  gainDb = 0
  /** The gain that the voice needs [dB]. */
  #wantedDb = 0
  /** Mean power of the voice, and of what was none; full scale is 1. */
  #voice = 0
  #noise = 0
  #voiceFrames = 0
  #silentFrames = 0

  /** @param levelDbov of the frame, as it came */
  hear(levelDbov: number, voice: Voice): void {
    const power = 10 ** (levelDbov / 10)
    const isFar = voice === 'voice' && this.#isFar(levelDbov)
    if (voice === 'voice' && !isFar) this.#learn(power)
    if (voice === 'none' || isFar) {
      this.#silentFrames++
      this.#noise += (power - this.#noise) * (power < this.#noise ? NOISE_FALLING : NOISE_RISING)
    } else this.#silentFrames = 0
    const isPause = this.#silentFrames > HANGOVER_FRAMES
    const wanted = isPause ? Math.min(0, this.#wantedDb) : this.#wantedDb
    const most = isPause ? FADE_DB : RETURN_DB
    this.gainDb += Math.max(-most, Math.min(most, wanted - this.gainDb))
  }

  #isFar(levelDbov: number): boolean {
    if (this.#voiceFrames < FIRST_FRAMES || levelDbov > dbOf(this.#voice) - FAR_DB) return false
    this.#voice *= 10 ** (-MOVING_DB / 10)
    return true
  }

  #learn(power: number): void {
    const count = ++this.#voiceFrames
    this.#voice += (power - this.#voice) * Math.max(FOLLOWING, 1 / count)
    if (count < FIRST_FRAMES) return
    const room = Math.max(0, NOISE_CEILING_DBOV - dbOf(this.#noise))
    const most = Math.min(MOST_DB, room)
    const needed = Math.max(LEAST_DB, Math.min(most, TARGET_DBOV - dbOf(this.#voice)))
    this.#wantedDb += Math.max(-DOWN_DB, Math.min(UP_DB, needed - this.#wantedDb))
  }
}
