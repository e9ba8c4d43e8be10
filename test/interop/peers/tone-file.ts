import wavefile from 'wavefile'
import { tone } from '../../../bench/voices.ts'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'

const TONE_SECONDS = 60

/** A minute of a sine, longer than any test, in the plainest WAV there is: baresip reads no chunk that it does not know. */
export function toneFile(hz: number, rateHz: number): Uint8Array {
  const samples = new Int16Array(TONE_SECONDS * rateHz)
  // A voice is of 8 kHz: at another rate the same samples are another tone.
  tone((hz * NARROWBAND_HZ) / rateHz)(samples)
  const file = new wavefile.WaveFile()
  file.fromScratch(1, rateHz, '16', samples)
  return file.toBuffer()
}
