import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../bench/free-port.ts'
import { childOfTest } from './child.ts'

const HOST = '127.0.0.1'
const POLL_MS = 5

/** A name server on a free port of the loopback address (Debian's dnsmasq) that knows only the given records. */
export class Dnsmasq {
  /** `address:port`. */
  readonly server: string
  readonly #kill: () => void

  private constructor(server: string, kill: () => void) {
    this.server = server
    this.#kill = kill
  }

  /** @param records options of dnsmasq, such as `srv-host=_sip._udp.example.com,host.example.com,5060,1,1` */
  static async start(records: readonly string[]): Promise<Dnsmasq> {
    const port = await freePort(HOST)
    const own = ['keep-in-foreground', 'conf-file=/dev/null', 'no-resolv', 'no-hosts', 'bind-interfaces', 'pid-file=']
    const options = [...own, `port=${port}`, `listen-address=${HOST}`, 'user=', ...records]
    const child = spawn(
      'dnsmasq',
      options.map(option => `--${option}`),
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    childOfTest(child)
    let said = ''
    child.stderr.on('data', text => (said += text))
    const entry = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} `)
    while (!entry.test(readFileSync('/proc/net/udp', 'latin1'))) {
      if (child.exitCode !== null) throw new Error(`dnsmasq does not start: ${said}`)
      await sleep(POLL_MS)
    }
    return new Dnsmasq(`${HOST}:${port}`, () => child.kill('SIGKILL'))
  }

  stop(): void {
    this.#kill()
  }
}
