import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { between, pick, type Random, Resonator } from './synth.ts'

/** First three formants of vowels of an adult man [Hz]. */
const VOWELS = [
  [730, 1090, 2440],
  [660, 1720, 2410],
  [530, 1840, 2480],
  [570, 840, 2410],
  [440, 1020, 2240],
  [640, 1190, 2390],
  [490, 1350, 1690],
  [270, 2290, 3010],
  [300, 870, 2240],
] as const
/** Where the formants of the worst vowels lie: at the frequencies of keys. */
const LOW_HZ = [697, 770, 852, 941] as const
const HIGH_HZ = [1209, 1336, 1477, 1633] as const
/** Pitches of men, women, children and sopranos [Hz]. */
const PITCHES = [
  [75, 160],
  [150, 300],
  [240, 480],
  [400, 900],
] as const
/** The resonances follow a glide in steps of so many samples. */
const STEP = 40

interface Speaker {
  /** Length of the vocal tract: 1 is a man's. */
  readonly size: number
  readonly pitch: readonly [number, number]
  /** Of the formants, narrow in synthetic and in trained voices [Hz]. */
  readonly bandwidth: number
  /** Irregularity of the pulses in time and height: none in synthetic voices. */
  readonly jitter: number
  readonly shimmer: number
  readonly vibrato: number
  readonly vibratoHz: number
  readonly breath: number
  /** Part of the period in which the glottis is open, and how abruptly it closes: a soft voice has few harmonics. */
  readonly open: number
  readonly close: number
}

const newSpeaker = (random: Random): Speaker => ({
  size: between(random, 0.9, 1.45),
  pitch: pick<readonly [number, number]>(random, PITCHES),
  bandwidth: between(random, 25, 110),
  jitter: pick(random, [0, 0, 0.002, 0.008]),
  shimmer: pick(random, [0, 0, 0.02, 0.08]),
  vibrato: pick(random, [0, 0, 0.003, 0.012]),
  vibratoHz: between(random, 4.5, 7),
  breath: pick(random, [0, 0.003, 0.02]),
  open: between(random, 0.35, 0.75),
  close: between(random, 0.05, 0.2),
})

/** Vowels that are held, spoken or sung, by one speaker after the other: steady, gliding in pitch, or from one vowel to the next. */
export function heldVowels(seconds: number, random: Random): Float64Array {
  const out = new Float64Array(seconds * NARROWBAND_HZ)
  let speaker = newSpeaker(random)
  for (let at = 0; at < out.length; ) {
    if (random() < 0.2) speaker = newSpeaker(random)
    const length = Math.min(out.length - at, Math.round(between(random, 0.15, 2) * NARROWBAND_HZ))
    vowel(out.subarray(at, at + length), speaker, random)
    at += length + (random() < 0.3 ? Math.round(between(random, 0.02, 0.4) * NARROWBAND_HZ) : 0)
  }
  return out
}

function formantsOf(speaker: Speaker, random: Random): number[] {
  if (random() < 0.5) return pick<readonly number[]>(random, VOWELS).map(hz => hz * speaker.size)
  const near = (hz: number): number => hz * between(random, 0.94, 1.06)
  return [near(pick(random, LOW_HZ)), near(pick(random, HIGH_HZ)), between(random, 2200, 3200)]
}

function vowel(out: Float64Array, speaker: Speaker, random: Random): void {
  const from = formantsOf(speaker, random)
  const to = random() < 0.4 ? formantsOf(speaker, random) : from
  const formants = from.map((hz, n) => new Resonator(hz, speaker.bandwidth * (1 + n / 2)))
  const hz = between(random, ...speaker.pitch)
  const glide = random() < 0.5 ? 1 : between(random, 0.75, 1.33)
  let [phase, stretch, height] = [random(), 1, 1]
  for (let i = 0; i < out.length; i++) {
    const part = i / out.length
    const vibrato = 1 + speaker.vibrato * Math.sin((2 * Math.PI * speaker.vibratoHz * i) / NARROWBAND_HZ)
    phase += (hz * glide ** part * vibrato * stretch) / NARROWBAND_HZ
    if (phase >= 1) {
      phase -= 1
      stretch = 1 + speaker.jitter * between(random, -1.7, 1.7)
      height = 1 + speaker.shimmer * between(random, -1.7, 1.7)
    }
    if (to !== from && i % STEP === 0) {
      for (const [n, formant] of formants.entries()) formant.tune(from[n]! + (to[n]! - from[n]!) * part)
    }
    const source = height * glottis(phase, speaker) + speaker.breath * between(random, -1, 1)
    const edge = Math.min(1, i / 240, (out.length - i) / 240)
    let sum = 0
    for (let n = 0; n < formants.length; n++) sum += formants[n]!.next(source) / (n + 1)
    out[i] = edge * sum
  }
}

/** Derivative of the glottal flow. */
function glottis(phase: number, { open, close }: Speaker): number {
  if (phase < open) return Math.sin((Math.PI * phase) / open)
  if (phase < open + close) return (-2 * open * (1 - (phase - open) / close)) / close
  return 0
}
