import { clamp16, NARROWBAND_HZ } from './audio.ts'

/** One stretch of a tone: sines that start and end together, or silence when `hz` is empty. */
export interface ToneSegment {
  readonly hz: readonly number[]
  readonly ms: number
  /** Level of each sine [dB below a full-scale sine]; one for all, or one per entry of `hz`. Default -18. */
  readonly levelDb?: number | readonly number[]
  /** Bell-like: time in which the amplitude falls to 1/e [ms]. Absent: steady. */
  readonly decayMs?: number
}

/** A tone as data: segments one after the other, all of them `repeat` times (default once, Infinity for a cadence). */
export interface TonePlan {
  readonly segments: readonly ToneSegment[]
  readonly repeat?: number
  /** Raised-cosine ramp at both ends of each segment, against clicks [ms]. Default 5. */
  readonly rampMs?: number
}

/** A running tone. `pull` never allocates. */
export interface Tone {
  /**
   * Fills `out` with the next samples, padded with silence where the tone ends, and returns true;
   * returns false, with `out` silent, once the tone is over.
   */
  pull(out: Int16Array): boolean
}

export type DtmfKey = keyof typeof DTMF_FREQUENCIES

/** The low and the high frequency of each key [Hz] (ITU-T Q.23 §2). */
export const DTMF_FREQUENCIES = {
  '1': [697, 1209],
  '2': [697, 1336],
  '3': [697, 1477],
  A: [697, 1633],
  '4': [770, 1209],
  '5': [770, 1336],
  '6': [770, 1477],
  B: [770, 1633],
  '7': [852, 1209],
  '8': [852, 1336],
  '9': [852, 1477],
  C: [852, 1633],
  '*': [941, 1209],
  '0': [941, 1336],
  '#': [941, 1477],
  D: [941, 1633],
} as const

/** Two rising notes: somebody has joined. */
export const JOIN_CHIME: TonePlan = {
  segments: [
    { hz: [587.33, 1174.66], ms: 140, levelDb: [-16, -28], decayMs: 110 },
    { hz: [880, 1760], ms: 320, levelDb: [-16, -28], decayMs: 110 },
  ],
}

/** The same two notes falling: somebody has left. */
export const LEAVE_CHIME: TonePlan = { segments: [...JOIN_CHIME.segments].reverse() }

/** "Speak now", and the start of a recording. */
export const BEEP: TonePlan = { segments: [{ hz: [1000], ms: 200, levelDb: -14 }] }

/** Ringing tone in the cadence that ITU-T E.180 §4.2 recommends: 425 Hz, 1 s on, 4 s off. */
export const RINGBACK: TonePlan = { segments: onOff(425, 1000, 4000), repeat: Number.POSITIVE_INFINITY }

/** Busy tone by ITU-T E.180 §5: 425 Hz, 0.5 s on, 0.5 s off. */
export const BUSY: TonePlan = { segments: onOff(425, 500, 500), repeat: Number.POSITIVE_INFINITY }

function onOff(hz: number, onMs: number, offMs: number): ToneSegment[] {
  return [
    { hz: [hz], ms: onMs },
    { hz: [], ms: offMs },
  ]
}

/** The pair of tones of a key, `onMs` long, then a pause. Levels near those of a telephone (ETSI ES 201 235-2). */
export function dtmfPlan(key: DtmfKey, onMs = 100, offMs = 0): TonePlan {
  const segments: ToneSegment[] = [{ hz: DTMF_FREQUENCIES[key], ms: onMs, levelDb: [-14, -12] }]
  return { segments: offMs > 0 ? [...segments, { hz: [], ms: offMs }] : segments, rampMs: 2 }
}

/** The samples of `dtmfPlan`; none where `key` is no key. */
export function dtmfTone(key: string, onMs = 100, sampleRateHz = NARROWBAND_HZ): Int16Array {
  return isDtmfKey(key) ? renderTone(dtmfPlan(key, onMs), sampleRateHz) : new Int16Array(0)
}

