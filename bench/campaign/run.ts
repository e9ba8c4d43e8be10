import { setTimeout as sleep } from 'node:timers/promises'
import { Victim } from '../kills/victim.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import { Product } from '../product.ts'
import { openAgents } from './agents.ts'
import { FarEndProcess } from './far-end-process.ts'
import { type Bounds, type Figures, reconcile, type ShownAttempt, type ShownContact } from './reconcile.ts'

const SEED = 20261123
/**
 * Who leads a campaign, how often control is killed meanwhile, and its maximum number of contacts, since calls of agents take long. `rush`: few agents;
 * one in ten calls is answered, and in the second half seven or eight of ten. `loose`: the same with the highest limit. `narrow`: the connection allows
 * fewer calls than the campaign wants. `trunk`: the connection's calls per second, as a multiple of the campaign's.
 */
const PLANS = {
  flow: { trunk: 1.2, kills: 10, agents: 0, limitPct: 0, most: 100_000, crowds: ['+97253'], maxAttempts: 3 },
  agents: { trunk: 1.2, kills: 3, agents: 20, limitPct: 3, most: 1500, crowds: ['+97253'], maxAttempts: 3 },
  rush: { trunk: 1.2, kills: 0, agents: 8, limitPct: 3, most: 1200, crowds: ['+97254', '+97255'], maxAttempts: 1 },
  loose: { trunk: 1.2, kills: 0, agents: 8, limitPct: 10, most: 1200, crowds: ['+97254', '+97255'], maxAttempts: 1 },
  narrow: { trunk: 0.6, kills: 2, agents: 0, limitPct: 0, most: 2000, crowds: ['+97253'], maxAttempts: 3 },
} as const
type Plan = keyof typeof PLANS
/** RTP ports of each, so that they can run at the same time. */
const RTP_PORTS: Record<Plan, string> = {
  ...{ flow: '34000-39999', agents: '40000-45999', rush: '46000-48999', loose: '49000-51999', narrow: '28000-33999' },
}
/** Maximum time from an answer to the first sound if no agent is free [ms]. */
const HEARD_WITHIN_MS = 2000
const PER_NUMBER = 2
/** Percentage of contacts in whose time zone it is night, and of those on the do-not-call list. */
const ASLEEP = 2
const BLOCKED = 1
const ADDED_AT_ONCE = 5000
const LOOK_MS = 500
/** If nothing happens for this time, the campaign is over: it is longer than any retry delay [ms]. */
const STILL_MS = 75_000
/** Maximum duration of a call, from which `max_concurrent` is derived: it is to be reached, but not to decide the rate [s]. */
const CALL_S = 5
const MOST_AT_ONCE = 1000

export interface CampaignRun {
  ledBy: Plan
  contacts: number
  kills: number
  bounds: Bounds
  figures: Figures
  /** By `/stats` at the end, and its maximum before, 0 to 1. */
  abandonedRate: number | null
  mostAbandoned: number
  limitPct: number
  problems: string[]
}

export interface CampaignReport {
  startedAt: string
  commit: string
  machine: Machine
  runs: CampaignRun[]
}

interface CampaignOptions {
  contacts: number
  /** [calls/s] */
  rate: number
  only: RegExp
}

/** A campaign over real SIP to people, machines, busy and absent parties, while control is killed; then the records of both sides are compared. */
export async function benchCampaign(options: CampaignOptions, say: (line: string) => void): Promise<CampaignReport> {
  const report: CampaignReport = {
    ...{ startedAt: new Date().toISOString(), commit: thisCommit(), machine: thisMachine() },
    runs: [],
  }
  for (const ledBy of Object.keys(PLANS) as Plan[]) {
    if (options.only.test(ledBy)) report.runs.push(await oneCampaign(ledBy, options, say))
  }
  return report
}

