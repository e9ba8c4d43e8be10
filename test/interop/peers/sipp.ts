import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../bench/free-port.ts'
import type { RestClient } from '../../../bench/rest-client.ts'
import { bracketed } from '../../../sip/message/uri.ts'
import { childOfTest } from './child.ts'

const HOST = '127.0.0.1'
const SCENARIOS = fileURLToPath(new URL('../../../fixtures/sip/sipp', import.meta.url))
/** Time limit of a run, so that a hanging one fails with its trace. */
const LIMIT_S = 45
const POLL_MS = 5
const TRIES = 3
/** Maximum length of the trace that a failed test shows [characters]. */
const SHOWN = 6000

export interface SippOptions {
  /** The user that is dialled. */
  to?: string
  transport?: 'udp' | 'tcp'
  calls?: number
  /** New calls per second. */
  rate?: number
  /** How long a call lasts [ms]. */
  lengthMs?: number
  /** Share of the messages that get lost in either direction [%]. */
  lostPct?: number
  /** Credentials with which it answers a challenge. */
  account?: { username: string; password: string }
  /** SIP port; absent: a free one. */
  port?: number
  /** Whether it sends received audio back. */
  echo?: boolean
  /** Values of the scenario's keywords in brackets. */
  keys?: Record<string, string>
  /** Its own address. Default 127.0.0.1. */
  host?: string
  /** Working directory, with the files that the scenario plays. */
  directory?: string
}

/** One message on the wire, as SIPp saw it. */
interface TracedMessage {
  sent: boolean
  /** Time of day [ms]. */
  at: number
  startLine: string
  text: string
}

/** One run of SIPp with a scenario of `fixtures/sip/sipp`. */
export class Sipp {
  readonly host: string
  readonly port: number
  readonly scenario: string
  readonly #child: ChildProcess
  readonly #directory = mkdtempSync(join(tmpdir(), 'sipp-'))
  /** Also its last words have come. */
  readonly #ended: Promise<void>
  #output = ''
  /** The trace of a finished run. */
  #kept: string | null = null
  #failure: Error | null = null

