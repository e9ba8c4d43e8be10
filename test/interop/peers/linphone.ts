import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../bench/free-port.ts'
import { childOfTest } from './child.ts'
import { toneFile } from './tone-file.ts'

const HOST = '127.0.0.1'
/** Time limit for its end, since it waits for answers to its last requests [ms]. */
const STOP_MS = 5000

export interface LinphoneOptions {
  /** The tone that it sends in calls [Hz]. */
  toneHz: number
  /** Whether it answers calls by itself. */
  answers?: boolean
  /** It offers only SRTP, with keys in SDP (SDES) or by DTLS. */
  srtp?: 'srtp' | 'dtls'
  /** It takes nothing else when it is called, either. */
  insists?: boolean
}

/** Debian's Linphone without a screen and without a sound card: controlled over its standard input, sends a tone from a file. */
export class Linphone {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #directory: string
  readonly #news = new EventEmitter()
  /** The last state of each call, without the prefix `LinphoneCall`, by Linphone's number of the call. */
  readonly #states = new Map<string, string>()
  /** Status lines that no command has taken yet. */
  #statuses: string[] = []
  #unread = ''
  #event = ''

  private constructor(child: ChildProcessWithoutNullStreams, directory: string) {
    this.#child = child
    this.#directory = directory
    child.stdout.setEncoding('utf8').on('data', text => this.#read(String(text)))
    child.stderr.resume()
  }

  static async start({ toneHz, answers = false, srtp, insists = false }: LinphoneOptions): Promise<Linphone> {
    const directory = mkdtempSync(join(tmpdir(), 'linphone-'))
    mkdirSync(join(directory, '.local/share/linphone'), { recursive: true })
    writeFileSync(join(directory, 'tone.wav'), toneFile(toneHz, 8000))
    const sip = ['auto_net_state_mon=1', 'verify_server_certs=0', `media_encryption=${srtp ?? 'none'}`]
    if (insists) sip.push('media_encryption_mandatory=1')
    // All Linphones of a machine would have the same port, and take each other's packets.
    const rc = ['[sip]', ...sip, '[rtp]', 'audio_rtp_port=-1', '[sound]', 'echocancellation=0']
    writeFileSync(join(directory, 'rc'), `${rc.join('\n')}\n`)
    const mode = answers ? ['--auto-answer'] : []
    const child = spawn('linphone-daemon', ['--config', join(directory, 'rc'), '--disable-stats-events', ...mode], {
      env: { ...process.env, HOME: directory },
    })
    childOfTest(child)
    const phone = new Linphone(child, directory)
    await phone.command('ipv6 disable')
    await phone.command(`port sip ${await freePort(HOST)} udp`)
    return phone
  }

  /** Registers at a registrar. */
  async register(account: { username: string; password: string; registrar: string }): Promise<void> {
    const { username, password, registrar } = account
    await this.command(`register sip:${username}@${registrar} sip:${registrar} ${password}`)
  }

  /** Calls, and sends its tone once the call is answered. @returns Linphone's number of the call */
  async call(uri: string): Promise<string> {
    const before = new Set(this.#states.keys())
    await this.command(`call ${uri}`)
    const isNew = (id: string): boolean => !before.has(id)
    while (![...this.#states.keys()].some(isNew)) await once(this.#news, 'event')
    const id = [...this.#states.keys()].find(isNew)!
    await this.until(id, 'StreamsRunning')
    await this.speak(id)
    return id
  }

  async speak(id: string): Promise<void> {
    await this.command(`incall-player-start ${join(this.#directory, 'tone.wav')} ${id}`)
  }

  /** Resolves when a call has this state. */
  async until(id: string, state: string): Promise<void> {
    while (this.#states.get(id) !== state) await once(this.#news, 'event')
  }

  /** Resolves with the number of a call that it has answered by itself. */
  async taken(): Promise<string> {
    for (;;) {
      for (const [id, state] of this.#states) if (state === 'StreamsRunning') return id
      await once(this.#news, 'event')
    }
  }

  /** Sends a command. Throws if it fails. */
  async command(text: string): Promise<void> {
    this.#child.stdin.write(`${text}\n`)
    while (this.#statuses.length === 0) await once(this.#news, 'status')
    const status = this.#statuses.shift()
    if (status !== 'Ok') throw new Error(`linphone, ${text}: ${status}`)
  }

  /** Stops it. */
  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.stdin.write('quit\n')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS)
    await exited
    clearTimeout(timer)
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #read(text: string): void {
    const lines = (this.#unread + text).split('\n')
    this.#unread = lines.pop()!
    for (const line of lines) {
      const [, name, value] = /^(Status|Reason|Event|Id): (.*)$/.exec(line.trim()) ?? []
      if (name === undefined) continue
      if (name === 'Status') this.#statuses.push(value!)
      else if (name === 'Event') this.#event = value!.replace(/^LinphoneCall/, '')
      else if (name === 'Id' && this.#event !== '') {
        this.#states.set(value!, this.#event)
        this.#event = ''
      }
      this.#news.emit(name === 'Status' ? 'status' : 'event')
    }
  }
}
