import { parseArgs } from 'node:util'
import type { StreamFormat } from '../media/protocol.ts'
import type { SocketChoice } from '../media/rtp/datagrams/choose.ts'
import { SETS, type SentenceSet } from './hearing/sentences.ts'

const FORMATS: readonly StreamFormat[] = ['mulaw_8000', 'l16_8000', 'l16_16000']

const SOCKETS: readonly SocketChoice[] = ['auto', 'native', 'node']

/** Options that choose another bench. */
const BENCHES = [
  ...(['capacity', 'buffers', 'soak', 'calls', 'flood', 'fuzz', 'api', 'busy', 'turns', 'hearing', 'answers'] as const),
  ...(['copilot', 'amd', 'tones', 'kills', 'races', 'imports', 'campaign'] as const),
]

/** Options that only these benches heed. */
const OF_BENCHES: Record<string, readonly (typeof BENCHES)[number][]> = {
  rates: ['calls'],
  sets: ['hearing'],
  only: ['hearing', 'api', 'capacity', 'copilot', 'amd', 'buffers', 'campaign', 'races'],
  virtual: ['copilot'],
  rate: ['campaign'],
  recordings: ['amd', 'tones'],
  seed: ['races'],
}

export const HELP = `npm run bench -- [options]
  --rooms 3,10,100      sizes of the rooms; "none" leaves them out
  --legs 300            parties at a time
  --streams LIST        formats: ${FORMATS.join(',')}; "none" leaves them out
  --stream-legs 50      streams at a time
  --seconds 60          how long each is measured
  --threads 1           engine threads, on one core together: what the busiest takes beside what one does alone tells what more cores would hold
  --jitter 1            mean of what packets of the load are late by [ms]; 0: a calm network
  --capacity            instead: how many legs of each kind one core holds; --only PATTERN: of some kinds; --quick: coarsely
  --buffers             instead: what jitter buffers lose and make wait, on a clock of its own; --only 'seen|unseen': half of the cases
  --soak MINUTES        instead: legs that stay and calls that come and go: drift, growth, late frames; with --busy REST and webhooks too
  --calls               instead: calls from INVITE to BYE: what one costs by process and in SQL, how many a second are set up well
  --flood               instead: what 20,000 packets/s of strangers do to calls and audio
  --fuzz N              instead: N broken messages of SIP: does the product live, does it leak, is anything left
  --rates 25,50,100,200,400   of --calls: calls a second
  --api                 instead: requests of the REST API beside a bare Fastify route with the same body, and how lists page
  --busy                instead (or of --soak): what a load of REST requests on the same cores does to the audio
  --turns N             instead: how soon we fall silent when a caller speaks, and how soon we answer, N times
  --hearing N           instead: N labelled calls of each condition through the hearing chain: which words are lost
  --sets LIST           of those calls: ${SETS.join(',')}
  --only PATTERN        of those calls, of --api, of --capacity, or of the halves of --copilot, --amd and --buffers: only what has a name that matches, as "quiet|answer"
  --answers             instead: how an assistant without a model answers 200 questions of callers
  --copilot             instead: how soon the copilot tells labelled calls, and how much of what it should; some five minutes
  --amd                 instead: labelled greetings of people and machines through the engine: who is told from whom, and how soon
  --tones N             instead: N minutes of speech and music, in which in-band keys must not be found, and what looking for them costs
  --recordings FOLDER   of --tones and --amd: with the WAV files below it instead; of --amd those in human/ and machine/, which end with the beep if there is one
  --kills N             instead: kills control with -9 N times under load and looks at what is left
  --races N             instead: N rounds of contradicting requests, phones and kills at one moment; --only 'queue|room': some scenes; --seed 1000: of the first
  --imports ROWS        instead: files of so many rows, a million at most, into the product, which is killed on the way
  --campaign N          instead: a campaign of N contacts over SIP to people, machines and nobody, while control is killed; --only 'flow|agents|rush|loose|narrow'
  --rate 20             of --campaign: its calls a second
  --sockets KIND        auto, native or node: what the engine's packets go through
  --no-yardstick        without the C program that the engine is compared with
  --virtual             of --copilot: on a clock of its own, which only what the recogniser computes moves on
  --quick               5 seconds each; of --capacity: coarser steps; of --copilot: no more than 4 calls at once
  --json FILE           writes all figures
  --record              adds the run to bench/RESULTS.md`

export interface BenchOptions {
  rooms: number[]
  legs: number
  streams: StreamFormat[]
  streamLegs: number
  threads: number
  seconds: number
  /** Whether `--seconds` was given. */
  secondsGiven: boolean
  jitterMs: number
  sockets: SocketChoice
  yardstick: boolean
  capacity: boolean
  buffers: boolean
  calls: boolean
  flood: boolean
  /** Number of messages; 0: another bench. */
  fuzz: number
  /** [calls/s] */
  rates: number[]
  /** Duration; 0: another bench [min]. */
  soak: number
  api: boolean
  busy: boolean
  answers: boolean
  copilot: boolean
  amd: boolean
  /** Runs shorter, with less precise results. */
  quick: boolean
  virtual: boolean
  /** Number of turns; 0: another bench. */
  turns: number
  /** Calls of each condition; 0: another bench. */
  hearing: number
  /** Duration of the audio; 0: another bench [min]. */
  tones: number
  /** Folder with WAV files; null: the bench makes its own audio. */
  recordings: string | null
  sets: SentenceSet[]
  /** Names of the cases that run; empty: all. */
  only: RegExp
  /** Number of kills; 0: another bench. */
  kills: number
  /** Number of rounds; 0: another bench. */
  races: number
  /** Of the first round. */
  seed: number
  /** Rows of a file; 0: another bench. */
  imports: number
  /** Number of contacts; 0: another bench. */
  campaign: number
  /** Rate of the campaign [calls/s]. */
  rate: number
  json: string | null
  record: boolean
}

