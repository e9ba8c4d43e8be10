import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../../bench/free-port.ts'
import { childOfTest } from './child.ts'

const HOST = '127.0.0.1'
const POLL_MS = 20
const run = promisify(execFile)

/** Debian's secsipidx as a far end's verifier of signed calls: it fetches the certificate that a signature names. */
export class Secsipidx {
  readonly #port: number
  readonly #kill: () => void

  private constructor(port: number, kill: () => void) {
    this.#port = port
    this.#kill = kill
  }

  /** @param anchorsFile PEM of the authorities that it trusts */
  static async start(anchorsFile: string): Promise<Secsipidx> {
    const port = await freePort(HOST)
    // Certificates are looked at: their dates (1) and whether they lead to an authority of the file (4).
    const verification = ['-cert-verify', '5', '-ca-file', anchorsFile]
    const options = ['-http-srv', `${HOST}:${port}`, '-expire', '60', ...verification]
    const child = spawn('secsipidx', options, { stdio: 'ignore' })
    childOfTest(child)
    while (!(await listens(port))) {
      if (child.exitCode !== null) throw new Error(`secsipidx does not start: ${child.exitCode}`)
      await sleep(POLL_MS)
    }
    return new Secsipidx(port, () => child.kill('SIGKILL'))
  }

  /** @param identity value of an Identity header @returns whether it finds that valid */
  async check(identity: string): Promise<boolean> {
    const { ok } = await fetch(`http://${HOST}:${this.#port}/v1/check`, { method: 'POST', body: identity })
    return ok
  }

  /** @param options `orig-tn`, `dest-tn`, `attest`, `fprvkey`, `x5u` @returns the value of an Identity header */
  static async sign(options: Record<string, string>): Promise<string> {
    const named = Object.entries(options).flatMap(([name, value]) => [`-${name}`, value])
    const { stdout } = await run('secsipidx', ['-sign-full', ...named])
    return stdout.trim()
  }

  stop(): void {
    this.#kill()
  }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, HOST)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