  private constructor(scenario: string, ports: Ports, args: string[], options: SippOptions) {
    const { host = HOST } = options
    this.scenario = scenario
    this.host = host
    this.port = ports.sip
    const own = [
      ...args,
      ...['-sf', join(SCENARIOS, `${scenario}.xml`), '-i', host, '-mi', host],
      ...['-p', String(ports.sip), '-ci', HOST, '-cp', String(ports.control), '-nostdin'],
      ...['-m', String(options.calls ?? 1), '-t', options.transport === 'tcp' ? 't1' : 'u1'],
      ...['-timeout', String(LIMIT_S), '-timeout_error'],
      ...['-trace_err', '-error_file', this.#file('errors'), '-trace_msg', '-message_file', this.#file('messages')],
    ]
    if (options.account !== undefined) own.push('-au', options.account.username, '-ap', options.account.password)
    for (const [key, value] of Object.entries(options.keys ?? {})) own.push('-key', key, value)
    if (options.echo === true) own.push('-rtp_echo', '-mp', String(ports.media))
    this.#child = spawn('sipp', own, { cwd: options.directory ?? this.#directory, stdio: ['ignore', 'pipe', 'pipe'] })
    childOfTest(this.#child)
    this.#child.stdout!.on('data', text => (this.#output += text))
    this.#child.stderr!.on('data', text => (this.#output += text))
    this.#ended = new Promise(resolve =>
      this.#child.once('close', code => {
        this.#end(code)
        resolve()
      }),
    )
  }

  /** Starts SIPp as the caller of `server`, and resolves when it has said something. */
  static async caller(
    scenario: string,
    server: { host: string; port: number },
    options: SippOptions = {},
  ): Promise<Sipp> {
    const args = [
      `${bracketed(server.host)}:${server.port}`,
      '-s',
      options.to ?? '1002',
      '-d',
      String(options.lengthMs ?? 200),
    ]
    // By default it has no brackets around an address of IPv6.
    if (options.account !== undefined) args.push('-auth_uri', args[0]!)
    if (options.rate !== undefined) args.push('-r', String(options.rate))
    if (options.lostPct !== undefined) args.push('-lost', String(options.lostPct))
    for (let tries = 1; ; tries++) {
      const sipp = new Sipp(scenario, await freePorts(options), args, options)
      await sipp.#until(() => sipp.#trace !== '')
      // Otherwise one of its ports was taken by another test in the meantime.
      if (sipp.#trace !== '') return sipp
      if (tries >= TRIES) await sipp.passed()
    }
  }

  /** Starts SIPp as the called party, and resolves when it listens. */
  static async callee(scenario: string, options: SippOptions = {}): Promise<Sipp> {
    const table = `/proc/net/${options.transport === 'tcp' ? 'tcp' : 'udp'}${isIPv6(options.host ?? HOST) ? '6' : ''}`
    for (let tries = 1; ; tries++) {
      const sipp = new Sipp(scenario, await freePorts(options), [], options)
      // A former connection of this port does not listen.
      const listens = options.transport === 'tcp' ? '[0-9A-F]+:0000 0A ' : ''
      const entry = new RegExp(`:${sipp.port.toString(16).toUpperCase().padStart(4, '0')} ${listens}`)
      await sipp.#until(() => entry.test(readFileSync(table, 'latin1')))
      if (sipp.#isRunning) return sipp
      // One of its ports was taken by another test in the meantime.
      if (tries >= TRIES) await sipp.passed()
    }
  }

  /** Resolves when this is so, or it has ended. Where a start takes long, the machine is busy: then it is looked at more rarely. */
  async #until(is: () => boolean): Promise<void> {
    const begun = performance.now()
    while (this.#isRunning && !is()) await sleep(Math.max(POLL_MS, (performance.now() - begun) / 8))
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  get uri(): string {
    return `sip:callee@${bracketed(this.host)}:${this.port}`
  }

  get #trace(): string {
    return this.#kept ?? this.#read('messages')
  }

  /** Every message so far, in order. Throws if the run has failed: then what somebody waits for will not come. */
  get messages(): TracedMessage[] {
    this.mustNotHaveFailed()
    return this.#traced
  }

  get #traced(): TracedMessage[] {
    const text = this.#trace
    const trace = /^-{20,} \S+\s+(\d+):(\d+):([\d.]+).*\n\w+ message (sent|received) .*\n\n/gm
    const heads = [...text.matchAll(trace)]
    return heads.map((head, n) => {
      const [all, hours, minutes, seconds, direction] = head
      const body = text.slice(head.index + all.length, heads[n + 1]?.index)
      const at = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
      return { sent: direction === 'sent', at, startLine: body.slice(0, body.indexOf('\n')).trim(), text: body }
    })
  }

  /** Received messages whose first line begins so. Throws if there is none, and the run has failed. */
  received(startLine: string): TracedMessage[] {
    const found = this.#traced.filter(message => !message.sent && message.startLine.startsWith(startLine))
    if (found.length === 0) this.mustNotHaveFailed()
    return found
  }

  /** Resolves if every call of the run went as the scenario says. Throws with SIPp's own messages otherwise. */
  async passed(): Promise<void> {
    await this.#ended
    this.mustNotHaveFailed()
  }

  /** Resolves with every message of a run that has to fail, since the scenario expects something else. */
  async failed(): Promise<TracedMessage[]> {
    await this.#ended
    if (this.#failure === null) throw new Error(`${this.scenario} went as the scenario says`)
    return this.#traced
  }

  /** Resolves when a call to it is answered. Throws at once if the run has failed. */
  answered(product: RestClient, callId: string) {
    return product.until(`${this.scenario} answers`, async () => {
      this.mustNotHaveFailed()
      const call = await product.ok('GET', `/calls/${callId}`)
      return call.status === 'in_progress' ? call : null
    })
  }

  /** Throws with SIPp's own messages if the run has failed: for who waits for something else that it leads to. */
  mustNotHaveFailed(): void {
    if (this.#failure !== null) throw this.#failure
  }

  #end(code: number | null): void {
    const trace = this.#read('messages')
    this.#kept = trace
    const errors = this.#read('errors')
    rmSync(this.#directory, { recursive: true, force: true })
    if (code === 0) return
    const tail = trace.length > SHOWN ? `…${trace.slice(-SHOWN)}` : trace
    const words = `${errors}\n${tail}\n${this.#output.slice(-SHOWN)}`
    this.#failure = new Error(`SIPp ended with ${code ?? this.#child.signalCode} on ${this.scenario}\n${words}`)
  }

  #file(name: string): string {
    return join(this.#directory, `${name}.log`)
  }

  #read(name: string): string {
    const file = this.#file(name)
    return existsSync(file) ? readFileSync(file, 'latin1') : ''
  }
}

interface Ports {
  sip: number
  control: number
  /** Port of the audio that it echoes. */
  media: number
}

const freePorts = async ({ port, host = HOST }: SippOptions): Promise<Ports> => ({
  sip: port ?? (await freePort(host)),
  media: await freePort(host),
  control: await freePort(HOST),
})
