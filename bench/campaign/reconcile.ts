import type { SeenCall } from './far-end.ts'
import type { PartyKind } from './parties.ts'

/** The fields of contacts and attempts that are used here, as REST shows them. */
export interface ShownContact {
  phone: string
  status: string
  attempts: number
  last_result: string | null
  next_attempt_at: string | null
}
export interface ShownAttempt {
  phone: string
  number: number
  result: string | null
  started_at: string
  answered_at: string | null
  ended_at: string | null
}

export interface Bounds {
  maxAttempts: number
  perNumber: number
  maxConcurrent: number
  callsPerSecond: number
  /** Limit of the connection [calls/s]. */
  trunkPerSecond: number
  ledByAgents: boolean
}

export interface Whole {
  contacts: ShownContact[]
  attempts: ShownAttempt[]
  seen: SeenCall[]
  /** Numbers that must not be called: it is night in their time zone, or they are on the do-not-call list. */
  asleep: Set<string>
  blocked: Set<string>
  bounds: Bounds
}

export interface Figures {
  invites: number
  /** Time from the first INVITE to the last [s]. */
  seconds: number
  atOnce: number
  /** Maximum number of INVITEs within a second: by the times at which they were read, and by those at which they must have arrived. */
  inOneSecond: number
  surelyInOneSecond: number
  kinds: Partial<Record<PartyKind, number>>
  results: Record<string, number>
  statuses: Record<string, number>
  /** Attempts without an INVITE, since no line was free. */
  neverLeft: number
  /** Contacts whose next attempt was postponed by a day, by the limit of calls to a number. */
  putOff: number
  /** For answered calls that no agent was free for: time until the party heard something, without those who hung up before [ms]. */
  toldMs: number[]
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Tolerance of times: an attempt is stored before its INVITE is sent, and ends after its call. Both sides use the clock of one machine. */
const CLOCK_MS = 50
const MANY = 5
/** A party that stayed this long without hearing anything was kept in silence [ms]. */
const SILENT_MS = 2000

/** Compares the far end's record with the product's. @returns figures, and discrepancies */
export function reconcile(whole: Whole): { figures: Figures; problems: string[] } {
  const { contacts, attempts, seen, asleep, blocked, bounds } = whole
  const problems: string[] = []
  const fault = (what: string, phones: readonly string[]): void => {
    if (phones.length > 0) problems.push(`${phones.length} ${what}: ${phones.slice(0, MANY).join(', ')}`)
  }
  const seenOf = groupBy(seen, call => call.phone)
  const attemptsOf = groupBy(attempts, attempt => attempt.phone)
  const phones = contacts.map(({ phone }) => phone)
  const known = new Set(phones)
  const called = phones.filter(phone => !asleep.has(phone) && !blocked.has(phone))
  const byPhone = new Map(contacts.map(contact => [contact.phone, contact]))
  const isPutOff = (phone: string): boolean => {
    const { status, next_attempt_at: next } = byPhone.get(phone)!
    const first = seenOf.get(phone)?.[0]
    if (status !== 'pending' || next === null || first === undefined) return false
    return seenOf.get(phone)!.length >= bounds.perNumber && Date.parse(next) >= first.invitedAt + DAY_MS - 60_000
  }
  const putOff = called.filter(isPutOff)
  const over = new Set([
    ...putOff,
    ...called.filter(phone => ['completed', 'failed'].includes(byPhone.get(phone)!.status)),
  ])
  fault(
    'numbers were called that are no contacts',
    [...seenOf.keys()].filter(phone => !known.has(phone)),
  )
  fault(
    'contacts have no outcome',
    called.filter(phone => !over.has(phone)),
  )
  fault(
    'contacts were called at night',
    [...asleep].filter(phone => seenOf.has(phone)),
  )
  fault(
    'contacts wait for no morning',
    [...asleep].filter(phone => !isAsleep(byPhone.get(phone))),
  )
  fault(
    'contacts of the do-not-call list were called',
    [...blocked].filter(phone => seenOf.has(phone)),
  )
  fault(
    'contacts of the do-not-call list are not excluded',
    [...blocked].filter(phone => byPhone.get(phone)?.status !== 'excluded'),
  )
  const placed = (phone: string): ShownAttempt[] =>
    (attemptsOf.get(phone) ?? []).filter(({ result }) => result !== 'capacity')
  fault(
    'contacts have other attempts than they say',
    phones.filter(phone => byPhone.get(phone)!.attempts !== placed(phone).length),
  )
  fault(
    'contacts have had more attempts than they may',
    phones.filter(phone => placed(phone).length > bounds.maxAttempts),
  )
  fault(
    'attempts are not over',
    attempts.filter(one => one.result === null || one.ended_at === null).map(one => one.phone),
  )
  fault(
    'numbers were called more often than their cap',
    phones.filter(phone => (seenOf.get(phone)?.length ?? 0) > bounds.perNumber),
  )
  fault(
    'numbers were called twice at once',
    phones.filter(phone => overlaps(seenOf.get(phone) ?? [])),
  )
  let neverLeft = 0
  const [strays, doubles, wrong]: string[][] = [[], [], []]
  const toldMs: number[] = []
  for (const phone of phones) {
    const matched = match(seenOf.get(phone) ?? [], attemptsOf.get(phone) ?? [])
    strays!.push(...matched.strays.map(() => phone))
    for (const { attempt, calls } of matched.pairs) {
      if (calls.length > 1) doubles!.push(phone)
      if (calls.length === 0) neverLeft++
      if (attempt.result === 'abandoned') toldMs.push(...calls.flatMap(toldAfterMs))
      const told = calls.map(call => tellOf(call, bounds.ledByAgents))
      if (told.some(results => !results.includes(attempt.result ?? '')))
        wrong!.push(`${phone} ${calls[0]?.kind} ${attempt.result}`)
      if (calls.length === 0 && attempt.result !== 'capacity' && attempt.result !== 'failed')
        wrong!.push(`${phone} nobody ${attempt.result}`)
    }
  }
  fault('INVITEs belong to no attempt', strays!)
  fault('attempts had more than one INVITE', doubles!)
  fault('attempts have another result than their call', wrong!)
  const atOnce = mostAtOnce(seen)
  const inOneSecond = mostWithin(
    seen.map(call => call.invitedAt),
    1000,
  )
  if (atOnce > bounds.maxConcurrent)
    problems.push(`${atOnce} calls were at once, of ${bounds.maxConcurrent} that may be`)
  const mayBegin = Math.min(bounds.trunkPerSecond, Math.ceil(bounds.callsPerSecond))
  const surely = mostSurelyWithin(seen, 1000)
  if (surely > mayBegin) problems.push(`${surely} INVITEs came in one second, of ${mayBegin} that may`)
  const begun = mostWithin(
    attempts.map(one => Date.parse(one.started_at)),
    1000,
  )
  if (begun > Math.ceil(bounds.callsPerSecond)) {
    problems.push(`${begun} attempts were begun in one second, of ${bounds.callsPerSecond}`)
  }
  const times = seen.map(call => call.invitedAt)
  const figures: Figures = {
    invites: seen.length,
    seconds: seen.length === 0 ? 0 : (times.at(-1)! - times[0]!) / 1000,
    ...{ atOnce, inOneSecond, surelyInOneSecond: surely, neverLeft, putOff: putOff.length, toldMs },
    kinds: countBy(seen.map(call => call.kind)),
    results: countBy(attempts.map(one => one.result ?? 'none')),
    statuses: countBy(contacts.map(one => one.status)),
  }
  return { figures, problems }
}

const isAsleep = (contact: ShownContact | undefined): boolean =>
  contact?.status === 'pending' && Date.parse(contact.next_attempt_at ?? '') > Date.now()

/**
 * The results that an attempt may have, by the far end's record of its call. A party who hung up before an agent was there counts as
 * abandoned.
 */
function tellOf({ kind, answeredAt }: SeenCall, ledByAgents: boolean): string[] {
  if (answeredAt !== null) return ledByAgents ? ['answered', 'abandoned'] : ['answered']
  if (kind === 'busy') return ['busy']
  if (kind === 'unknown') return ['invalid_number']
  return ['no_answer']
}

/** Time from the answer to the first sound; none for a party who hung up before it could be judged. */
function toldAfterMs({ answeredAt, heardAt, endedAt }: SeenCall): number[] {
  if (answeredAt === null) return []
  if (heardAt !== null) return [heardAt - answeredAt]
  return endedAt === null ? [] : [endedAt - answeredAt].filter(ms => ms > SILENT_MS)
}

/** Assigns each INVITE to the attempt in whose time it arrived. */
function match(seen: readonly SeenCall[], attempts: readonly ShownAttempt[]) {
  const pairs = attempts.map(attempt => ({ attempt, calls: [] as SeenCall[] }))
  const strays: SeenCall[] = []
  for (const call of seen) {
    const own = pairs.find(({ attempt: { started_at, ended_at } }) => {
      const end = ended_at === null ? Number.POSITIVE_INFINITY : Date.parse(ended_at) + CLOCK_MS
      return call.invitedAt >= Date.parse(started_at) - CLOCK_MS && call.invitedAt <= end
    })
    if (own === undefined) strays.push(call)
    else own.calls.push(call)
  }
  return { pairs, strays }
}

const endOf = ({ endedAt }: SeenCall): number => endedAt ?? Number.POSITIVE_INFINITY

const overlaps = (seen: readonly SeenCall[]): boolean =>
  seen.some((call, i) => i > 0 && call.invitedAt < endOf(seen[i - 1]!))

function mostAtOnce(seen: readonly SeenCall[]): number {
  const changes = seen.flatMap(call => [
    { at: call.invitedAt, by: 1 },
    { at: endOf(call), by: -1 },
  ])
  let [now, most] = [0, 0]
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    now += by
    most = Math.max(most, now)
  }
  return most
}

/** Maximum number of INVITEs within `spanMs` even if the first arrived as early and the last as late as possible. */
function mostSurelyWithin(seen: readonly SeenCall[], spanMs: number): number {
  const sorted = seen.toSorted((a, b) => a.invitedAt - b.invitedAt)
  let [from, most] = [0, 0]
  for (const [i, { invitedAt }] of sorted.entries()) {
    while (sorted[from]!.invitedAfter <= invitedAt - spanMs) from++
    most = Math.max(most, i - from + 1)
  }
  return most
}

function mostWithin(times: readonly number[], spanMs: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  let [from, most] = [0, 0]
  for (const [i, at] of sorted.entries()) {
    while (sorted[from]! <= at - spanMs) from++
    most = Math.max(most, i - from + 1)
  }
  return most
}

function groupBy<T>(all: readonly T[], key: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const group = groups.get(key(one))
    if (group === undefined) groups.set(key(one), [one])
    else group.push(one)
  }
  return groups
}

function countBy<K extends string>(all: readonly K[]): Record<K, number> {
  const counts = {} as Record<K, number>
  for (const one of all) counts[one] = (counts[one] ?? 0) + 1
  return counts
}
