import { readdirSync, readFileSync } from 'node:fs'
import { clamp16, NARROWBAND_HZ } from '../../codecs/audio.ts'
import { nationalTone } from '../../codecs/national-tones.ts'
import { resampleAll } from '../../codecs/resample.ts'
import { JOIN_CHIME, LEAVE_CHIME, renderTone } from '../../codecs/tones.ts'
import { readWav } from '../../codecs/wav.ts'
import { EspeakVoice } from '../../fixtures/prompts/espeak.ts'
import { OFFLINE_VOICES } from '../../media/protocol.ts'
import { Flite } from '../../media/speech/flite.ts'
import { readQuestions } from '../answers/questions.ts'
import { HELD } from '../copilot/calls/held.ts'
import { textOf } from '../copilot/calls/labelled-call.ts'
import { SEEN } from '../copilot/calls/seen.ts'
import { SENTENCES } from '../hearing/sentences.ts'
import { seeded } from '../seeded.ts'
import { heldVowels } from './held-vowels.ts'
import { Lines } from './line.ts'
import { music, type Random, singing, whistling } from './synth.ts'

/**
 * `seen`: the detector was tuned on it. `held`: run after that; it showed false detections in a soprano and in one word. `fresh`: run only when the
 * detector was finished. Each part has its own voices, sentences and tunes. `harsh` is the worst that we could make: half of it are vowels held
 * with their formants at the frequencies of keys, and all came over bad lines. The detector was tuned on it; `unseen` is its like, run afterwards.
 */
export const PARTS = ['seen', 'held', 'fresh', 'harsh', 'unseen'] as const
export type Part = (typeof PARTS)[number]

/** Share of the time for each kind. */
const USUAL = {
  vowels: 0,
  speech: 0.38,
  languages: 0.14,
  babble: 0.1,
  music: 0.18,
  hold: 0.04,
  singing: 0.1,
  whistling: 0.02,
  tones: 0.04,
}
type Kind = keyof typeof USUAL
const KINDS = Object.keys(USUAL) as Kind[]
const HARSH: Record<Kind, number> = {
  vowels: 0.5,
  speech: 0.1,
  languages: 0.1,
  babble: 0.02,
  music: 0.1,
  hold: 0.02,
  singing: 0.1,
  whistling: 0.03,
  tones: 0.03,
}
const isHarsh = (part: Part): boolean => part === 'harsh' || part === 'unseen'

/** `kind`: what its results are summed by. */
export interface Piece {
  kind: string
  samples: Int16Array
}

const FLITE: Record<Part, readonly string[]> = {
  seen: ['slt', 'rms', 'kal'],
  held: ['awb', 'kal16', 'slt', 'rms'],
  fresh: OFFLINE_VOICES.map(({ id }) => id),
  harsh: ['slt', 'kal', 'awb'],
  unseen: ['rms', 'kal16', 'slt'],
}
const ESPEAK: Record<Part, readonly string[]> = {
  seen: ['de', 'fr', 'es', 'it', 'en-us', 'en-gb-scotland', 'hu', 'hi', 'cs', 'vi'],
  held: ['pl', 'ru', 'pt', 'sv', 'nl', 'tr', 'en-gb-x-rp', 'en-029', 'fi', 'el', 'cmn', 'ar'],
  fresh: ['da', 'nb', 'ro', 'uk', 'id', 'ko', 'pt-br', 'es-419', 'en-us-nyc', 'en-gb-x-gbclan'],
  harsh: ['de', 'fi', 'it', 'vi', 'en-us', 'pl', 'ja', 'hu'],
  unseen: ['fr', 'sv', 'es', 'cmn', 'en-gb-x-rp', 'ru', 'el', 'tr'],
}
/** Speed factors of voices, which make them sound like people of different sizes. */
const SIZES: Record<Part, readonly number[]> = {
  seen: [1, 0.9, 1.14, 1.25],
  held: [1, 0.85, 1.08, 1.2],
  fresh: [0.95, 1.1, 1.3, 0.8],
  harsh: [1, 0.8, 1.15, 1.35],
  unseen: [0.9, 1.05, 1.25, 1.4],
}
const SEEDS: Record<Part, number> = { seen: 11, held: 70_001, fresh: 900_007, harsh: 36, unseen: 3_600_036 }
/** Levels of the loudest sample [dBov]. */
const LEVELS = [0, -3, -6, -12, -20]
const CHUNK_SECONDS = 20
const TALKERS = 4
/** Number of the last spoken texts from which babble is mixed. */
const BABBLE_POOL = 40

