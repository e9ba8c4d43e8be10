import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { PCMU } from '../../codecs/g711.ts'
import { renderTone } from '../../codecs/tones.ts'
import { Flite } from '../../media/speech/flite.ts'
import { BEEPS, MACHINES, PEOPLE, VOICES } from '../amd/greetings.ts'
import { seededNoise } from '../hearing/noises.ts'

/** Percentage of each kind of party, by the prefix of their numbers. */
const SHARES = {
  '+97253': { person: 30, machine: 15, fax: 5, busy: 15, away: 10, silent: 15, unknown: 10 },
  // Hardly anybody is at home.
  '+97254': { person: 10, busy: 20, away: 70 },
  // Nearly everybody is at home.
  '+97255': { person: 75, busy: 10, away: 15 },
} as const satisfies Record<string, Partial<Record<PartyKind, number>>>
export type PartyKind = 'person' | 'machine' | 'fax' | 'busy' | 'away' | 'silent' | 'unknown'

/** SIP statuses of parties who do not answer. A silent one rings until the caller gives up. */
export const REFUSALS: Partial<Record<PartyKind, number>> = { busy: 486, away: 480, unknown: 404 }

export interface Party {
  kind: PartyKind
  /** From the INVITE to its answer or refusal [ms]. */
  ringsMs: number
  /** From the answer until it hangs up [ms]. */
  talksMs: number
}

/** ITU-T T.30 §4.3.3.2: what a fax machine answers with. */
const CED = { hz: 2100, ms: 3000 }
const SPAN_MS: Record<PartyKind, { rings: [number, number]; talks: [number, number] }> = {
  person: { rings: [300, 1500], talks: [1500, 4000] },
  machine: { rings: [300, 1500], talks: [3000, 6000] },
  fax: { rings: [300, 800], talks: [2500, 3500] },
  busy: { rings: [50, 400], talks: [0, 0] },
  away: { rings: [500, 2500], talks: [0, 0] },
  silent: { rings: [0, 0], talks: [0, 0] },
  unknown: { rings: [20, 200], talks: [0, 0] },
}

/** How long people talk where there are few agents. */
const LONG_TALK_MS: [number, number] = [4000, 7000]

/** The party that gets the `nth` call to a number, from 0; the same one for the same seed. */
export function partyOf(phone: string, nth: number, seed: number): Party {
  const random = seededNoise(seed + Number(phone.slice(-9)) * 31 + nth * 7_919)
  const share = (): number => (random() + 1) / 2
  let left = share() * 100
  let kind: PartyKind = 'person'
  for (const [name, part] of Object.entries(sharesOf(phone)) as [PartyKind, number][]) {
    kind = name
    left -= part
    if (left < 0) break
  }
  const within = ([from, to]: [number, number]): number => from + share() * (to - from)
  const talks = kind === 'person' && !phone.startsWith('+97253') ? LONG_TALK_MS : SPAN_MS[kind].talks
  return { kind, ringsMs: within(SPAN_MS[kind].rings), talksMs: within(talks) }
}

const sharesOf = (phone: string): Partial<Record<PartyKind, number>> =>
  SHARES[phone.slice(0, 6) as keyof typeof SHARES] ?? SHARES['+97253']

const SAYING = ['person', 'machine', 'fax'] as const

/** What parties say after their answer, in µ-law; silence follows. */
export async function makeVoices(): Promise<(kind: PartyKind, nth: number) => Uint8Array> {
  const flite = new Flite(1)
  const said = async (text: string, nth: number): Promise<number[]> => {
    const spoken = await flite.speak(text, VOICES.build[nth % VOICES.build.length]!, null)
    if ('error' in spoken) throw new Error(spoken.error)
    return [...spoken.samples]
  }
  const toneOf = (hz: number, ms: number): number[] => [...renderTone({ segments: [{ hz: [hz], ms }] }, NARROWBAND_HZ)]
  const voices: Record<string, Uint8Array[]> = { person: [], machine: [], fax: [octets(toneOf(CED.hz, CED.ms))] }
  for (const [n, text] of PEOPLE.build.entries()) voices.person!.push(octets(await said(text, n)))
  for (const [n, text] of MACHINES.build.slice(0, 5).entries()) {
    const [hz, ms] = BEEPS.build[n % BEEPS.build.length]!
    voices.machine!.push(octets([...(await said(text, n)), ...toneOf(hz, ms)]))
  }
  await flite.close()
  return (kind, nth) => {
    const of = voices[(SAYING as readonly string[]).includes(kind) ? kind : 'person']!
    return of[nth % of.length]!
  }
}

function octets(samples: readonly number[]): Uint8Array {
  const written = Buffer.alloc(samples.length)
  PCMU.encode(Int16Array.from(samples), written)
  return written
}