async function oneCampaign(
  ledBy: Plan,
  { contacts, rate }: CampaignOptions,
  say: (line: string) => void,
): Promise<CampaignRun> {
  const product = await Product.start({
    env: { TANDEM_LOG_LEVEL: 'error', TANDEM_MAX_CALLS: '2000', TANDEM_RTP_PORTS: RTP_PORTS[ledBy] },
  })
  const farEnd = await FarEndProcess.open(SEED)
  let victim: Victim | null = null
  let agents: Awaited<ReturnType<typeof openAgents>> | null = null
  try {
    const plan = PLANS[ledBy]
    const { kills, limitPct } = plan
    const trunkPerSecond = Math.ceil(rate * plan.trunk)
    const trunk = { name: 'Far end', kind: 'trunk', host: '127.0.0.1', port: farEnd.port }
    await product.ok('POST', '/connections', { ...trunk, calls_per_second: trunkPerSecond })
    if (plan.agents > 0) agents = await openAgents(product, plan.agents)
    const leader =
      agents === null
        ? { flow_id: await holdingFlow(product) }
        : { queue_id: agents.queueId, mode: 'predictive', abandoned_limit_pct: limitPct }
    const bounds: Bounds = {
      ...{ maxAttempts: plan.maxAttempts, perNumber: PER_NUMBER, callsPerSecond: rate, trunkPerSecond },
      ...{ maxConcurrent: Math.min(MOST_AT_ONCE, Math.ceil(rate * CALL_S)), ledByAgents: agents !== null },
    }
    const { id } = await product.ok('POST', '/campaigns', { name: 'Bench', ...leader, ...settingsOf(bounds) })
    const n = Math.min(contacts, plan.most)
    const { asleep, blocked } = await addContacts(product, id, n, plan.crowds)
    victim = await Victim.instead(product)
    await victim.ready()
    await product.ready()
    await product.ok('POST', `/campaigns/${id}/start`)
    const mayBeCalled = n - asleep.size - blocked.size
    const { problems, mostAbandoned } = await follow({ product, victim, id, n: mayBeCalled, kills, say })
    const stats = await product.ok('GET', `/campaigns/${id}/stats`)
    const running = await product.all('/calls?status=in_progress')
    const whole = {
      contacts: (await patientAll(product, `/campaigns/${id}/contacts`)) as ShownContact[],
      attempts: (await patientAll(product, `/campaigns/${id}/attempts`)) as ShownAttempt[],
      ...{ seen: await farEnd.seen(), asleep, blocked, bounds },
    }
    const { figures, problems: found } = reconcile(whole)
    problems.push(...found)
    if (running.length > 0) problems.push(`${running.length} calls are not over`)
    if (stats.contacts.pending + stats.calls_running !== asleep.size + figures.putOff)
      problems.push('contacts are left')
    if (whole.contacts.length !== n) problems.push(`${whole.contacts.length} contacts are there, of ${n}`)
    const abandonedRate: number | null = stats.abandoned_rate
    if (agents !== null && mostAbandoned * 100 > limitPct) problems.push('too many calls were abandoned')
    const late = figures.toldMs.filter(ms => ms > HEARD_WITHIN_MS).length
    if (late > 0) problems.push(`${late} of whom nobody was there for heard nothing for ${HEARD_WITHIN_MS} ms`)
    return { ledBy, contacts: n, kills, bounds, figures, abandonedRate, mostAbandoned, limitPct, problems }
  } finally {
    await victim?.giveBack()
    await agents?.close()
    farEnd.kill()
    await product.stop()
  }
}

const settingsOf = (bounds: Bounds) => ({
  ...{ ring_timeout_s: 6, max_attempts: bounds.maxAttempts },
  ...{ calls_per_second: bounds.callsPerSecond, max_concurrent: bounds.maxConcurrent },
  retry_minutes: { busy: 1, no_answer: 1, failed: 1, abandoned: null, rejected: null },
  caps: { per_number_per_day: bounds.perNumber },
  timezone: zoneAt(12),
  allowed_hours: { weekly: DAYS.map(day => ({ day, open: '06:00', close: '18:00' })) },
})

const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

