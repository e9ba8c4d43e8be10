import { spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../bench/free-port.ts'
import { childOfTest } from './child.ts'

const POLL_MS = 50
const PORTS = 100

let started = 0
/** It takes ports that others have bound, so each has an address of its own. */
const newHost = (): string => `127.${1 + ((process.pid >> 8) % 254)}.${process.pid & 0xff}.${++started}`

/** What is sent to it: bencode (BEP 3) of these. */
type Words = string | readonly string[]

const text = (value: string): string => `${Buffer.byteLength(value)}:${value}`
const coded = (value: Words): string => (typeof value === 'string' ? text(value) : `l${value.map(text).join('')}e`)

/** Debian's rtpengine, without its kernel module: a media relay whose one side has descriptions of another kind than the other. */
export class Rtpengine {
  /** Where it relays. */
  readonly host: string
  readonly #socket: Socket
  readonly #port: number
  readonly #kill: () => void
  #cookies = 0

  private constructor(host: string, socket: Socket, port: number, kill: () => void) {
    this.host = host
    this.#socket = socket
    this.#port = port
    this.#kill = kill
  }

  static async start(): Promise<Rtpengine> {
    const host = newHost()
    const [port, first] = [await freePort(host), await freePort(host)]
    const socket = createSocket('udp4').bind(0, host)
    await once(socket, 'listening')
    const media = ['--table=-1', `--interface=${host}`, `--port-min=${first}`, `--port-max=${first + PORTS}`]
    const own = ['--foreground', '--log-stderr', '--log-level=3', '--num-threads=2', '--config-file=none']
    const child = spawn('rtpengine', [...own, ...media, `--listen-ng=${host}:${port}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    childOfTest(child)
    let said = ''
    child.stderr.on('data', words => (said += words))
    const relay = new Rtpengine(host, socket, port, () => child.kill('SIGKILL'))
    while (!(await relay.#answers())) {
      if (child.exitCode !== null) throw new Error(`rtpengine does not start: ${said}`)
    }
    return relay
  }

  async #answers(): Promise<boolean> {
    const reply = this.#ask({ command: 'ping' })
    return Promise.race([reply.then(() => true), sleep(POLL_MS, false)])
  }

  /** Sends one command of its ng protocol. @returns its reply, undecoded */
  async #ask(command: Record<string, Words>): Promise<string> {
    const cookie = `c${++this.#cookies}`
    const entries = Object.entries(command).map(([key, value]) => text(key) + coded(value))
    const reply = new Promise<string>(resolve => {
      const take = (bytes: Buffer): void => {
        const answer = bytes.toString('latin1')
        if (!answer.startsWith(`${cookie} `)) return
        this.#socket.off('message', take)
        resolve(answer)
      }
      this.#socket.on('message', take)
    })
    this.#socket.send(`${cookie} d${entries.join('')}e`, this.#port, this.host)
    return reply
  }

  /** The description that goes on in place of this one. @param as what the other side is to get */
  async passOn(sdp: string, tags: { from: string; to?: string }, as: Record<string, Words> = {}): Promise<string> {
    const { from, to } = tags
    const side: Record<string, Words> = to === undefined ? { command: 'offer' } : { command: 'answer', 'to-tag': to }
    const reply = await this.#ask({ ...side, 'call-id': from, 'from-tag': from, sdp, replace: ['origin'], ...as })
    const found = /3:sdp(\d+):/.exec(reply)
    if (found === null) throw new Error(`rtpengine: ${reply}`)
    const at = found.index + found[0].length
    return reply.slice(at, at + Number(found[1]))
  }

  stop(): void {
    this.#kill()
    this.#socket.close()
  }
}
