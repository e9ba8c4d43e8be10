import wavefile from 'wavefile'
import { tone } from '../../../bench/voices.ts'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'

const TONE_SECONDS = 60

/** A minute of a sine, longer than any test, in a WAV file without optional chunks, which baresip cannot read. */
export function toneFile(hz: number, rateHz: number): Uint8Array {
  const samples = new Int16Array(TONE_SECONDS * rateHz)
  // `tone` makes samples for 8 kHz; at another rate they have another frequency.
  tone((hz * NARROWBAND_HZ) / rateHz)(samples)
  const file = new wavefile.WaveFile()
  file.fromScratch(1, rateHz, '16', samples)
  return file.toBuffer()
}
