import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Histogram, type Percentiles } from '../load/histogram.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import { bundledServer } from './bundle.ts'
import { type Ask, LoadClient } from './client.ts'
import { type Copy, CPU, type Served } from './messages.ts'
import { bareAsk, type Operation, operations } from './operations.ts'

const CONNECTIONS = 16
const CALLBACKS = 100_000
const PAGE = 100
/** Number of pages whose time is reported at each part of the list. */
const PAGES_SHOWN = 50
/** Warm-up, in which schemas and code are compiled: a number of requests, and a maximum duration for a machine that is too busy for them. */
const WARM_UP_REQUESTS = 8000
const MAX_WARM_UP_MS = 20_000
/** The product and the bare route take turns of this length, so that other work of the machine affects both [ms]. */
const SLICE_MS = 250

/** Medians over the slices. */
interface Rate {
  perSecond: number
  /** CPU of the serving process per request [µs]. */
  cpuUs: number
}

interface OperationReport extends Rate {
  name: string
  latencyMs: Percentiles | null
  bare: Rate
  /** Size of the answer; null if not measured [bytes]. */
  bytes: number | null
  /** Medians over pairs of slices: our requests per second divided by those of the bare route, and its CPU per request divided by ours. */
  ratio: number
  cpuRatio: number
}

export interface ApiReport {
  startedAt: string
  commit: string
  machine: Machine
  seconds: number
  connections: number
  operations: OperationReport[]
  pages: { callbacks: number; size: number; first: Percentiles; middle: Percentiles; last: Percentiles }
}

/** Requests per second of the main operations, each compared with a bare Fastify route, and the time to page through a long list. */
export async function benchApi(seconds: number, say: (line: string) => void, only = /(?:)/): Promise<ApiReport> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-bench-'))
  const child = fork(await bundledServer(), [folder, String(CALLBACKS)], { execArgv: [] })
  const client = new LoadClient(CONNECTIONS)
  try {
    const served = await answerOf<Served>(child)
    const report: ApiReport = {
      startedAt: new Date().toISOString(),
      commit: thisCommit(),
      machine: thisMachine(),
      seconds,
      connections: CONNECTIONS,
      operations: [],
      pages: await benchPages(client, served),
    }
    for (const operation of operations(served).filter(({ name }) => only.test(name))) {
      say(`${operation.name} …`)
      report.operations.push(await benchOperation({ child, client, served }, operation, seconds))
    }
    return report
  } finally {
    client.close()
    if (child.exitCode === null) {
      child.disconnect()
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Bench {
  child: ChildProcess
  client: LoadClient
  served: Served
}

/** Measures in slices: ours, the bare route, the bare route, ours, and so on. */
async function benchOperation(bench: Bench, operation: Operation, seconds: number): Promise<OperationReport> {
  const { child, client, served } = bench
  const bytes = 'copy' in operation.bare ? await answerOf<number>(child, operation.bare satisfies Copy) : null
  const bareNext = bareAsk(served, operation)
  const latencies = new Histogram()
  await warmUp(client, operation.next)
  await warmUp(client, bareNext)
  const ours: Rate[] = []
  const theirs: Rate[] = []
  const slices: [Rate[], () => Ask, (ms: number) => void][] = [
    [ours, operation.next, ms => latencies.add(ms)],
    [theirs, bareNext, ignore],
  ]
  for (let ms = 0; ms < seconds * 1000; ms += SLICE_MS) {
    for (const [rates, next, took] of slices) rates.push(await slice(bench, next, took))
    slices.reverse()
  }
  const pairs = ours.map((our, i) => ({ our, their: theirs[i]! }))
  return {
    name: operation.name,
    bytes,
    ...medianRate(ours),
    latencyMs: latencies.percentiles(),
    bare: medianRate(theirs),
    ratio: median(pairs.map(({ our, their }) => our.perSecond / their.perSecond)),
    cpuRatio: median(pairs.map(({ our, their }) => their.cpuUs / our.cpuUs)),
  }
}

const ignore = (): void => {}

async function warmUp(client: LoadClient, next: () => Ask): Promise<void> {
  const until = performance.now() + MAX_WARM_UP_MS
  for (let asked = 0; asked < WARM_UP_REQUESTS && performance.now() < until; ) {
    asked += (await client.measure(next, SLICE_MS, ignore)).count
  }
}

async function slice({ child, client }: Bench, next: () => Ask, took: (ms: number) => void): Promise<Rate> {
  const before = await answerOf<number>(child, CPU)
  const { count, ms } = await client.measure(next, SLICE_MS, took)
  const used = (await answerOf<number>(child, CPU)) - before
  return { perSecond: (count * 1000) / ms, cpuUs: (used * 1000) / count }
}

const medianRate = (rates: readonly Rate[]): Rate => ({
  perSecond: median(rates.map(rate => rate.perSecond)),
  cpuUs: median(rates.map(rate => rate.cpuUs)),
})

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** The served process's next message, requested or not. */
async function answerOf<T>(child: ChildProcess, asked?: typeof CPU | Copy): Promise<T> {
  const over = new AbortController()
  const died = once(child, 'exit', { signal: over.signal }).then(([code]) => {
    throw new Error(`what was to be measured ended with code ${code}`)
  })
  died.catch(() => {})
  const answer = once(child, 'message')
  if (asked !== undefined) child.send(asked)
  const [message] = (await Promise.race([answer, died])) as [T]
  over.abort()
  return message
}

/** Pages through the whole list over one connection. */
async function benchPages(client: LoadClient, { port, key, callbacks }: Served): Promise<ApiReport['pages']> {
  const headers = { authorization: `Bearer ${key}` }
  const times: number[] = []
  let seen = 0
  for (let cursor = ''; ; ) {
    const before = performance.now()
    const path = `/v1/callbacks?limit=${PAGE}${cursor}`
    const page = JSON.parse(await client.ask({ port, method: 'GET', path, headers }))
    times.push(performance.now() - before)
    seen += page.data.length
    if (!page.has_more) break
    cursor = `&starting_after=${encodeURIComponent(page.next_cursor)}`
  }
  if (seen !== callbacks) throw new Error(`the pages hold ${seen} of ${callbacks} callbacks`)
  const middle = Math.floor((times.length - PAGES_SHOWN) / 2)
  // The first pages are slow because of the start, not because of their place in the list.
  const warm = Math.min(PAGES_SHOWN, times.length - PAGES_SHOWN)
  return {
    callbacks,
    size: PAGE,
    first: percentilesOf(times.slice(warm, warm + PAGES_SHOWN)),
    middle: percentilesOf(times.slice(middle, middle + PAGES_SHOWN)),
    last: percentilesOf(times.slice(-PAGES_SHOWN)),
  }
}

function percentilesOf(times: readonly number[]): Percentiles {
  const histogram = new Histogram()
  for (const time of times) histogram.add(time)
  return histogram.percentiles() ?? { count: 0, p50: 0, p95: 0, p99: 0, max: 0 }
}
