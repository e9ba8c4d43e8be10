import { FRAME_MS, NARROWBAND_HZ, samplesPerFrame } from '../../codecs/audio.ts'
import { DtmfDetector } from '../../codecs/detectors/dtmf-detector.ts'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../../codecs/goertzel.ts'

const FRAME = samplesPerFrame(NARROWBAND_HZ)
const LOW_HZ = [697, 770, 852, 941]
const HIGH_HZ = [1209, 1336, 1477, 1633]
const COEFFICIENTS = [...LOW_HZ, ...HIGH_HZ].map(hz => goertzelCoefficient(hz, NARROWBAND_HZ))
/** So short that half of a tone's leading edge fills a window; windows overlap by half. */
const WINDOW_MS = 10
const HANN = Float64Array.from(
  { length: (WINDOW_MS * NARROWBAND_HZ) / 1000 },
  (_, i, n = (WINDOW_MS * NARROWBAND_HZ) / 1000) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / n),
)
const FLOOR_DBOV = -120

/** The keys that can be heard in a stretch of audio at 8 kHz, as a telephone exchange would hear them (ITU-T Q.24). */
export function keysIn(samples: Int16Array): string {
  const detector = new DtmfDetector()
  let keys = ''
  for (let at = 0; at + FRAME <= samples.length; at += FRAME) {
    detector.write(samples.subarray(at, at + FRAME))
    if (detector.began !== null) keys += detector.began
  }
  return keys
}

/**
 * The highest level of any keypad frequency in any 10 ms of the audio [dBov]; a key has about -17. It sees far less than an exchange detects, even a
 * leading edge of a millisecond. The rest of the audio must be silence or voices below 300 Hz.
 */
export function keypadTrace(samples: Int16Array): number {
  const window = new Float64Array(HANN.length)
  let loudest = FLOOR_DBOV
  for (let at = 0; at + window.length <= samples.length; at += window.length / 2) {
    for (let i = 0; i < window.length; i++) window[i] = samples[at + i]! * HANN[i]!
    for (const coefficient of COEFFICIENTS) {
      const power = goertzelPower(window, coefficient)
      // The Hann window halves the amplitude of a sine.
      if (power > 0) loudest = Math.max(loudest, goertzelDbov(4 * power, window.length))
    }
  }
  return loudest
}

/** Length of a stretch [ms]. */
export const durationMs = (samples: Int16Array): number => (samples.length / FRAME) * FRAME_MS
