import { clamp16, NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { AnsweredBy } from '../../codecs/detectors/answer-detector.ts'
import { type G711, PCMA, PCMU } from '../../codecs/g711.ts'
import { renderTone } from '../../codecs/tones.ts'
import { Flite } from '../../media/speech/flite.ts'
import { activeRms, atLevel, type NoiseKind, noiseOf, seededNoise, speechSpan } from '../hearing/noises.ts'
import { music } from '../tones/synth.ts'
import { BEEPS, COMPANIES, type Half, MACHINES, PEOPLE, VOICES } from './greetings.ts'

/** An answered call with its labels. */
export interface AnsweredCall {
  name: string
  by: Extract<AnsweredBy, 'human' | 'machine'>
  group: Group
  text: string
  /** Everything heard from the answer on, after G.711. */
  line: Int16Array
  law: G711
  /** The first sound of whoever answered, and the end of the beep; -1: there is none [ms]. */
  beganMs: number
  beepEndMs: number
  /** Whether the packet of a frame is lost. */
  isLost(frame: number): boolean
}

const PER_MS = NARROWBAND_HZ / 1000
const VOICE_DB = -26
const LINE_NOISE_DB = -66
/** Each greeting is heard once in each condition. */
const CONDITIONS = [
  { name: 'clean' },
  { name: 'white 25 dB', noise: 'white', below: 25 },
  { name: 'car 15 dB', noise: 'car', below: 15 },
  { name: 'fan 20 dB', noise: 'fan', below: 20 },
  { name: 'babble 20 dB', noise: 'babble', below: 20 },
  { name: 'soft', voiceDb: -36 },
  { name: 'loss 3 %', loss: 0.03 },
  { name: 'ringing before', before: 'ringing' },
  { name: 'music before', before: 'music' },
] as const satisfies readonly Condition[]

/** Conditions in which other people talk behind whoever answers. */
const CROWDED = [
  { name: 'babble 15 dB', noise: 'babble', below: 15 },
  { name: 'babble 10 dB', noise: 'babble', below: 10 },
] as const satisfies readonly Condition[]

interface Condition {
  name: string
  noise?: NoiseKind
  below?: number
  voiceDb?: number
  loss?: number
  before?: 'ringing' | 'music'
}

/**
 * Kinds of answer that the bench counts separately. `company`: people with a long greeting; `crowd`: people in whose room others
 * talk.
 */
export const GROUPS = ['human', 'machine', 'company', 'crowd'] as const
export type Group = (typeof GROUPS)[number]

const TEXTS: Record<Group, Record<Half, readonly string[]>> = {
  ...{ human: PEOPLE, machine: MACHINES, company: COMPANIES, crowd: PEOPLE },
}

const SEEDS: Record<Half, number> = { build: 41, held: 900_007 }

/** Makes answered calls; the same ones for the same half, number and condition. */
export class AnswerMaker {
  readonly #flite = new Flite(1)
  readonly half: Half
  readonly #spoken = new Map<string, Int16Array>()

  constructor(half: Half) {
    this.half = half
  }

  async *calls(): AsyncGenerator<AnsweredCall> {
    const texts = GROUPS.flatMap(group => TEXTS[group][this.half].map(text => ({ group, text })))
    for (const [number, { group, text }] of texts.entries()) {
      for (const [which, condition] of (group === 'crowd' ? CROWDED : CONDITIONS).entries()) {
        // People do not play music before they answer.
        if ('before' in condition && condition.before === 'music' && group !== 'machine') continue
        yield await this.#make(group, text, condition, number * CONDITIONS.length + which)
      }
    }
  }

  async #make(group: Group, text: string, condition: Condition, number: number): Promise<AnsweredCall> {
    const by = group === 'machine' ? 'machine' : 'human'
    const seed = SEEDS[this.half] + 7919 * number
    const random = seededNoise(seed)
    const between = (least: number, most: number): number => least + ((random() + 1) / 2) * (most - least)
    const levelDb = condition.voiceDb ?? VOICE_DB
    const voices = VOICES[this.half]
    const said = await this.#say(text, voices[number % voices.length]!, levelDb)
    const beeps = BEEPS[this.half]
    const [hz, beepMs] = beeps[number % beeps.length]!
    const before = this.#before(condition, seed)
    const lead = Math.round(between(100, 900) * PER_MS)
    const gap = Math.round(between(300, 900) * PER_MS)
    const beep = by === 'human' ? [] : renderTone({ segments: [{ hz: [hz], ms: beepMs, levelDb: -18 }] }, NARROWBAND_HZ)
    const from = before.length + lead
    const beepFrom = from + said.length + gap
    const samples = new Int16Array(beepFrom + beep.length + 7 * NARROWBAND_HZ)
    const talkers = condition.noise === 'babble' ? [await this.#say(BABBLE, 'rms', VOICE_DB)] : []
    const noiseDb = condition.below === undefined ? LINE_NOISE_DB : levelDb - condition.below
    samples.set(noiseOf(condition.noise ?? 'white', noiseDb, samples.length, seed, talkers))
    const add = (part: ArrayLike<number>, at: number): void => {
      for (let i = 0; i < part.length; i++) samples[at + i] = clamp16(samples[at + i]! + part[i]!)
    }
    add(before, 0)
    add(said, from)
    add(beep, beepFrom)
    const lost = seededNoise(seed + 1)
    const losses = Array.from({ length: samples.length / 160 }, () => (lost() + 1) / 2 < (condition.loss ?? 0))
    return {
      name: condition.name,
      by,
      group,
      text,
      line: samples,
      law: number % 2 === 0 ? PCMU : PCMA,
      beganMs: from / PER_MS,
      beepEndMs: by === 'human' ? -1 : (beepFrom + beep.length) / PER_MS,
      isLost: frame => losses[frame] === true,
    }
  }

  /** What is heard first: ringback from a line that was answered before its party, or a jingle. */
  #before({ before }: Condition, seed: number): Int16Array {
    if (before === undefined) return new Int16Array(0)
    if (before === 'music') return musicOf(seed)
    const ring = seed % 2 === 0 ? [425] : [440, 480]
    return renderTone(
      {
        segments: [
          { hz: ring, ms: 1000 },
          { hz: [], ms: 700 },
        ],
      },
      NARROWBAND_HZ,
    )
  }

  async #say(text: string, voice: string, levelDb: number): Promise<Int16Array> {
    const key = `${voice} ${text}`
    const samples = this.#spoken.get(key) ?? (await this.#speak(text, voice))
    this.#spoken.set(key, samples)
    return atLevel(samples, levelDb, activeRms(samples))
  }

  async #speak(text: string, voice: string): Promise<Int16Array> {
    const made = await this.#flite.speak(text, voice, null)
    if ('error' in made) throw new Error(made.error)
    const { from, to } = speechSpan(made.samples)
    return made.samples.subarray(from, to)
  }

  close(): Promise<void> {
    return this.#flite.close()
  }
}

const BABBLE = 'We were at the market on Saturday, and then we went to see the old bridge by the river.'

/** A jingle [1.5 s]. */
function musicOf(seed: number): Int16Array {
  const random = seededNoise(seed + 2)
  const tune = music(1.5, () => (random() + 1) / 2)
  let energy = 0
  for (const sample of tune) energy += sample ** 2
  return atLevel(tune, -24, Math.sqrt(energy / tune.length))
}
