import type { Frame } from '../audio.ts'
import { levelDbov, SILENCE_DBOV } from '../level.ts'
import type { VoiceDetector } from '../voice-activity.ts'

/**
 * A person speaking into the phone is at most this much softer than their own loudest speech; other people in the room, a radio and
 * our echo are softer still [dB].
 */
const NEAR_DB = 14
/** The loudest speech is forgotten so fast: it is that of the last seconds [dB per frame]. */
const FALL_DB = 0.02
/** Sound before a voice that is this much louder came from somebody else [dB]. */
const ROSE_DB = 10

/** Tells the voice of whoever holds the phone from silence, noise and softer voices in the background. */
export class NearVoice {
  /** The last frame was so much louder than all voices before that those were others. */
  hasRisen = false
  /** The last frame had a voice, whoever's. */
  isVoice = false
  readonly #voices: VoiceDetector
  #loudestDb = SILENCE_DBOV

  constructor(voices: VoiceDetector) {
    this.#voices = voices
  }

  /** @param isSpeech the sound belongs to somebody who is speaking already @param isComfort it is comfort noise, which is no voice */
  hear(frame: Frame, isSpeech: boolean, isComfort: boolean): boolean {
    this.isVoice = this.#voices.hear(frame, isSpeech && !isComfort) !== 'none' && !isComfort
    this.#loudestDb -= FALL_DB
    this.hasRisen = false
    if (!this.isVoice) return false
    const level = levelDbov(frame)
    this.hasRisen = level > this.#loudestDb + ROSE_DB
    this.#loudestDb = Math.max(this.#loudestDb, level)
    return level > this.#loudestDb - NEAR_DB
  }
}