/** The options of the command line; null: help is wanted. Throws an error with a message for the user if one is wrong. */
export function readOptions(args: string[]): BenchOptions | null {
  const { values, tokens } = parseArgs({
    args,
    allowNegative: true,
    tokens: true,
    options: {
      rooms: { type: 'string', default: '3,10,100' },
      legs: { type: 'string', default: '300' },
      sockets: { type: 'string', default: 'auto' },
      streams: { type: 'string', default: FORMATS.join(',') },
      'stream-legs': { type: 'string', default: '50' },
      threads: { type: 'string', default: '1' },
      seconds: { type: 'string' },
      jitter: { type: 'string', default: '1' },
      yardstick: { type: 'boolean', default: true },
      flood: { type: 'boolean', default: false },
      fuzz: { type: 'string' },
      calls: { type: 'boolean', default: false },
      rates: { type: 'string', default: '25,50,100,200,400' },
      capacity: { type: 'boolean', default: false },
      buffers: { type: 'boolean', default: false },
      soak: { type: 'string' },
      api: { type: 'boolean', default: false },
      busy: { type: 'boolean', default: false },
      answers: { type: 'boolean', default: false },
      copilot: { type: 'boolean', default: false },
      amd: { type: 'boolean', default: false },
      turns: { type: 'string' },
      hearing: { type: 'string' },
      tones: { type: 'string' },
      recordings: { type: 'string' },
      sets: { type: 'string', default: SETS.join(',') },
      only: { type: 'string', default: '' },
      kills: { type: 'string' },
      races: { type: 'string' },
      seed: { type: 'string', default: '0' },
      imports: { type: 'string' },
      campaign: { type: 'string' },
      rate: { type: 'string', default: '20' },
      quick: { type: 'boolean', default: false },
      virtual: { type: 'boolean', default: false },
      json: { type: 'string' },
      record: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return null
  refuseTogether(tokens.flatMap(token => (token.kind === 'option' ? [token.name] : [])))
  return {
    rooms: list(values.rooms).map(size => whole('rooms', size, 2, 500)),
    legs: whole('legs', values.legs, 2, 4000),
    streams: known('streams', values.streams, FORMATS),
    streamLegs: whole('stream-legs', values['stream-legs'], 1, 1000),
    threads: whole('threads', values.threads, 1, 16),
    seconds: whole('seconds', values.seconds ?? (values.quick ? '5' : '60'), 3, 3600),
    secondsGiven: values.seconds !== undefined,
    jitterMs: whole('jitter', values.jitter, 0, 20),
    sockets: oneOf('sockets', values.sockets, SOCKETS),
    yardstick: values.yardstick,
    capacity: values.capacity,
    buffers: values.buffers,
    calls: values.calls,
    flood: values.flood,
    fuzz: amount('fuzz', values.fuzz, 100_000_000),
    rates: values.rates.split(',').map(rate => whole('rates', rate, 1, 2000)),
    soak: amount('soak', values.soak, 10_000),
    api: values.api,
    busy: values.busy,
    answers: values.answers,
    copilot: values.copilot,
    amd: values.amd,
    quick: values.quick,
    virtual: values.virtual,
    turns: amount('turns', values.turns, 10_000),
    hearing: amount('hearing', values.hearing, 1000),
    tones: amount('tones', values.tones, 600),
    recordings: values.recordings ?? null,
    sets: values.sets.split(',').map(set => oneOf('sets', set, SETS)),
    only: pattern('only', values.only),
    kills: amount('kills', values.kills, 100_000),
    races: amount('races', values.races, 100_000),
    seed: whole('seed', values.seed, 0, 1_000_000_000),
    imports: amount('imports', values.imports, 1_000_000),
    campaign: amount('campaign', values.campaign, 100_000),
    rate: whole('rate', values.rate, 1, 50),
    json: values.json ?? null,
    record: values.record,
  }
}

/** @param given names of options */
function refuseTogether(given: readonly string[]): void {
  const benches = BENCHES.filter(bench => given.includes(bench))
  // The one pair that is a bench of its own.
  const isPair = benches.length === 2 && benches.includes('soak') && benches.includes('busy')
  if (benches.length > 1 && !isPair) throw new Error(`--${benches.join(' and --')} are different benches: choose one`)
  for (const [name, heeding] of Object.entries(OF_BENCHES)) {
    if (given.includes(name) && !heeding.some(bench => benches.includes(bench))) {
      throw new Error(`--${name} is an option of --${heeding.join(', --')}`)
    }
  }
}

const list = (text: string): string[] => (text === 'none' ? [] : text.split(','))

const known = <T extends string>(name: string, text: string, all: readonly T[]): T[] =>
  list(text).map(wanted => oneOf(name, wanted, all))

function oneOf<T extends string>(name: string, wanted: string, all: readonly T[]): T {
  const found = all.find(one => one === wanted)
  if (found === undefined) throw new Error(`--${name}: there is no ${wanted}, only ${all.join(', ')}`)
  return found
}

function pattern(name: string, text: string): RegExp {
  try {
    return new RegExp(text)
  } catch (error) {
    throw new Error(`--${name}: ${error instanceof Error ? error.message : error}`)
  }
}

/** Of an option that chooses another bench; 0: it was not given. */
const amount = (name: string, text: string | undefined, most: number): number =>
  text === undefined ? 0 : whole(name, text, 1, most)

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new Error(`--${name} must be a whole number from ${least} to ${most}`)
  }
  return value
}
