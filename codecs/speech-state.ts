import type { Voice } from './voice-activity.ts'

/** So many frames with voice among so many declare speech: a click or a cough is none. */
const BEGIN_FRAMES = 6
const AMONG_FRAMES = 10
/** So many without end it: a breath between two words does not [frames]. */
const END_FRAMES = 35

/** Whether somebody is speaking, by the voice in the frames, with hysteresis. */
export class SpeechState {
  isSpeaking = false
  /** The last frames, a bit each; the latest is the lowest. */
  #voices = 0
  #silent = 0

  hear(voice: Voice): void {
    this.#voices = ((this.#voices << 1) | (voice === 'voice' ? 1 : 0)) & ((1 << AMONG_FRAMES) - 1)
    this.#silent = voice === 'none' ? this.#silent + 1 : 0
    const isSpeaking = this.isSpeaking ? this.#silent < END_FRAMES : bitsOf(this.#voices) >= BEGIN_FRAMES
    if (this.isSpeaking && !isSpeaking) this.#voices = 0
    this.isSpeaking = isSpeaking
  }
}

function bitsOf(value: number): number {
  let bits = 0
  for (let rest = value; rest !== 0; rest &= rest - 1) bits++
  return bits
}