/** Speech, music and tones of one part, in which no key is pressed; the same each time. */
export class Material {
  readonly #part: Part
  readonly #random: Random
  readonly #flite = new Flite(1)
  readonly #lines: Lines | null
  readonly #texts: readonly string[]
  #espeak: EspeakVoice | null = null
  #next = 0
  /** The last spoken texts, for babble. */
  readonly #said: Int16Array[] = []

  constructor(part: Part) {
    this.#part = part
    this.#random = seeded(SEEDS[part])
    this.#texts = textsOf(part)
    this.#lines = isHarsh(part) ? new Lines(this.#random) : null
  }

  /** Makes pieces of all kinds, not yet encoded by G.711. */
  async *pieces(seconds: number): AsyncGenerator<Piece> {
    const shares = this.#lines === null ? USUAL : HARSH
    for (const kind of KINDS) {
      let left = seconds * shares[kind] * NARROWBAND_HZ
      while (left > 0) {
        const samples = (await this.#make(kind)).subarray(0, Math.ceil(left))
        left -= samples.length
        const sent = atPeak(samples, this.#pick(LEVELS))
        yield { kind, samples: this.#lines === null ? sent : await this.#lines.carry(sent) }
      }
    }
  }

  close(): Promise<void> {
    return this.#flite.close()
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!
  }

  #make(kind: Kind): Promise<Int16Array> | Int16Array {
    const random = this.#random
    if (kind === 'speech') return this.#speech()
    if (kind === 'languages') return this.#language()
    if (kind === 'babble') return this.#babble()
    if (kind === 'hold') return this.#hold()
    if (kind === 'tones') return this.#tones()
    if (kind === 'vowels') return atPeak(heldVowels(CHUNK_SECONDS, random), -3)
    if (kind === 'music') return atPeak(music(CHUNK_SECONDS, random), -3)
    return atPeak(kind === 'singing' ? singing(CHUNK_SECONDS, random) : whistling(CHUNK_SECONDS, random), -3)
  }

  #text(): string {
    return this.#texts[this.#next++ % this.#texts.length]!
  }

  async #speech(): Promise<Int16Array> {
    const made = await this.#flite.speak(this.#text(), this.#pick(FLITE[this.#part]), null)
    if ('error' in made) throw new Error(made.error)
    return this.#keep(await sized(made.samples, this.#pick(SIZES[this.#part])))
  }

  async #language(): Promise<Int16Array> {
    this.#espeak ??= await EspeakVoice.load()
    const pace = 120 + Math.floor(120 * this.#random())
    const made = await this.#espeak.speak(this.#text(), this.#pick(ESPEAK[this.#part]), pace, NARROWBAND_HZ)
    return this.#keep(await sized(made, this.#pick(SIZES[this.#part])))
  }

  #keep(said: Int16Array): Int16Array {
    this.#said.push(said)
    if (this.#said.length > BABBLE_POOL) this.#said.shift()
    return said
  }

  #babble(): Int16Array {
    const mix = new Float64Array(CHUNK_SECONDS * NARROWBAND_HZ)
    for (let talker = 0; talker < TALKERS; talker++) {
      for (let at = Math.floor(this.#random() * NARROWBAND_HZ); at < mix.length; ) {
        const said = this.#pick(this.#said)
        for (let i = 0; i < said.length && at < mix.length; i++) mix[at++]! += said[i]!
      }
    }
    return atPeak(mix, -3)
  }

