import { openAsBlob } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import { Product } from '../product.ts'
import { type MadeFile, makeFile } from './file.ts'
import { type Beside, bytesOf, peakBytes, Watch } from './watch.ts'

const TARGETS = ['do_not_call_numbers', 'campaign_contacts'] as const
type Target = (typeof TARGETS)[number]

/** Shares of the rows after which control is killed. */
const KILLED_AT = [0.1, 0.35, 0.6, 0.85]
/** The same for a trial run. */
const TRIAL_KILLED_AT = [0.5]
const LOOK_MS = 200
const QUIET_MS = 5000

interface ImportFigures {
  target: Target
  isTrial: boolean
  uploadS: number
  /** From its start to its end, without `awayS`. */
  seconds: number
  /** Time in which the import did not go on, because control was killed [s]. */
  awayS: number
  kills: number
  rows: { read: number; written: number; duplicate: number; failed: number }
  progress: number
  maxRss: number
  maxWal: number
  beside: Beside
}

export interface ImportsReport {
  startedAt: string
  commit: string
  machine: Machine
  rows: number
  fileBytes: number
  idleRss: number
  diskBytes: number
  quiet: Beside
  imports: ImportFigures[]
  problems: string[]
}

/** Imports files with many rows into the real product, which is killed meanwhile, and checks that the result is what the files say. */
export async function benchImports(rows: number, say: (line: string) => void): Promise<ImportsReport> {
  const startedAt = new Date().toISOString()
  const folder = await mkdtemp(join(tmpdir(), 'tandem-imports-'))
  const product = await Product.start({ env: { TANDEM_LOG_LEVEL: 'error' } })
  let watch: Watch | null = null
  try {
    say(`writing a file of ${rows} rows`)
    const file = await makeFile(join(folder, 'numbers.csv'), rows)
    const idleRss = peakBytes(product.pids.control)
    watch = await Watch.start(product)
    await sleep(QUIET_MS)
    const quiet = watch.take()
    const imports: ImportFigures[] = []
    const problems: string[] = []
    const assistant = await product.ok('POST', '/assistants', { name: 'Bench' })
    const campaign = await product.ok('POST', '/campaigns', { name: 'Bench', assistant_id: assistant.id })
    for (const target of TARGETS) {
      const place = target === 'campaign_contacts' ? { target_id: campaign.id as string } : {}
      const list = target === 'campaign_contacts' ? `/campaigns/${campaign.id}/results` : '/do_not_call/export'
      for (const isTrial of [true, false]) {
        const run = new OneImport({ product, watch, file, say }, { target, isTrial, ...place })
        const { figures, faults } = await run.run()
        imports.push(figures)
        const there = listedIn(await product.download(list))
        const expected = isTrial ? new Set<string>() : file.numbers
        problems.push(...faults, ...listFaults(there, expected).map(fault => `${run.name}: ${fault}`))
      }
    }
    const diskBytes = bytesOf(join(product.dataDir, 'tandem.db'))
    const [commit, machine] = [thisCommit(), thisMachine()]
    const more = { rows, fileBytes: file.bytes, idleRss, diskBytes, quiet, imports, problems }
    return { startedAt, commit, machine, ...more }
  } finally {
    await watch?.close()
    await product.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Parts {
  product: Product
  watch: Watch
  file: MadeFile
  say: (line: string) => void
}

class OneImport {
  readonly name: string
  readonly #parts: Parts
  readonly #of: { target: Target; isTrial: boolean; target_id?: string }

  constructor(parts: Parts, of: { target: Target; isTrial: boolean; target_id?: string }) {
    this.#parts = parts
    this.#of = of
    this.name = of.isTrial ? `trial of ${of.target}` : of.target
  }

  async run(): Promise<{ figures: ImportFigures; faults: string[] }> {
    const { product, watch, say, file } = this.#parts
    const { target, isTrial } = this.#of
    watch.take()
    watch.maxRss = 0
    watch.maxWal = 0
    const began = performance.now()
    const id = await this.#upload()
    const uploadS = (performance.now() - began) / 1000
    say(`${this.name}: uploaded in ${uploadS.toFixed(1)} s`)
    const { kills, awayMs, done } = await this.#follow(id)
    const seconds = (performance.now() - began - awayMs) / 1000 - uploadS
    say(`${this.name}: ${done.status} after ${seconds.toFixed(0)} s and ${kills} kills, ${JSON.stringify(done.rows)}`)
    const beside = watch.take()
    const told = await this.#progress(id)
    const report = (await product.download(`/imports/${id}/errors`)).toString('utf8')
    const { duplicates: duplicate, failed, numbers } = file
    const rows = { read: file.rows, written: numbers.size, duplicate, failed }
    const faults = [
      ...(done.status === 'completed' ? [] : [`it is ${done.status} (${JSON.stringify(done.failure)})`]),
      ...(JSON.stringify(done.rows) === JSON.stringify(rows) ? [] : [`counts are ${JSON.stringify(done.rows)}`]),
      ...reportFaults(report, file),
      // A trial run that was killed starts over.
      ...(isTrial || told.every((n, i) => i === 0 || n >= told[i - 1]!) ? [] : ['progress went back']),
      ...beside.failures.slice(0, 5),
    ].map(fault => `${this.name}: ${fault}`)
    const more = { rows: done.rows, progress: told.length, maxRss: watch.maxRss, maxWal: watch.maxWal, beside }
    return { figures: { target, isTrial, uploadS, seconds, awayS: awayMs / 1000, kills, ...more }, faults }
  }

  async #upload(): Promise<string> {
    const { product, file } = this.#parts
    const { target, isTrial, target_id } = this.#of
    const form = new FormData()
    const mapping = { phone: 'Telephone', [target === 'campaign_contacts' ? 'name' : 'reason']: 'Full name' }
    const json = (value: unknown) => new Blob([JSON.stringify(value)], { type: 'application/json' })
    form.set('target', target)
    if (target_id !== undefined) form.set('target_id', target_id)
    form.set('country', 'IL')
    form.set('mapping', json(mapping))
    form.set('dry_run', json(isTrial))
    form.set('file', await openAsBlob(file.path), 'numbers.csv')
    const headers = { authorization: `Bearer ${product.liveKey}` }
    const answer = await fetch(`${product.baseUrl}/v1/imports`, { method: 'POST', headers, body: form })
    const body = await answer.text()
    if (answer.status !== 201) throw new Error(`POST /imports answered ${answer.status} ${body}`)
    return JSON.parse(body).id
  }

  /** Waits until the import is over, and kills control meanwhile. */
  async #follow(id: string) {
    const { watch, file, say } = this.#parts
    const marks = [...(this.#of.isTrial ? TRIAL_KILLED_AT : KILLED_AT)]
    let kills = 0
    let awayMs = 0
    /** Rows read when control was killed, and when that was. */
    let killed: { read: number; at: number } | null = null
    for (;;) {
      const now = await this.#now(id)
      if (killed !== null && now.rows.read > killed.read) {
        const waited = performance.now() - killed.at
        say(`${this.name}: goes on at row ${killed.read} after ${(waited / 1000).toFixed(1)} s`)
        awayMs += waited
        killed = null
      }
      if (!['pending', 'running'].includes(now.status)) return { kills, awayMs, done: now }
      if (killed === null && marks.length > 0 && now.rows.read >= marks[0]! * file.rows) {
        marks.shift()
        kills++
        const at = performance.now()
        await watch.kill()
        killed = { read: (await this.#now(id)).rows.read, at }
      }
      await sleep(LOOK_MS)
    }
  }

  /** Retrieves the import; the first request may fail on a connection to the killed process. */
  #now(id: string) {
    const { product } = this.#parts
    return product.until('an answer', () => product.ok('GET', `/imports/${id}`).catch(() => null))
  }

  /** Rows read by each of its progress events, in order. */
  async #progress(id: string): Promise<number[]> {
    const events = await this.#parts.product.all('/events?type=import.progress')
    return events.filter(({ data }) => data.object.id === id).map(({ data }) => data.object.rows.read)
  }
}

/** The numbers in a list's CSV. */
const listedIn = (csv: Buffer): string[] => csv.toString('utf8').match(/\+97253\d{7}/g) ?? []

function listFaults(there: string[], expected: Set<string>): string[] {
  const unique = new Set(there)
  const lacking = [...expected].filter(number => !unique.has(number))
  const stray = [...unique].filter(number => !expected.has(number))
  return [
    ...(lacking.length > 0 ? [`${lacking.length} numbers are not there, as ${lacking[0]}`] : []),
    ...(stray.length > 0 ? [`${stray.length} numbers are there that should not be, as ${stray[0]}`] : []),
    ...(there.length > unique.size ? [`${there.length - unique.size} numbers are there twice`] : []),
  ]
}

function reportFaults(report: string, { errors }: MadeFile): string[] {
  const told = report
    .split('\r\n')
    .slice(1, -1)
    .map(line => line.split(',', 2) as [string, string])
  const wrong = told.filter(([line, code]) => errors.get(Number(line)) !== code)
  return [
    ...(told.length === errors.size ? [] : [`the report has ${told.length} lines, of ${errors.size}`]),
    ...(wrong.length > 0 ? [`${wrong.length} lines of the report are wrong, as ${wrong[0]}`] : []),
  ]
}
