import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../bench/free-port.ts'

const CONFIGURATION = fileURLToPath(new URL('../../../deploy/kamailio/kamailio.cfg', import.meta.url))
const POLL_MS = 10
const running = new Set<number>()

// Kamailio forks children, which must not outlive a test that dies.
process.on('exit', () => {
  for (const group of running) killGroup(group, 'SIGKILL')
})

function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch {
    // It has ended.
  }
}

/** Debian's Kamailio with the configuration of `deploy/kamailio/`, in front of the test's nodes. */
export class Kamailio {
  readonly host: string
  readonly port: number
  readonly tlsPort: number
  output = ''
  readonly #child: ChildProcess
  readonly #directory: string

  private constructor(host: string, ports: [number, number], directory: string) {
    this.host = host
    ;[this.port, this.tlsPort] = ports
    this.#directory = directory
    const config = join(directory, 'kamailio.cfg')
    this.#child = spawn('kamailio', ['-DD', '-E', '-f', config, '-Y', directory, '-m', '32', '-M', '4'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(this.#child.pid!)
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) stream.on('data', text => (this.output += text))
  }

  /** Starts it on free ports of a loopback address, and resolves when it listens. */
  static async start(host: string, nodes: readonly { host: string; port: number }[]): Promise<Kamailio> {
    const directory = mkdtempSync(join(tmpdir(), 'kamailio-'))
    const ports: [number, number] = [await freePort(host), await freePort(host)]
    copyFileSync(CONFIGURATION, join(directory, 'kamailio.cfg'))
    const [key, certificate] = ['edge.key', 'edge.pem'].map(name => join(directory, name))
    const subject = ['-subj', '/CN=edge.test', '-days', '2', '-keyout', key!, '-out', certificate!]
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...subject],
      {
        stdio: 'ignore',
      },
    )
    writeFileSync(
      join(directory, 'tls.cfg'),
      `[server:default]\nmethod = TLSv1.2+\nprivate_key = ${key}\ncertificate = ${certificate}\nverify_certificate = no\n`,
    )
    writeFileSync(
      join(directory, 'local.cfg'),
      [
        `listen=udp:${host}:${ports[0]}`,
        `listen=tcp:${host}:${ports[0]}`,
        '#!define WITH_TLS',
        `listen=tls:${host}:${ports[1]}`,
        `#!define DISPATCHER_LIST "${join(directory, 'dispatcher.list')}"`,
        `#!define TLS_CONFIG "${join(directory, 'tls.cfg')}"`,
        `#!define CONTROL_SOCKET "unix:${join(directory, 'ctl')}"`,
        '#!define PING_SECONDS 1',
        '#!define FIRST_ANSWER_MS 1000',
        '#!define FLOOD_PER_2S 2000',
        '',
      ].join('\n'),
    )
    const lines = nodes.map((node, i) => `1 sip:${node.host}:${node.port} 0 0 duid=node${i}`)
    writeFileSync(join(directory, 'dispatcher.list'), `${lines.join('\n')}\n`)
    const kamailio = new Kamailio(host, ports, directory)
    const entry = new RegExp(`:${ports[1].toString(16).toUpperCase().padStart(4, '0')} `)
    while (!entry.test(readFileSync('/proc/net/tcp', 'latin1'))) {
      if (kamailio.#child.exitCode !== null) throw new Error(`Kamailio does not start: ${kamailio.output}`)
      await sleep(POLL_MS)
    }
    return kamailio
  }

  async stop(): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined || !running.delete(pid)) return
    const exited = new Promise(resolve => this.#child.once('exit', resolve))
    killGroup(pid, 'SIGKILL')
    if (this.#child.exitCode === null && this.#child.signalCode === null) await exited
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