/** A time zone in which it is about this hour now. The sign in names of `Etc/GMT` zones is inverted. */
function zoneAt(hour: number): string {
  const ahead = ((((hour - new Date().getUTCHours() + 12) % 24) + 24) % 24) - 12
  return ahead === 0 ? 'Etc/UTC' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`
}

/** A flow whose menu waits for a key that nobody presses, until the called party hangs up. */
async function holdingFlow(product: Product): Promise<string> {
  const always = (next: string) => [{ condition: { kind: 'always' }, next }]
  const menu = { key: 'menu', type: 'menu', script: 'Press one to confirm.', input: { modes: ['dtmf'] } }
  const nodes = [
    { key: 'start', type: 'start', transitions: always('menu') },
    { ...menu, transitions: [{ condition: { kind: 'else' }, next: 'bye' }] },
    { key: 'bye', type: 'end' },
  ]
  const { id } = await product.ok('POST', '/flows', { name: 'Bench', kind: 'ivr', graph: { kind: 'ivr', nodes } })
  await product.ok('POST', `/flows/${id}/publish`, {})
  return id
}

/** Adds the contacts, one crowd after the other. */
async function addContacts(product: Product, id: string, n: number, crowds: readonly string[]) {
  const [asleep, blocked] = [new Set<string>(), new Set<string>()]
  const contacts = Array.from({ length: n }, (_, i) => {
    const phone = `${crowds[Math.floor((i * crowds.length) / n)]}${String(1_000_000 + i)}`
    const place = (i * 37) % 100
    if (place < BLOCKED) blocked.add(phone)
    else if (place < BLOCKED + ASLEEP) asleep.add(phone)
    return { phone, ...(asleep.has(phone) ? { timezone: zoneAt(0) } : {}) }
  })
  for (const phone of blocked) await product.ok('POST', '/do_not_call', { phone })
  for (let from = 0; from < n; from += ADDED_AT_ONCE) {
    const body = { contacts: contacts.slice(from, from + ADDED_AT_ONCE) }
    const { added } = await product.ok('POST', `/campaigns/${id}/contacts`, body)
    if (added !== body.contacts.length) throw new Error(`${added} contacts were added, of ${body.contacts.length}`)
  }
  return { asleep, blocked }
}

/** Waits until nothing is due any more, and kills control meanwhile. @returns problems, and the highest rate of abandoned calls */
async function follow({
  product,
  victim,
  id,
  n,
  kills,
  say,
}: {
  product: Product
  victim: Victim
  id: string
  /** Contacts that may be called: each is at least once. */
  n: number
  kills: number
  say: (line: string) => void
}): Promise<{ problems: string[]; mostAbandoned: number }> {
  let [killed, told, stillSince, before, mostAbandoned] = [0, 0, performance.now(), '', 0]
  for (;;) {
    await sleep(LOOK_MS)
    const answer = await product.api('GET', `/campaigns/${id}/stats`).catch(() => null)
    if (answer?.status !== 200) continue
    const { contacts, calls_running: running, attempts, abandoned_rate: abandoned } = answer.body
    mostAbandoned = Math.max(mostAbandoned, abandoned ?? 0)
    const done = (Object.values(attempts.total) as number[]).reduce((sum, results) => sum + results, 0)
    const state = JSON.stringify(contacts)
    if (state !== before || running > 0) stillSince = performance.now()
    before = state
    if (killed < kills && done >= ((killed + 0.5) / kills) * n) {
      await sleep(Math.random() * 1000)
      await victim.replace()
      killed++
      say(`control killed with -9 (${killed} of ${kills}) after ${done} attempts, ${running} calls running`)
      await victim.ready()
    }
    if (done - told >= n / 10) {
      told = done
      say(`${done} attempts to ${n} contacts, ${running} calls running`)
    }
    if (performance.now() - stillSince > STILL_MS) {
      const problems = killed === kills ? [] : [`control was killed ${killed} times only`]
      return { problems, mostAbandoned }
    }
  }
}

/** A whole list, page by page, with pauses where the rate limit demands them. */
async function patientAll(product: Product, path: string): Promise<object[]> {
  const all: object[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await product.api('GET', `${path}?limit=100${cursor}`)
    if (status === 429) await sleep(LOOK_MS)
    else if (status !== 200) throw new Error(`GET ${path} answered ${status}`)
    else {
      all.push(...body.data)
      if (!body.has_more) return all
      cursor = `&starting_after=${encodeURIComponent(body.next_cursor)}`
    }
  }
}
