import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Histogram, type Percentiles } from '../load/histogram.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import { LoadClient, type Rate } from './client.ts'
import type { Served } from './messages.ts'
import { bareOperations, operations } from './operations.ts'

const CONNECTIONS = 16
const CALLBACKS = 100_000
const PAGE = 100
/** Pages at each place of the list of which the time is taken. */
const PAGES_SHOWN = 50
/** Code gets hot, schemas are compiled [s]. */
const WARM_UP_SECONDS = 1

export interface OperationReport extends Rate {
  name: string
  /** Requests per second through those of the bare route of the same method, measured right before. */
  ratio: number
}

export interface ApiReport {
  startedAt: string
  commit: string
  machine: Machine
  seconds: number
  connections: number
  operations: (OperationReport | (Rate & { name: string; ratio: null }))[]
  pages: { callbacks: number; size: number; first: Percentiles; middle: Percentiles; last: Percentiles }
}

/** Requests per second of the main operations, each beside a bare Fastify route, and how a long list pages. */
export async function benchApi(seconds: number, say: (line: string) => void): Promise<ApiReport> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-bench-'))
  const child = fork(fileURLToPath(new URL('./server.ts', import.meta.url)), [folder, String(CALLBACKS)], {
    execArgv: ['--import', 'tsx'],
  })
  const client = new LoadClient(CONNECTIONS)
  try {
    const served = await servedBy(child)
    const report: ApiReport = {
      startedAt: new Date().toISOString(),
      commit: thisCommit(),
      machine: thisMachine(),
      seconds,
      connections: CONNECTIONS,
      operations: [],
      pages: await benchPages(client, served),
    }
    const bare = bareOperations(served)
    const measure = async (next: (typeof bare)['GET'], forSeconds: number): Promise<Rate> => {
      await client.measure(next, WARM_UP_SECONDS)
      return client.measure(next, forSeconds)
    }
    for (const { name, bare: method, next } of operations(served)) {
      say(`${name} …`)
      const reference = await measure(bare[method], Math.max(1, seconds / 2))
      const rate = await measure(next, seconds)
      report.operations.push(
        { name: `  bare ${method}`, ...reference, ratio: null },
        { name, ...rate, ratio: rate.perSecond / reference.perSecond },
      )
    }
    return report
  } finally {
    client.close()
    if (child.exitCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
}

async function servedBy(child: ChildProcess): Promise<Served> {
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`what was to be measured ended with code ${code}`)
  })
  const [served] = (await Promise.race([once(child, 'message'), died])) as [Served]
  died.catch(() => {})
  return served
}

/** Walks the whole list, a page after the other, over one connection. */
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
  // The first pages after the start are slow for other reasons than their place.
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
