import { dbOf } from './level.ts'
import type { Voice } from './voice-activity.ts'

/** Target level of voices: between the loud and the soft talkers on telephones (ITU-T P.56 active level) [dBov]. */
const TARGET_DBOV = -22
/** More is not given and not taken [dB]. */
const MOST_DB = 18
const LEAST_DB = -15
/** Slow, so that a talker's own loud and soft words stay so; down faster than up [dB per frame of voice]. */
const UP_DB = 0.08
const DOWN_DB = 0.24
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

/**
 * Brings a talker slowly to the level at which all others speak. It learns from voice alone, so that noise is never raised to where a
 * voice belongs; in longer pauses nothing is added.
 */
export class AutoGain {
  /** The gain to apply from here on [dB]. */
  gainDb = 0
  /** The gain that the voice needs [dB]. */
  #wantedDb = 0
  /** Mean power of what was no voice; full scale is 1. */
  #noise = 0
  #silentFrames = 0

  /**
   * @param levelDbov of the frame, as it came
   * @param voice whether the talker has a voice in it
   * @param ownDbov how loud the talker is; null: not known yet
   */
  hear(levelDbov: number, voice: Voice, ownDbov: number | null): void {
    if (voice === 'voice' && ownDbov !== null) this.#learn(ownDbov)
    if (voice === 'none') {
      const power = 10 ** (levelDbov / 10)
      this.#silentFrames++
      this.#noise += (power - this.#noise) * (power < this.#noise ? NOISE_FALLING : NOISE_RISING)
    } else this.#silentFrames = 0
    const isPause = this.#silentFrames > HANGOVER_FRAMES
    const wanted = isPause ? Math.min(0, this.#wantedDb) : this.#wantedDb
    const most = isPause ? FADE_DB : RETURN_DB
    this.gainDb += Math.max(-most, Math.min(most, wanted - this.gainDb))
  }

  #learn(ownDbov: number): void {
    const room = Math.max(0, NOISE_CEILING_DBOV - dbOf(this.#noise))
    const most = Math.min(MOST_DB, room)
    const needed = Math.max(LEAST_DB, Math.min(most, TARGET_DBOV - ownDbov))
    this.#wantedDb += Math.max(-DOWN_DB, Math.min(UP_DB, needed - this.#wantedDb))
  }
}