const isDtmfKey = (key: string): key is DtmfKey => Object.hasOwn(DTMF_FREQUENCIES, key)

/** Starts a tone. */
export function createTone(plan: TonePlan, sampleRateHz: number): Tone {
  return new RunningTone(plan, sampleRateHz)
}

/** Renders a whole tone, one round of it where it repeats for ever. */
export function renderTone(plan: TonePlan, sampleRateHz: number): Int16Array {
  const repeat = Number.isFinite(plan.repeat ?? 1) ? (plan.repeat ?? 1) : 1
  const round = plan.segments.reduce((sum, { ms }) => sum + samplesIn(ms, sampleRateHz), 0)
  const out = new Int16Array(round * repeat)
  createTone(plan, sampleRateHz).pull(out)
  return out
}

const DEFAULT_LEVEL_DB = -18
const DEFAULT_RAMP_MS = 5
const FULL_SCALE = 32_767

const samplesIn = (ms: number, sampleRateHz: number): number => Math.round((ms * sampleRateHz) / 1000)

/** A segment in samples and radians. */
interface Voice {
  readonly samples: number
  readonly ramp: number
  /** Factor of the envelope per sample. */
  readonly decay: number
  readonly step: Float64Array
  readonly amplitude: Float64Array
}

function voiceOf({ hz, ms, levelDb, decayMs }: ToneSegment, rampMs: number, sampleRateHz: number): Voice {
  const samples = samplesIn(ms, sampleRateHz)
  const level = (n: number): number => (typeof levelDb === 'object' ? levelDb[n] : levelDb) ?? DEFAULT_LEVEL_DB
  return {
    samples,
    ramp: Math.min(samplesIn(rampMs, sampleRateHz), samples >> 1),
    decay: decayMs === undefined ? 1 : Math.exp(-1000 / (decayMs * sampleRateHz)),
    step: Float64Array.from(hz, f => (2 * Math.PI * f) / sampleRateHz),
    amplitude: Float64Array.from(hz, (_, n) => FULL_SCALE * 10 ** (level(n) / 20)),
  }
}

class RunningTone implements Tone {
  readonly #voices: Voice[]
  #roundsLeft: number
  #voice = 0
  /** Samples of the current voice that are out: the phase of each sine follows from it, so frames join seamlessly. */
  #at = 0
  #envelope = 1

  constructor(plan: TonePlan, sampleRateHz: number) {
    this.#voices = plan.segments
      .map(segment => voiceOf(segment, plan.rampMs ?? DEFAULT_RAMP_MS, sampleRateHz))
      .filter(voice => voice.samples > 0)
    this.#roundsLeft = this.#voices.length > 0 ? (plan.repeat ?? 1) : 0
  }

  pull(out: Int16Array): boolean {
    if (this.#roundsLeft <= 0) {
      out.fill(0)
      return false
    }
    let filled = 0
    while (filled < out.length && this.#roundsLeft > 0) {
      const voice = this.#voices[this.#voice]!
      const end = Math.min(out.length, filled + voice.samples - this.#at)
      while (filled < end) out[filled++] = this.#next(voice)
      if (this.#at === voice.samples) this.#advance()
    }
    out.fill(0, filled)
    return true
  }

  #next({ samples, ramp, decay, step, amplitude }: Voice): number {
    let sum = 0
    for (let n = 0; n < step.length; n++) sum += amplitude[n]! * Math.sin(step[n]! * this.#at)
    const fromEdge = Math.min(this.#at, samples - 1 - this.#at)
    if (fromEdge < ramp) sum *= 0.5 - 0.5 * Math.cos((Math.PI * fromEdge) / ramp)
    sum *= this.#envelope
    this.#envelope *= decay
    this.#at++
    return clamp16(Math.round(sum))
  }

  #advance(): void {
    this.#at = 0
    this.#envelope = 1
    this.#voice++
    if (this.#voice < this.#voices.length) return
    this.#voice = 0
    this.#roundsLeft--
  }
}
