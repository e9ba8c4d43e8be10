import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from '../../test/fuzz/random.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import { Phone } from '../phone/phone.ts'
import { residentBytes } from '../soak/samples.ts'
import type { Subject } from '../subject.ts'
import { machineLine, table } from '../tables.ts'
import { FuzzSender } from './sender.ts'

const SEED = 2026
/** Number of messages between two checks that the product keeps up: fewer than a known network may send at once. */
const BATCH = 200
/** Every twentieth batch also has calls and TCP connections, with several messages in each. */
const SPECIAL_EVERY = 20
const SPECIAL = 4
const SAMPLES = 10
/** A product that does not answer within this time counts as dead [ms]. */
const DEAF_MS = 15_000
/** Longer than any SIP state lasts by itself: 64 × T1 (RFC 3261 §17.1.1.2) for a call whose answer is not acknowledged, and again for its BYE [ms]. */
const QUIET_MS = 150_000
const MB = 2 ** 20

interface FuzzSample {
  messages: number
  /** Memory of media and control [bytes]. */
  media: number
  control: number
  sessions: number
  transactions: number
  legs: number
}

interface FuzzReport {
  startedAt: string
  commit: string
  machine: Machine
  seed: number
  seconds: number
  samples: FuzzSample[]
  /** Memory at the end, once all garbage was collected [bytes]; null: it did not come to that. */
  kept: { media: number; control: number } | null
  /** Time from the last message until nothing was left [s]; null: something still is. */
  quietAfter: number | null
  faults: number
  /** Calls that were answered with 503, since capacity was used up. */
  refused: number
  /** What went wrong; empty: nothing. */
  problems: string[]
}

/** `--fuzz N`: sends N broken messages over UDP and TCP to the product. Does it survive, does it leak, is any state left? */
export async function benchFuzz(
  count: number,
  startSubject: () => Promise<Subject>,
  say: (line: string) => void,
): Promise<FuzzReport> {
  const subject = await startSubject()
  const random = new Random(SEED)
  const sender = await FuzzSender.open(random, subject.sip)
  const report: FuzzReport = {
    ...{ startedAt: new Date().toISOString(), commit: thisCommit(), machine: thisMachine() },
    ...{
      seed: random.seed,
      seconds: 0,
      samples: [],
      kept: null,
      quietAfter: null,
      faults: 0,
      refused: 0,
      problems: [],
    },
  }
  const startedAt = performance.now()
  const look = async (): Promise<void> => {
    const sample = await sampleOf(subject, sender.sent)
    report.samples.push(sample)
    say(`${sample.messages} messages, media ${(sample.media / MB).toFixed(0)} MB, ${sample.sessions} sessions …`)
  }
  try {
    await callsWell(subject)
    await look()
    for (let batch = 1; sender.sent < count; batch++) {
      await sender.strangers(BATCH)
      if (batch % SPECIAL_EVERY === 0) {
        for (let n = 0; n < SPECIAL; n++) await Promise.all([sender.insideCall(), sender.overTcp()])
      }
      await answers(subject)
      if (sender.sent >= (report.samples.length * count) / SAMPLES) await look()
    }
    report.refused = sender.refused
    report.seconds = (performance.now() - startedAt) / 1000
    report.quietAfter = await untilQuiet(subject)
    await look()
    await subject.collect()
    report.kept = { media: residentBytes(subject.mediaPid), control: residentBytes(subject.controlPid) }
    await callsWell(subject)
    report.faults = (await subject.metrics()).get('media_signalling_faults_total') ?? Number.NaN
  } catch (error) {
    report.problems.push(`after ${sender.sent} messages: ${error instanceof Error ? error.message : error}`)
  } finally {
    sender.close()
    await subject.stop()
  }
  if (report.quietAfter === null) report.problems.push('something was left')
  if (report.faults > 0) report.problems.push(`${report.faults} faults were caught`)
  return report
}

/** Waits until the product answers: then it has kept up. */
async function answers({ sip, metrics }: Subject): Promise<void> {
  const limit = performance.now() + DEAF_MS
  // That takes both processes: control serves the figures of media.
  while (!(await metrics()).has('media_sip_sessions')) {
    if (performance.now() > limit) throw new Error(`${sip.host}:${sip.port} does not answer any more`)
    await sleep(50)
  }
}

/** Places a call meanwhile, which must be answered and heard. */
async function callsWell({ sip, echoNumber }: Subject): Promise<void> {
  const phone = await Phone.open('fuzz-witness')
  try {
    const call = await phone.call(echoNumber, sip)
    await call.heard.reach(call.heard.length + 8000)
  } finally {
    await phone.close()
  }
}

async function sampleOf(subject: Subject, messages: number): Promise<FuzzSample> {
  const metrics = await subject.metrics()
  const of = (name: string): number => metrics.get(name) ?? Number.NaN
  return {
    messages,
    media: residentBytes(subject.mediaPid),
    control: residentBytes(subject.controlPid),
    sessions: of('media_sip_sessions'),
    transactions: of('media_sip_transactions'),
    legs: of('media_legs'),
  }
}

/** Waits until no SIP state is left. @returns how long that took [s]; null: too long */
async function untilQuiet(subject: Subject): Promise<number | null> {
  const from = performance.now()
  while (performance.now() - from < QUIET_MS) {
    const { sessions, transactions, legs } = await sampleOf(subject, 0)
    if (sessions + transactions + legs === 0) return (performance.now() - from) / 1000
    await sleep(500)
  }
  return null
}

/** The report as text. */
export function formatFuzzReport({ commit, machine, seed, seconds, samples, ...report }: FuzzReport): string {
  const rows = samples.map(({ messages, media, control, sessions, transactions, legs }) => [
    ...[String(messages), (media / MB).toFixed(0), (control / MB).toFixed(0)],
    ...[String(sessions), String(transactions), String(legs)],
  ])
  const { problems, quietAfter, refused, kept } = report
  const [media, control] = [kept?.media ?? Number.NaN, kept?.control ?? Number.NaN].map(bytes =>
    (bytes / MB).toFixed(0),
  )
  return [
    machineLine(commit, machine),
    '',
    `broken SIP over UDP and TCP, seed ${seed}, ${seconds.toFixed(0)} s`,
    ...table([['messages', 'media [MB]', 'control [MB]', 'sessions', 'transactions', 'legs'], ...rows]),
    '',
    quietAfter === null ? '' : `nothing was left ${quietAfter.toFixed(0)} s after the last message`,
    kept === null ? '' : `without garbage: media ${media} MB, control ${control} MB`,
    `${refused} calls were refused with 503, for want of room`,
    problems.length === 0 ? 'the processes live, calls are answered and heard' : `wrong: ${problems.join('; ')}`,
  ].join('\n')
}
