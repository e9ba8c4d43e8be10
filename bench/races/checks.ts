import BetterSqlite3 from 'better-sqlite3'
import pg from 'pg'
import { databaseFile } from '../../control/kernel/data-dir.ts'
import type { Product } from '../product.ts'
import type { House } from './house.ts'
import type { Sent } from './requests.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows and events of every shape
type Json = any

const SETTLE_MS = 45_000
/** Maximum time for which a request may be refused because something is only being started [ms]. */
const MAX_STARTING_MS = 3000

export async function rows(product: Product, sql: string): Promise<Json[]> {
  const url = product.env.TANDEM_DATABASE_URL
  if (url === undefined) {
    const database = new BetterSqlite3(databaseFile(product.dataDir), { readonly: true })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Rows of things that live, which must not be there once everybody has hung up. */
const LEFT: Record<string, string> = {
  call: 'select id, kind, status, created from calls where ended_at is null',
  participant: "select id, call_id, step from participants where step <> 'ended'",
  'participant without leaving':
    "select id, call_id, step from participants where joined_at is not null and left_at is null and step = 'ended'",
  ring: 'select * from rings',
  'queue call': 'select * from queue_calls',
  recording: "select * from recordings where status = 'recording'",
  stream: "select id, status, call_id from media_streams where status not in ('stopped', 'failed')",
  transcript: "select id, status from transcripts where status not in ('ready', 'failed')",
  pause: 'select * from capture_pauses',
  program: 'select id, leg_id, kind, status from call_programs where ended_at is null',
  input: 'select id, call_id from call_inputs',
  transfer: "select id, call_id, status from call_transfers where status not in ('completed', 'failed', 'cancelled')",
  'busy agent': "select id, status, reserved_until from agent_statuses where status = 'busy'",
  voicemail: "select id, status from voicemails where status = 'recording'",
  callback: "select id, status, call_id from callbacks where status in ('offered', 'dialing', 'connected')",
  contact: "select id, status from campaign_contacts where status in ('calling', 'connected')",
  attempt: 'select id, call_id from campaign_attempts where ended_at is null',
  copilot: 'select id, status from copilot_sessions where ended_at is null',
  'capture change': 'select * from capture_changes',
  attempted: 'select path, lease from idempotency_keys where lease is not null',
}

const GAUGES = ['legs', 'rooms', 'streams', 'sip_sessions', 'answers_listened_for', 'browsers']

async function leftOver(product: Product): Promise<string[]> {
  const found: string[] = []
  for (const [name, sql] of Object.entries(LEFT)) {
    const left = await rows(product, sql)
    if (left.length > 0) found.push(`${left.length} × ${name} left: ${JSON.stringify(left[0])}`)
  }
  const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text().catch(() => '')
  for (const gauge of GAUGES) {
    const value = new RegExp(`^tandem_media_${gauge} (\\d+)$`, 'm').exec(metrics)?.[1]
    if (value !== '0') found.push(`media has ${value} ${gauge}`)
  }
  return found
}

/** Resolves with what is left after everybody has hung up, and does not go away. */
export async function settled(product: Product): Promise<string[]> {
  const until = performance.now() + SETTLE_MS
  for (;;) {
    const left = await leftOver(product).catch(error => [String(error)])
    if (left.length === 0 || performance.now() > until) return left
    await new Promise(later => setTimeout(later, 150))
  }
}

/** The ID of the newest event. */
export async function newest(product: Product): Promise<string> {
  const [last] = await rows(product, 'select max(id) as id from events')
  return last?.id ?? ''
}

/** What requests were answered that must never be. */
export function wrongAnswers(sent: readonly Sent[], isKilled: boolean): string[] {
  const problems: string[] = []
  /** Since when each line has been refused because something is only being started. */
  const refusedSince = new Map<string, number>()
  for (const { line, status, answer, tookMs, body, atMs } of sent.toSorted((a, b) => a.atMs - b.atMs)) {
    const isStarting = /only being started/.test(answer?.error?.message)
    const since = isStarting ? (refusedSince.get(line) ?? atMs) : null
    if (since === null) refusedSince.delete(line)
    else refusedSince.set(line, since)
    const mayRefuse = (isKilled && status === 503) || (since !== null && atMs - since < MAX_STARTING_MS)
    const isFault = status >= 500 && !mayRefuse
    if (isFault || (status === 0 && !isKilled))
      problems.push(`${line} ${JSON.stringify(body)} answered ${status} ${JSON.stringify(answer?.error ?? answer)}`)
    if (tookMs > 8000) problems.push(`${line} took ${tookMs.toFixed(0)} ms`)
  }
  const keyed = new Map<string, Sent[]>()
  for (const one of sent)
    if (one.key !== null && /^(POST|DELETE)/.test(one.line))
      keyed.set(`${one.line} ${one.key}`, [...(keyed.get(`${one.line} ${one.key}`) ?? []), one])
  for (const group of keyed.values()) {
    const codes = new Set(['idempotency_key_in_use', 'idempotency_key_reused'])
    const real = group.filter(
      ({ answer, status }) => status !== 0 && status !== 429 && status !== 503 && !codes.has(answer?.error?.code),
    )
    const texts = new Set(
      real.map(({ status, answer }) => JSON.stringify([status, status < 300 ? answer : answer?.error?.code])),
    )
    if (texts.size > 1) problems.push(`one key, two answers: ${group[0]!.line} ${[...texts].join(' | ').slice(0, 600)}`)
    const acted = real.filter(({ replayed, status }) => !replayed && status < 300)
    if (acted.length > 1 && !isKilled) problems.push(`one key acted twice: ${group[0]!.line}`)
    const other = group.filter(({ body }) => JSON.stringify(body) !== JSON.stringify(group[0]!.body))
    if (other.length > 0 && real.some(one => other.includes(one)) && real.some(one => !other.includes(one)))
      problems.push(`one key, two bodies, both answered: ${group[0]!.line}`)
  }
  return problems
}

/** Types of which an object has at most one event, and those that come in turns. */
const ONCE = [
  ...[
    'call.created',
    'call.answered',
    'call.ended',
    'call.stream.started',
    'call.recording.ready',
    'call.transcript.ready',
  ],
  ...['conference.started', 'conference.ended', 'conference.participant.joined', 'conference.participant.left'],
  ...['callback.created', 'callback.cancelled', 'callback.completed', 'callback.failed', 'callback.expired'],
  ...['campaign.started', 'campaign.completed', 'campaign.stopped', 'campaign.archived', 'campaign.contact.finished'],
]
const TURNS: [string, string][] = [
  ['call.held', 'call.resumed'],
  ['call.pci.paused', 'call.pci.resumed'],
  ['call.recording.paused', 'call.recording.resumed'],
  ['queue.call.joined', 'queue.call.left|queue.call.overflowed'],
]
/** What may come after the end of its call. */
const LATE =
  /^(queue\.call\.left|call\.flow\.ended|call\.flow\.action|call\.recording\.|call\.transcript\.|call\.summary|qa_|call\.stream\.|voicemail|callback|campaign|call\.turn|agent)/

export async function wrongEvents(product: Product, since: string): Promise<string[]> {
  const problems: string[] = []
  const events = await rows(
    product,
    `select id, type, timestamp, data, call_id, object_id from events where id > '${since}' and livemode = 1 order by id`,
  )
  const byObject = new Map<string, Json[]>()
  const byCall = new Map<string, Json[]>()
  for (const event of events) {
    byObject.set(event.object_id, [...(byObject.get(event.object_id) ?? []), event])
    if (event.call_id !== null) byCall.set(event.call_id, [...(byCall.get(event.call_id) ?? []), event])
  }
  for (const [id, list] of byObject) {
    const types = list.map(({ type }) => type)
    for (const type of ONCE) {
      const times = types.filter(one => one === type).length
      if (times > 1) problems.push(`${type} of ${id} came ${times} times`)
    }
  }
  for (const [id, list] of byCall) {
    const types: string[] = list.map(({ type }) => type)
    for (const [on, off] of TURNS) {
      let isOn = false
      for (const type of types) {
        if (type !== on && !off.split('|').includes(type)) continue
        if ((type === on) === isOn) problems.push(`${type} of ${id} came out of turn: ${types.join(' ')}`)
        isOn = type === on
      }
      if (isOn && types.includes('call.ended') && !['call.recording.paused', 'call.held'].includes(on))
        problems.push(`${on} of ${id} without ${off}: ${types.join(' ')}`)
    }
    const end = types.indexOf('call.ended')
    if (end >= 0)
      for (const type of types.slice(end + 1))
        if (!LATE.test(type)) problems.push(`${type} of ${id} came after its end: ${types.join(' ')}`)
    if (
      types.length > 0 &&
      types[0] !== 'call.created' &&
      list[0].object_id?.startsWith('call_') &&
      types.includes('call.created')
    )
      problems.push(`${types[0]} of ${id} came before call.created: ${types.join(' ')}`)
  }
  const calls = await rows(product, `select id, kind, status, answered_at, ended_at, ended_reason from calls`)
  const told = new Set(events.map(({ type, object_id }) => `${type} ${object_id}`))
  for (const { id, kind, answered_at, ended_at } of calls) {
    if (kind !== 'party' || !told.has(`call.created ${id}`)) continue
    if (ended_at !== null && !told.has(`call.ended ${id}`)) problems.push(`call.ended of ${id} is missing`)
    if ((answered_at !== null) !== told.has(`call.answered ${id}`)) problems.push(`call.answered of ${id} does not fit`)
  }
  const streams = await rows(
    product,
    `select id, status from media_streams where id > '${since.replace(/^evt/, 'strm')}'`,
  )
  for (const { id, status } of streams) {
    const ends = events.filter(({ type, object_id }) => object_id === id && /stopped|failed/.test(type)).length
    if (ends !== 1) problems.push(`stream ${id} (${status}) has ${ends} ends`)
  }
  return problems
}

export async function missingWebhooks({ product, webhooks }: House): Promise<string[]> {
  const until = performance.now() + 30_000
  for (;;) {
    const events = await rows(product, `select id, type from events where livemode = 1 and type <> 'ping'`)
    const seen = new Set(webhooks.received.map(({ headers }) => String(headers['webhook-id'])))
    const missing = events.filter(({ id }) => !seen.has(id))
    if (missing.length === 0) return []
    if (performance.now() > until)
      return [`${missing.length} webhooks never came, as ${missing[0].type} ${missing[0].id}`]
    await new Promise(later => setTimeout(later, 200))
  }
}

/** Requests that succeeded, and the event that tells of it. */
const TELLS: [RegExp, RegExp, string][] = [
  [/^POST \/calls\/\w+\/hangup/, /call\.ended|conference\.ended/, ''],
  [/^POST \/calls\/\w+\/hold/, /call\.held/, ''],
  [/^POST \/calls\/\w+\/unhold/, /call\.resumed/, ''],
  [/^POST \/calls\/\w+\/pci/, /call\.pci\.paused/, 'pause'],
  [/^POST \/calls\/\w+\/pci/, /call\.pci\.resumed/, 'resume'],
  [/^POST \/calls\/\w+\/recording\/pause/, /call\.recording\.paused/, ''],
  [/^POST \/calls\/\w+\/recording\/resume/, /call\.recording\.resumed/, ''],
  [/^POST \/calls\/\w+\/transfer$/, /call\.transferred|call\.held|call\.transfer/, ''],
  [/^DELETE \/calls\/\w+\/streams/, /call\.stream\.(stopped|failed)/, ''],
  [/^DELETE \/conference_rooms\/\w+\/participants/, /participant\.left/, ''],
  [/^POST \/callbacks\/\w+\/cancel/, /callback\.cancelled/, ''],
  [/^POST \/callbacks\/\w+\/complete/, /callback\.completed/, ''],
  [/^POST \/campaigns\/\w+\/start/, /campaign\.started/, ''],
  [/^POST \/campaigns\/\w+\/pause/, /campaign\.paused/, ''],
  [/^POST \/campaigns\/\w+\/resume/, /campaign\.resumed/, ''],
  [/^POST \/calls$/, /call\.created/, ''],
  [/^POST \/callbacks$/, /callback\.(created|merged)/, ''],
]

/** Successes of which no event with their request tells. */
export async function untold(product: Product, sent: readonly Sent[], since: string): Promise<string[]> {
  const events = await rows(
    product,
    `select type, request_id from events where id > '${since}' and request_id is not null`,
  )
  const problems: string[] = []
  for (const { line, status, replayed, requestId, body } of sent) {
    if (status < 200 || status >= 300 || replayed) continue
    for (const [asked, told, action] of TELLS) {
      if (!asked.test(line) || (action !== '' && (body as Json)?.action !== action)) continue
      // A deleted call has lost its events, and what ends may have been ended by somebody else.
      if (line === 'POST /calls' || /hangup|DELETE/.test(line)) continue
      if (!events.some(({ type, request_id }) => request_id === requestId && told.test(type)))
        problems.push(`${line} ${action} answered ${status} and no event tells of it (${requestId})`)
    }
  }
  return problems
}