  #hold(): Promise<Int16Array> {
    return sized(wavOf('../../fixtures/music/hold.wav'), 0.8 + 0.4 * this.#random())
  }

  #tones(): Int16Array {
    const country = this.#pick(['', 'US', 'GB', 'JP', 'AU', 'FR', 'PH', 'ZA', 'SG', 'IN', 'CL', 'AT'])
    const plan = this.#pick([nationalTone('ringback', country), nationalTone('busy', country), ...SIGNALS])
    return renderTone({ ...plan, repeat: 2 }, NARROWBAND_HZ)
  }
}

/** Other signals on telephone lines: special information tones (ITU-T E.180), an answering machine's beep, fax (T.30), a modem (V.21), chimes. */
const SIGNALS = [
  {
    segments: [
      { hz: [950], ms: 330 },
      { hz: [1400], ms: 330 },
      { hz: [1800], ms: 330 },
      { hz: [], ms: 1000 },
    ],
  },
  {
    segments: [
      { hz: [1400], ms: 425 },
      { hz: [], ms: 4000 },
    ],
  },
  {
    segments: [
      { hz: [1100], ms: 500 },
      { hz: [], ms: 3000 },
    ],
  },
  {
    segments: [
      { hz: [2100], ms: 3000 },
      { hz: [], ms: 75 },
    ],
  },
  { segments: [1180, 980, 1180, 1180, 980, 980, 1180, 980].map(hz => ({ hz: [hz], ms: 20 })) },
  { segments: [{ hz: [350, 440], ms: 3000 }] },
  JOIN_CHIME,
  LEAVE_CHIME,
]

/** The texts of a part: callers' questions, documents, and lines of calls. */
function textsOf(part: Part): string[] {
  if (part === 'fresh' || isHarsh(part)) return [...SENTENCES.third, ...SENTENCES.fourth, ...CALLS]
  const isOurs = (n: number): boolean => (n % 2 === 0) === (part === 'seen')
  const folder = new URL('../answers/knowledge/', import.meta.url)
  const told = readdirSync(folder)
    .flatMap(name => readFileSync(new URL(name, folder), 'utf8').split(/[.\n]\s+/))
    .map(text => text.replace(/[^\w ,.'$:]/g, ' ').trim())
    .filter((text, n) => text.length > 20 && text.length < 250 && isOurs(n))
  const asked = readQuestions().flatMap(({ said }, n) => (isOurs(n) ? [said] : []))
  return [...asked, ...(part === 'seen' ? SENTENCES.build : [...SENTENCES.held, ...SENTENCES.fifth]), ...told]
}

const CALLS = [...SEEN.calls, ...HELD.calls].flatMap(({ turns }) => turns.flatMap(({ lines }) => lines.map(textOf)))

/** The samples played faster by a factor. */
async function sized(samples: Int16Array, factor: number): Promise<Int16Array> {
  const rateHz = Math.round(NARROWBAND_HZ / factor / 50) * 50
  return resampleAll(samples, NARROWBAND_HZ, rateHz)
}

function wavOf(path: string): Int16Array {
  const wav = readWav(readFileSync(new URL(path, import.meta.url)))
  if ('error' in wav) throw new Error(`${path}: ${wav.error}`)
  return wav.samples[0]!
}

/** Scales the samples so that the loudest one has this level [dBov]. */
function atPeak(samples: Int16Array | Float64Array, levelDb: number): Int16Array {
  let peak = 1
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample))
  const gain = (32_767 * 10 ** (levelDb / 20)) / peak
  return Int16Array.from({ length: samples.length }, (_, i) => clamp16(Math.round(gain * samples[i]!)))
}
