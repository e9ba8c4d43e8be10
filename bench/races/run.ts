import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type ProcessName, Product } from '../product.ts'
import { seeded } from '../seeded.ts'
import { CALLS } from './calls.ts'
import { missingWebhooks, newest, rows, settled, untold, wrongAnswers, wrongEvents } from './checks.ts'
import type { Deed, Stage } from './deeds.ts'
import { closeHouse, type House, openHouse, takersOf } from './house.ts'
import { MOMENTS } from './moments.ts'
import { Requests, type Sent } from './requests.ts'
import { WORK } from './work.ts'

const SCENES = { ...MOMENTS, ...CALLS, ...WORK }

interface RacesOptions {
  rounds: number
  /** Of the first round; each further one has the next. */
  seed: number
  /** Names of the scenes that take part. */
  only: RegExp
  say: (line: string) => void
}

/** Share of rounds in which control or media is killed. */
const KILLED = 0.1
/** Within how long the deeds of a round begin [ms]. */
const SPREADS_MS = [0, 5, 30, 150, 600]
/** Deeds that contradict each other. */
const GROUPS = [
  /recording/,
  /transfer|refers|hold|resumes/,
  /^pci|pause|resume|dtmf|presses/,
  /stream/,
  /transcript|recording|play/,
  /supervise|agent/,
  /queue|agent/,
  /remove|promote|mute|deafen|hold one|dial in|one more/,
  /lock|close|moderator|delete room|end session|one more|dial in/,
  /flow|publish|archive|presses/,
  /cancel|complete|change|book|outside/,
  /claim|contact|start|pause|stop|resume/,
  /delete|hook|trunk|number/,
]
/** After these there is nothing left to contradict. */
const ENDING = /hang|cancel|deactivated|deleted|delete|remove|end session|close|stop$|archive/

/**
 * Rounds of contradicting requests, phones and kills at one moment, of which each must end with nothing left, as it was answered and told. On
 * PostgreSQL with `TANDEM_TEST_DATABASE_URL`. @returns the problems
 */
export async function runRaces({ rounds, seed, only, say }: RacesOptions): Promise<string[]> {
  const env = { TANDEM_LOG_LEVEL: 'error', TANDEM_ENGINE_THREADS: '2', ...(await ownDatabase()) }
  const product = await Product.start({ env })
  const problems: string[] = []
  const note = (found: string[], round: string): void => {
    for (const problem of found) {
      problems.push(`${round}: ${problem}`)
      say(`${round}: ${problem}`)
    }
  }
  let house: House | null = null
  try {
    house = await openHouse(product)
    const names = Object.keys(SCENES).filter(name => only.test(name))
    for (let n = seed; n < seed + rounds && names.length > 0; n++) {
      const name = names[n % names.length]!
      note(await new Round(house, n).play(name), `${n} ${name}`)
      if (n % 10 === 9) say(`${n + 1 - seed} rounds`)
    }
    note(await missingWebhooks(house), 'in the end')
  } finally {
    if (house !== null) await closeHouse(house)
    await product.stop()
  }
  return problems
}

/** One scene, with what happens in it. */
class Round {
  readonly #house: House
  readonly #seed: number
  readonly #random: () => number
  readonly #story: string[] = []
  #killed: ProcessName | null = null

  constructor(house: House, seed: number) {
    this.#house = house
    this.#seed = seed
    this.#random = seeded(seed * 7919)
  }

