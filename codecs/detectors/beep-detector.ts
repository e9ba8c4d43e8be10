import { FRAME_MS, type Frame } from '../audio.ts'
import { levelDbov, SILENCE_DBOV } from '../level.ts'
import { SteadyTone, type ToneHeard } from './steady-tone.ts'

/** Shorter tones are parts of a melody, longer ones ring [ms]. */
const LEAST_MS = 100
const MOST_MS = 2500
/**
 * Before a beep it was silent: so much softer for three frames, behind two in which it may have begun. A voice that holds a vowel or an `m` for as
 * long was there before; few hold one for 240 ms.
 */
const SILENCE_DB = 12
const BEFORE = { frames: 3, begun: 2 }
const SURE_MS = 240
/** Behind a beep it is quiet: what goes on at once was none [frames]. */
const QUIET_FRAMES = 8
/** Sound that is this much softer than the beep counts as silence: its echo, and noise that the detector takes for a voice behind a tone [dB]. */
const QUIET_DB = 9

const LOUDEST_DBOV = 0

/** Hears the beep after which a machine records, by frames of 20 ms. */
export class BeepDetector {
  /** The tone that has ended with the last frame, a beep or not; null: none has. */
  ended: ToneHeard | null = null
  readonly #tone = new SteadyTone()
  /** Levels of the last frames, the newest first [dBov]. What was before the first one is not known, and is no silence: a voice may be in a word. */
  readonly #levels = new Array<number>(BEFORE.frames + BEFORE.begun).fill(LOUDEST_DBOV)
  /** The loudest frame of the current or last tone, whether it came out of silence, and the loudest of the beep [dBov]. */
  #toneDb = SILENCE_DBOV
  #isOutOfSilence = false
  #beepDb = SILENCE_DBOV
  /** Since a tone that may have been a beep [frames]; -1: there was none. */
  #behind = -1

  /** How long what is on has been a tone, and no voice [ms]; 0: it is none. */
  get toneMs(): number {
    return this.#tone.steadyFrames * FRAME_MS
  }

  /** A beep may be on or just over: whoever spoke before it has not fallen silent, but is a machine. */
  get isExpected(): boolean {
    const ms = this.#tone.frames * FRAME_MS
    return this.#behind >= 0 || (this.#isOutOfSilence && ms >= LEAST_MS && ms <= MOST_MS)
  }

  /** @param isVoice there is a voice in the frame @returns whether there was a beep, and it has become quiet behind it */
  write(frame: Frame, isVoice: boolean): boolean {
    const level = levelDbov(frame)
    this.ended = this.#tone.write(frame)
    if (this.#isBeep(this.ended)) {
      this.#behind = 0
      this.#beepDb = this.#toneDb
    } else if (this.#behind >= 0) {
      const isSound = isVoice || this.#tone.frames > 1
      this.#behind = isSound && level > this.#beepDb - QUIET_DB ? -1 : this.#behind + 1
    }
    if (this.#tone.frames === 1) {
      this.#isOutOfSilence = this.#levels.slice(BEFORE.begun).every(before => before < level - SILENCE_DB)
      this.#toneDb = level
    } else if (this.#tone.frames > 1) this.#toneDb = Math.max(this.#toneDb, level)
    this.#levels.pop()
    this.#levels.unshift(level)
    return this.#behind >= QUIET_FRAMES
  }

  #isBeep(tone: ToneHeard | null): boolean {
    if (tone === null || tone.ms < LEAST_MS || tone.ms > MOST_MS) return false
    return this.#isOutOfSilence || tone.ms >= SURE_MS
  }
}
