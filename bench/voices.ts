import { clamp16, NARROWBAND_HZ } from '../codecs/audio.ts'

/** A phone's audio: fills the next frame of 160 samples. */
export type Voice = (frame: Int16Array) => void

export const silence: Voice = frame => {
  frame.fill(0)
}

/** A sine that never ends. `levelDb` against a full-scale sine. */
export function tone(hz: number, levelDb = -12): Voice {
  const amplitude = 32_767 * 10 ** (levelDb / 20)
  const step = (2 * Math.PI * hz) / NARROWBAND_HZ
  let at = 0
  return frame => {
    for (let i = 0; i < frame.length; i++) frame[i] = clamp16(Math.round(amplitude * Math.sin(step * at++)))
  }
}

/** Given samples once, then silence. */
export function samplesOf(samples: Int16Array): Voice {
  let at = 0
  return frame => {
    frame.fill(0)
    frame.set(samples.subarray(at, at + frame.length))
    at += frame.length
  }
}

/** White noise at about -15 dBov that is the same for the same seed (xorshift). */
export function noise(seed: number): Voice {
  let state = seed | 1
  return frame => {
    for (let i = 0; i < frame.length; i++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      frame[i] = state >> 18
    }
  }
}