  async play(name: string): Promise<string[]> {
    const { product } = this.#house
    const since = await newest(product)
    const outputFrom = product.output.length
    const undo: (() => Promise<unknown>)[] = []
    const requests = new Requests(product, this.#random, `${this.#seed}-${randomInt(1e9)}`)
    const stage: Stage = {
      ...{ house: this.#house, requests, random: this.#random },
      ...{ serial: this.#seed % 10_000, after: (one: () => Promise<unknown>) => undo.push(one) },
    }
    const problems: string[] = []
    try {
      const deeds = await SCENES[name]!(stage)
      if (deeds.length > 0) await this.#race(deeds, stage)
      await this.#replay(requests)
    } catch (error) {
      problems.push(`the round broke: ${(error as Error).stack}`)
    }
    for (const one of undo.reverse()) await one().catch(() => {})
    problems.push(...(await this.#leave()))
    const isKilled = this.#killed !== null
    problems.push(...wrongAnswers(requests.sent, isKilled), ...(await wrongEvents(product, since)))
    problems.push(...(await untold(product, requests.sent, since)))
    const log = product.output.slice(outputFrom).split('\n')
    problems.push(...log.filter(line => /"level":[56]0/.test(line) && !line.includes('SIGKILL')))
    if (problems.length > 0) problems.push(`${this.#story.join(' | ')}`, ...requests.sent.map(describe))
    return problems
  }

  async #race(deeds: readonly Deed[], stage: Stage): Promise<void> {
    const { isNow = false } = stage
    const spreadMs = this.#pick(SPREADS_MS)
    if (!isNow) await this.#begin(deeds)
    const groups = [this.#pick(GROUPS), this.#pick(GROUPS)]
    const fitting = deeds.filter(({ name }) => groups.some(group => group.test(name)) || this.#chance(0.2))
    const chosen = isNow || fitting.length < 2 || this.#chance(0.25) ? deeds : fitting
    const began = performance.now()
    const doings = Array.from({ length: 2 + Math.floor(this.#random() * 6) }, async () => {
      const deed = this.#pick(chosen)
      await sleep(this.#random() * spreadMs)
      await this.#do(deed, `${(performance.now() - began).toFixed(0)} `)
    })
    if (this.#chance(KILLED)) await this.#kill(this.#random() * (spreadMs + 60))
    await Promise.all(doings)
  }

  /** What is to be contradicted is begun first. */
  async #begin(deeds: readonly Deed[]): Promise<void> {
    await sleep(this.#random() * (this.#chance(0.5) ? 300 : 1200))
    const first = deeds.filter(({ name }) => !ENDING.test(name))
    for (let left = Math.floor(this.#random() * 4); left > 0 && first.length > 0; left--) {
      await this.#do(this.#pick(first), 'first ')
      await sleep(this.#random() * 200)
    }
  }

  async #do({ name, act }: Deed, when: string): Promise<void> {
    this.#story.push(`${when}${name}`)
    await act().catch(error => this.#story.push(`${name} failed: ${error}`))
  }

  async #kill(afterMs: number): Promise<void> {
    const { product } = this.#house
    const name = this.#chance(0.6) ? 'control' : 'media'
    await sleep(afterMs)
    const before = product.pids[name]
    this.#story.push(`${name} is killed`)
    this.#killed = name
    process.kill(before, 'SIGKILL')
    await product.until(`${name} runs again`, async () =>
      product.pids[name] !== before && product.pids[name] > 0 ? true : null,
    )
    await product.ready()
  }

  /** Sends requests with their keys once more. */
  async #replay(requests: Requests): Promise<void> {
    for (const { line, body, key } of requests.sent.filter(({ status }) => status >= 200 && status < 500)) {
      const [method = '', path = ''] = line.split(' ')
      if (key !== null && this.#chance(0.5)) await requests.send(method, path, body, key)
    }
  }

  /** Everybody hangs up. @returns what is left then */
  async #leave(): Promise<string[]> {
    const { product, agents, supervisor } = this.#house
    for (const { id } of await rows(product, "select id from callbacks where status = 'pending'"))
      await product.api('POST', `/callbacks/${id}/cancel`)
    const leaving = setInterval(() => {
      for (const taker of takersOf(this.#house)) taker.leaveAll()
    }, 300)
    const left = await settled(product)
    clearInterval(leaving)
    // A member who was deactivated has lost the phones.
    for (const { userId } of agents) await product.api('PATCH', `/users/${userId}`, { status: 'active' })
    const registered = await rows(product, 'select user_id from sip_registrations')
    for (const { userId, taker } of [...agents, supervisor]) {
      if (registered.some(({ user_id }) => user_id === userId)) continue
      await taker.phone.register(await product.ok('POST', `/users/${userId}/sip_credential`), product.sip)
    }
    for (const { userId } of agents) await product.api('PUT', `/agents/${userId}/status`, { status: 'available' })
    return left
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!
  }
}

const describe = ({ atMs, tookMs, line, body, key, status, answer }: Sent): string =>
  [
    `  ${atMs.toFixed(0)} + ${tookMs.toFixed(0)} ms: ${line} ${JSON.stringify(body) ?? ''} ${key ?? ''}`,
    `answered ${status} ${answer?.error?.code ?? ''} ${JSON.stringify(answer?.error?.details) ?? ''}`,
  ].join(' ')

/** A database of its own on the server of the tests; none: SQLite. */
async function ownDatabase(): Promise<Record<string, string>> {
  const server = process.env.TANDEM_TEST_DATABASE_URL
  if (server === undefined) return {}
  const client = new pg.Client(server)
  const url = new URL(server)
  url.pathname = `/races_${process.pid}`
  await client.connect()
  await client.query(`create database races_${process.pid}`)
  await client.end()
  return { TANDEM_DATABASE_URL: url.href }
}
