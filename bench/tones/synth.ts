import { NARROWBAND_HZ } from '../../codecs/audio.ts'

/** A source of numbers in [0, 1), the same for the same seed. */
export type Random = () => number

const NYQUIST_HZ = NARROWBAND_HZ / 2
const hertz = (note: number): number => 440 * 2 ** ((note - 69) / 12)
export const between = (random: Random, from: number, to: number): number => from + (to - from) * random()
export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!

/** How notes sound: amplitudes of the partials, how fast they fade [1/s], attack [s], and vibrato. */
interface Instrument {
  readonly partials: readonly number[]
  /** Of the first partial; higher ones fade faster. 0: sustained. */
  readonly fade: number
  readonly attack: number
  /** Half of its width, as a share of the pitch. */
  readonly vibrato: number
}

const INSTRUMENTS: readonly Instrument[] = [
  { partials: [1, 0.12, 0.05], fade: 0, attack: 0.04, vibrato: 0.006 }, // flute
  { partials: [1, 0.8, 0.5, 0.4, 0.25, 0.2, 0.1], fade: 0, attack: 0.05, vibrato: 0.005 }, // strings
  { partials: [1, 0.5, 0, 0.35, 0, 0.2], fade: 0, attack: 0.01, vibrato: 0 }, // organ
  { partials: [1, 0.6, 0.35, 0.2, 0.1], fade: 2, attack: 0.005, vibrato: 0 }, // piano
  { partials: [1, 0.1, 0, 0.3], fade: 1.5, attack: 0.003, vibrato: 0 }, // electric piano
  { partials: [1, 0, 0.6, 0, 0.35, 0, 0.2], fade: 0, attack: 0.02, vibrato: 0.003 }, // clarinet
  { partials: [1, 0.9, 0.8, 0.6, 0.45, 0.3], fade: 0, attack: 0.03, vibrato: 0.002 }, // brass
  { partials: [1, 0.35, 0.12], fade: 4, attack: 0.002, vibrato: 0 }, // plucked
  { partials: [1, 0, 0.33, 0, 0.2, 0, 0.14], fade: 0.5, attack: 0.001, vibrato: 0 }, // a square wave, of a toy
]

/** Adds a note, cut off at the end of `out`. */
function addNote(out: Float64Array, from: number, seconds: number, hz: number, level: number, how: Instrument): void {
  const samples = Math.min(out.length - from, Math.round(seconds * NARROWBAND_HZ))
  how.partials.forEach((amplitude, n) => {
    const partial = (n + 1) * hz
    if (amplitude === 0 || partial > 0.95 * NYQUIST_HZ) return
    let phase = 2.4 * n
    for (let i = 0; i < samples; i++) {
      const t = i / NARROWBAND_HZ
      phase += (2 * Math.PI * partial * (1 + how.vibrato * Math.sin(34 * t))) / NARROWBAND_HZ
      const edge = Math.min(1, t / how.attack, (samples - i) / 160)
      out[from + i]! += level * amplitude * edge * Math.exp(-how.fade * (n + 1) * t) * Math.sin(phase)
    }
  })
}

const SCALES = [
  [0, 2, 4, 5, 7, 9, 11],
  [0, 2, 3, 5, 7, 8, 10],
  [0, 2, 4, 7, 9],
]

/** A piece in a random key: chords, a bass and a melody, with random instruments, and seldom tuned to exactly 440 Hz. */
export function music(seconds: number, random: Random): Float64Array {
  const out = new Float64Array(seconds * NARROWBAND_HZ)
  const scale = pick(random, SCALES)
  const key = 40 + 12 * random()
  const beat = between(random, 0.24, 0.7)
  const [chords, lead, bass] = [pick(random, INSTRUMENTS), pick(random, INSTRUMENTS), pick(random, INSTRUMENTS)]
  const noteAt = (step: number): number =>
    key + scale[((step % scale.length) + scale.length) % scale.length]! + 12 * Math.floor(step / scale.length)
  const size = scale.length
  let melody = 2 * size
  for (let at = 0; at < seconds; at += 4 * beat) {
    const root = Math.floor(random() * size)
    const from = Math.round(at * NARROWBAND_HZ)
    addNote(out, from, 4 * beat, hertz(noteAt(root)), 0.5, bass)
    for (const third of [0, 2, 4]) addNote(out, from, 4 * beat, hertz(noteAt(root + third + size)), 0.3, chords)
    for (let t = 0; t < 4; ) {
      const length = pick(random, [0.25, 0.5, 1, 1.5, 2])
      melody = Math.min(3.6 * size, Math.max(size, melody + Math.round(between(random, -3, 3))))
      const start = Math.round((at + t * beat) * NARROWBAND_HZ)
      if (random() < 0.85 && start < out.length) {
        addNote(out, start, length * beat, hertz(noteAt(Math.round(melody))), 0.6, lead)
      }
      t += length
    }
  }
  return out
}

