import { BUSY, RINGBACK, type TonePlan, type ToneSegment } from './tones.ts'

/** A country's telephone tones: frequencies [Hz] that sound together, and alternating on and off times [ms]. */
interface National {
  ringing: Cadence
  busy: Cadence
}

type Cadence = readonly [hz: readonly number[], ...onOffMs: number[]]

/** Most differ from E.180 in the cadence. */
const at425 = (ringing: number[], busy: number[]): National => ({
  ringing: [[425], ...ringing],
  busy: [[425], ...busy],
})
const NORTH_AMERICA: National = { ringing: [[440, 480], 2000, 4000], busy: [[480, 620], 500, 500] }
/** Two short rings. `hz`: where one tone is modulated by another, what is left of both. */
const twoShort = (hz: readonly number[], busy: Cadence): National => ({ ringing: [hz, 400, 200, 400, 2000], busy })
const BRITISH = (busy: Cadence): National => twoShort([400, 450], busy)

/**
 * Ringing and busy tone by country, ISO 3166-1 (ITU-T E.180 Supplement 2, "Various tones used in national networks"). A country that is not
 * here has what E.180 recommends.
 */
const COUNTRIES: Readonly<Record<string, National>> = {
  AT: { ringing: [[420], 1000, 5000], busy: [[420], 400, 400] },
  AU: twoShort([413, 438], [[425], 375, 375]),
  BE: at425([1000, 3000], [500, 500]),
  BR: at425([1000, 4000], [250, 250]),
  CA: NORTH_AMERICA,
  CH: at425([1000, 4000], [500, 500]),
  CL: { ringing: [[400], 1000, 3000], busy: [[400], 500, 500] },
  CN: { ringing: [[450], 1000, 4000], busy: [[450], 350, 350] },
  CZ: at425([1000, 4000], [330, 330]),
  DE: at425([1000, 4000], [480, 480]),
  DK: at425([1000, 4000], [250, 250]),
  EE: at425([1000, 4000], [300, 300]),
  ES: at425([1500, 3000], [200, 200]),
  FI: at425([1000, 4000], [300, 300]),
  FR: { ringing: [[440], 1500, 3500], busy: [[440], 500, 500] },
  GB: BRITISH([[400], 375, 375]),
  GR: at425([1000, 4000], [300, 300]),
  HU: at425([1250, 3750], [300, 300]),
  IE: BRITISH([[425], 500, 500]),
  IL: { ringing: [[400], 1000, 3000], busy: [[400], 500, 500] },
  IN: twoShort([375, 425], [[400], 750, 750]),
  IT: at425([1000, 4000], [500, 500]),
  JP: { ringing: [[384, 416], 1000, 2000], busy: [[400], 500, 500] },
  LT: at425([1000, 4000], [350, 350]),
  MX: at425([1000, 4000], [250, 250]),
  MY: twoShort([425], [[425], 500, 500]),
  NL: at425([1000, 4000], [500, 500]),
  NO: at425([1000, 4000], [500, 500]),
  NZ: BRITISH([[400], 500, 500]),
  PH: { ringing: [[425, 480], 1000, 4000], busy: [[480, 620], 500, 500] },
  PL: at425([1000, 4000], [500, 500]),
  PT: at425([1000, 5000], [500, 500]),
  RU: at425([800, 3200], [400, 400]),
  SE: at425([1000, 5000], [250, 250]),
  SG: twoShort([401, 449], [[425], 750, 750]),
  TH: { ringing: [[400], 1000, 4000], busy: [[400], 500, 500] },
  TW: { ringing: [[440, 480], 1000, 2000], busy: [[480, 620], 500, 500] },
  US: NORTH_AMERICA,
  ZA: twoShort([367, 433], [[400], 500, 500]),
}

const planOf = ([hz, ...onOffMs]: Cadence): TonePlan => ({
  segments: onOffMs.map((ms, n): ToneSegment => ({ hz: n % 2 === 0 ? hz : [], ms })),
  repeat: Number.POSITIVE_INFINITY,
})

/** A tone as it sounds in a country; one that is not known, as `''`: by ITU-T E.180. */
export function nationalTone(name: 'ringback' | 'busy', country: string): TonePlan {
  const own = Object.hasOwn(COUNTRIES, country) ? COUNTRIES[country] : undefined
  if (own === undefined) return name === 'busy' ? BUSY : RINGBACK
  return planOf(name === 'busy' ? own.busy : own.ringing)
}
