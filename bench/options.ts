import { parseArgs } from 'node:util'
import type { StreamFormat } from '../media/protocol.ts'
import { SETS, type SentenceSet } from './hearing/sentences.ts'

const FORMATS: readonly StreamFormat[] = ['mulaw_8000', 'l16_8000', 'l16_16000']

export const HELP = `npm run bench -- [options]
  --rooms 3,10,100      sizes of the rooms; "none" leaves them out
  --legs 300            parties at a time
  --streams LIST        formats: ${FORMATS.join(',')}; "none" leaves them out
  --stream-legs 50      streams at a time
  --seconds 60          how long each is measured
  --api                 instead: requests of the REST API beside a bare Fastify route with the same body, and how lists page
  --busy                instead: what a load of REST requests on the same cores does to the audio
  --turns N             instead: how soon we fall silent when a caller speaks, and how soon we answer, N times
  --hearing N           instead: N labelled calls of each condition through the hearing chain: which words are lost
  --sets LIST           of those calls: ${SETS.join(',')}
  --only PATTERN        of those calls, or of --api: only what has a name that matches, as "quiet|answer"
  --answers             instead: how an assistant without a model answers 200 questions of callers
  --copilot             instead: how soon the copilot tells, with the words known and by the offline ear
  --kills N             instead: kills control with -9 N times under load and looks at what is left
  --no-yardstick        without the C program that the engine is compared with
  --quick               5 seconds each
  --json FILE           writes all figures
  --record              adds the run to bench/RESULTS.md`

export interface BenchOptions {
  rooms: number[]
  legs: number
  streams: StreamFormat[]
  streamLegs: number
  seconds: number
  yardstick: boolean
  api: boolean
  busy: boolean
  answers: boolean
  copilot: boolean
  /** 0: none. */
  turns: number
  /** 0: none. */
  hearing: number
  sets: SentenceSet[]
  /** Of the conditions' names. */
  only: RegExp
  /** 0: none. */
  kills: number
  json: string | null
  record: boolean
}

/** What the command line asks for; null: only help. Throws a line for the user when an option is wrong. */
export function readOptions(args: string[]): BenchOptions | null {
  const { values } = parseArgs({
    args,
    allowNegative: true,
    options: {
      rooms: { type: 'string', default: '3,10,100' },
      legs: { type: 'string', default: '300' },
      streams: { type: 'string', default: FORMATS.join(',') },
      'stream-legs': { type: 'string', default: '50' },
      seconds: { type: 'string' },
      yardstick: { type: 'boolean', default: true },
      api: { type: 'boolean', default: false },
      busy: { type: 'boolean', default: false },
      answers: { type: 'boolean', default: false },
      copilot: { type: 'boolean', default: false },
      turns: { type: 'string', default: '0' },
      hearing: { type: 'string', default: '0' },
      sets: { type: 'string', default: SETS.join(',') },
      only: { type: 'string', default: '' },
      kills: { type: 'string', default: '0' },
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      record: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return null
  return {
    rooms: list(values.rooms).map(size => whole('rooms', size, 2, 500)),
    legs: whole('legs', values.legs, 2, 4000),
    streams: known('streams', values.streams, FORMATS),
    streamLegs: whole('stream-legs', values['stream-legs'], 1, 1000),
    seconds: whole('seconds', values.seconds ?? (values.quick ? '5' : '60'), 3, 3600),
    yardstick: values.yardstick,
    api: values.api,
    busy: values.busy,
    answers: values.answers,
    copilot: values.copilot,
    turns: whole('turns', values.turns, 0, 10_000),
    hearing: whole('hearing', values.hearing, 0, 1000),
    sets: known('sets', values.sets, SETS),
    only: new RegExp(values.only),
    kills: whole('kills', values.kills, 0, 100_000),
    json: values.json ?? null,
    record: values.record,
  }
}

const list = (text: string): string[] => (text === 'none' ? [] : text.split(','))

const known = <T extends string>(name: string, text: string, all: readonly T[]): T[] =>
  list(text).map(wanted => {
    const found = all.find(one => one === wanted)
    if (found === undefined) throw new Error(`--${name}: there is no ${wanted}, only ${all.join(', ')}`)
    return found
  })

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new Error(`--${name} must be a whole number from ${least} to ${most}`)
  }
  return value
}