/** Formants of vowels of an adult man [Hz]. */
const VOWELS = [
  [730, 1090, 2440],
  [270, 2290, 3010],
  [300, 870, 2240],
  [530, 1840, 2480],
  [570, 840, 2410],
  [640, 1190, 2390],
  [490, 1350, 1690],
]
const BANDWIDTHS = [70, 90, 130]

/** Singing: vowels with vibrato, long notes and runs that glide from one note to the next. */
export function singing(seconds: number, random: Random): Float64Array {
  const out = new Float64Array(seconds * NARROWBAND_HZ)
  const tract = between(random, 0.95, 1.3)
  const lowest = between(random, 45, 64)
  let hz = hertz(lowest + 5)
  let phase = 0
  for (let at = 0; at < out.length; ) {
    const target = hertz(lowest + Math.floor(20 * random()))
    const samples = Math.round(between(random, 0.12, 1.8) * NARROWBAND_HZ)
    const formants = pick(random, VOWELS).map((f, n) => new Resonator(f * tract, BANDWIDTHS[n]!))
    for (let i = 0; i < samples && at < out.length; i++, at++) {
      hz += (target - hz) * 0.004
      phase += (hz * (1 + 0.012 * Math.sin((2 * Math.PI * 5.6 * at) / NARROWBAND_HZ))) / NARROWBAND_HZ
      const pulse = glottis(phase % 1) + 0.02 * (random() - 0.5)
      const edge = Math.min(1, i / 240, (samples - i) / 240)
      out[at] = edge * formants.reduce((sum, formant, n) => sum + formant.next(pulse) / (n + 1), 0)
    }
    if (random() < 0.2) at += Math.round(between(random, 0.1, 0.6) * NARROWBAND_HZ)
  }
  return out
}

/** Derivative of the glottal flow. */
const glottis = (phase: number): number =>
  phase < 0.4 ? Math.sin((Math.PI * phase) / 0.4) : phase < 0.5 ? -3 * ((phase - 0.4) / 0.1) : 0

export class Resonator {
  #a = 0
  readonly #b: number
  readonly #radius: number
  #y1 = 0
  #y2 = 0

  constructor(hz: number, bandwidthHz: number) {
    this.#radius = Math.exp((-Math.PI * bandwidthHz) / NARROWBAND_HZ)
    this.#b = -this.#radius * this.#radius
    this.tune(hz)
  }

  /** Resounds at another frequency from here on. */
  tune(hz: number): void {
    this.#a = 2 * this.#radius * Math.cos((2 * Math.PI * Math.min(hz, 0.95 * NYQUIST_HZ)) / NARROWBAND_HZ)
  }

  next(input: number): number {
    const y = input + this.#a * this.#y1 + this.#b * this.#y2
    this.#y2 = this.#y1
    this.#y1 = y
    return y
  }
}

/** Whistling: a sine that glides from note to note, with breath noise. */
export function whistling(seconds: number, random: Random): Float64Array {
  const out = new Float64Array(seconds * NARROWBAND_HZ)
  let [hz, phase, target, left] = [900, 0, 900, 0]
  for (let i = 0; i < out.length; i++, left--) {
    if (left <= 0) {
      target = between(random, 600, 2200)
      left = between(random, 0.1, 0.9) * NARROWBAND_HZ
    }
    hz += (target - hz) * 0.0008
    phase += (2 * Math.PI * hz * (1 + 0.008 * Math.sin(i / 220))) / NARROWBAND_HZ
    out[i] = Math.sin(phase) + 0.03 * Math.sin(2 * phase) + 0.05 * (random() - 0.5)
  }
  return out
}
