import { thisCommit, thisMachine } from '../machine.ts'
import { Phone } from '../phone/phone.ts'
import { childrenOf, readCpu } from '../process-cpu.ts'
import { Product } from '../product.ts'
import { HELD } from './calls/held.ts'
import type { Half } from './calls/labelled-call.ts'
import { SEEN } from './calls/seen.ts'
import { type HeardCall, type HeardRound, hearCall, type Recording, recordingsOf } from './heard-calls.ts'
import { benchKnownWords, type KnownWords } from './known-words.ts'
import { VirtualCalls } from './virtual-calls.ts'

export interface CopilotReport {
  startedAt: string
  commit: ReturnType<typeof thisCommit>
  machine: ReturnType<typeof thisMachine>
  known: KnownWords[]
  rounds: HeardRound[]
}

interface CopilotOptions {
  /** Which of `seen` and `held` are run. */
  only: RegExp
  /** On a virtual clock, without the rest of the product. */
  virtual: boolean
  /** Without the search for the number of calls that is too high. */
  quick: boolean
}

/** Number of recordings that are run one after the other. */
const SINGLE = 3
const AT_ONCE = 4
/** Numbers of simultaneous calls that are tried until the 95th percentile is twice that of one call. */
const MANY = [8, 16]
const LOADED_MS = 120_000
/** Time between the starts of simultaneous calls, so that they do not run in step [ms]. */
const APART_MS = 370

/** How soon the copilot's messages come, and which of them are right: with text, and with the offline recogniser and several calls at once. */
export async function benchCopilot(
  { only, quick, virtual }: CopilotOptions,
  say: (line: string) => void,
): Promise<CopilotReport> {
  const startedAt = new Date().toISOString()
  const halves = [SEEN, HELD].filter(({ name }) => only.test(name))
  if (virtual) {
    const rounds = await virtualRounds(mixed(halves), quick, say)
    return { startedAt, commit: thisCommit(), machine: thisMachine(), known: [], rounds }
  }
  const product = await Product.start({ env: { TANDEM_SPEECH_PRELOAD: 'yes' } })
  try {
    const known: KnownWords[] = []
    for (const half of halves) {
      say(`the words of the ${half.name} half are known …`)
      known.push(await benchKnownWords(product, half))
    }
    await product.until('the ear is loaded', () => isEarReady(product), LOADED_MS)
    const recordings = mixed(halves)
    const rounds = [await oneByOne(product, recordings.slice(0, SINGLE), say)]
    for (const calls of [AT_ONCE, ...(quick ? [] : MANY)]) {
      rounds.push(await atOnce(groupsOf(recordings, calls), say, group => onProduct(product, group)))
      if (calls > AT_ONCE && p95Of(rounds.at(-1)!) >= 2 * p95Of(rounds[0]!)) break
    }
    return { startedAt, commit: thisCommit(), machine: thisMachine(), known, rounds }
  } finally {
    await Phone.closeAll()
    await product.stop()
  }
}

/** The recordings of both halves, alternately. */
function mixed(halves: readonly Half[]): Recording[] {
  const each = halves.map(recordingsOf)
  return each[0]!.flatMap((_, n) => each.flatMap(of => of[n] ?? []))
}

async function virtualRounds(
  recordings: readonly Recording[],
  quick: boolean,
  say: (line: string) => void,
): Promise<HeardRound[]> {
  const virtual = await VirtualCalls.load()
  const rounds: HeardRound[] = []
  const one: HeardRound[] = []
  for (const recording of recordings) {
    say(`one call is heard: ${recording.recording.call.name} …`)
    one.push(await virtual.run([recording], 0))
  }
  const cpuPerSpeech = one.reduce((sum, round) => sum + round.cpuPerSpeech, 0) / one.length
  rounds.push({ calls: 1, heard: one.flatMap(({ heard }) => heard), cpuPerSpeech })
  for (const calls of [AT_ONCE, ...(quick ? [] : MANY)]) {
    rounds.push(await atOnce(groupsOf(recordings, calls), say, group => virtual.run(group, APART_MS)))
  }
  await virtual.close()
  return rounds
}

/** Groups of `calls` recordings, as many as it takes for every recording to be in equally many of them. */
function groupsOf(recordings: readonly Recording[], calls: number): Recording[][] {
  const { length } = recordings
  const groups: Recording[][] = []
  for (let at = 0; at === 0 || at % length !== 0; at += calls) {
    groups.push(Array.from({ length: calls }, (_, n) => recordings[(at + n) % length]!))
  }
  return groups
}

/** Runs groups of simultaneous calls, one after the other: with only one group, a single message would decide the 95th percentile. */
async function atOnce(
  groups: readonly Recording[][],
  say: (line: string) => void,
  hear: (group: Recording[]) => Promise<HeardRound>,
): Promise<HeardRound> {
  const rounds: HeardRound[] = []
  for (const group of groups) {
    say(`${group.length} calls are heard at once, ${rounds.length + 1} of ${groups.length} …`)
    rounds.push(await hear(group))
  }
  const cpuPerSpeech = rounds.reduce((sum, round) => sum + round.cpuPerSpeech, 0) / rounds.length
  return { calls: groups[0]!.length, heard: rounds.flatMap(({ heard }) => heard), cpuPerSpeech }
}

async function isEarReady({ baseUrl }: Product): Promise<true | null> {
  const { speech } = (await (await fetch(`${baseUrl}/readyz`)).json()) as { speech: string | null }
  return speech === 'ready' ? true : null
}

async function oneByOne(product: Product, recordings: readonly Recording[], say: (line: string) => void) {
  return measured(product, 1, async () => {
    const heard: HeardCall[] = []
    for (const recording of recordings) {
      say(`one call is heard: ${recording.recording.call.name} …`)
      heard.push(await hearCall(product, recording))
    }
    return heard
  })
}

const onProduct = (product: Product, group: readonly Recording[]): Promise<HeardRound> =>
  measured(product, group.length, () =>
    Promise.all(group.map((recording, n) => hearCall(product, recording, n * APART_MS))),
  )

async function measured(product: Product, calls: number, run: () => Promise<HeardCall[]>): Promise<HeardRound> {
  const cpuMs = (): number =>
    childrenOf(product.pids.media).reduce((sum, pid) => {
      const { userMs, systemMs } = readCpu(pid)
      return sum + userMs + systemMs
    }, 0)
  const before = cpuMs()
  const heard = await run()
  const speechMs = heard.reduce((sum, one) => sum + one.speechMs, 0)
  return { calls, heard, cpuPerSpeech: (cpuMs() - before) / speechMs }
}

export const latenciesOf = ({ heard }: HeardRound): number[] =>
  heard.flatMap(({ latencies }) => latencies.map(({ ms }) => ms))

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

const p95Of = (round: HeardRound): number => percentile(latenciesOf(round), 0.95)
