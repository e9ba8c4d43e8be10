import { once } from 'node:events'
import { write } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** How much may wait for whoever reads the log; beyond that the newest lines are left out and counted [bytes]. */
const MAX_WAITING_BYTES = 1024 * 1024
/** How long the end waits for a reader that may stand still [ms]. */
const LAST_LINES_MS = 500

/** Writes some bytes; `done` may be called at once. */
type Put = (bytes: Buffer, done: (error?: Error | null) => void) => void

/**
 * Where the log lines of all processes go. Neither a reader that stands still or is gone nor a full disk may hold up or end a call: what cannot
 * be written is left out, and a line tells how many lines that were.
 */
export class LogOutput {
  readonly #put: Put
  readonly #tellLeftOut: (lines: number) => void
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #leftOut = 0
  #sending: Promise<void> | null = null
  readonly #relayed = new Set<Readable>()

  constructor(put: Put, tellLeftOut: (lines: number) => void) {
    this.#put = put
    this.#tellLeftOut = tellLeftOut
  }

  /** Takes whole lines. */
  write(lines: string | Buffer): void {
    const bytes = Buffer.from(lines)
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#leftOut += linesIn(bytes)
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    this.#sending ??= this.#send()
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const bytes = Buffer.concat(this.#waiting.splice(0))
      const error = await new Promise(resolve => this.#put(bytes, resolve))
      this.#waitingBytes -= bytes.length
      if (error) this.#leftOut += linesIn(bytes)
      else if (this.#leftOut > 0) this.#tellLeftOut(this.#leftOut)
      if (!error) this.#leftOut = 0
    }
    this.#sending = null
  }

  /** Takes what a child process writes, line by line, so that lines of two do not mix. */
  relay(stream: Readable): void {
    let rest = Buffer.alloc(0)
    stream.on('data', (bytes: Buffer) => {
      const all = Buffer.concat([rest, bytes])
      const end = all.length > MAX_WAITING_BYTES ? all.length : all.lastIndexOf('\n') + 1
      if (end > 0) this.write(all.subarray(0, end))
      rest = all.subarray(end)
    })
    this.#relayed.add(stream)
    stream.once('close', () => {
      if (rest.length > 0) this.write(`${rest}\n`)
      this.#relayed.delete(stream)
    })
  }

  /** Resolves when everything that the children wrote before their end is written, or after a while in which it could not be. */
  async settled(): Promise<void> {
    const settled = Promise.all([...this.#relayed].map(stream => once(stream, 'close'))).then(() => this.#sending)
    await Promise.race([settled, sleep(LAST_LINES_MS)])
  }
}

const linesIn = (bytes: Buffer): number => bytes.filter(byte => byte === 10).length

/** Our standard error. The stream of a pipe does not block; that of a file does, and throws if the disk is full. */
export function putToStderr(): Put {
  const { stderr } = process
  stderr.on('error', () => {})
  return stderr instanceof Socket ? (bytes, done) => void stderr.write(bytes, done) : putToFile
}

const putToFile: Put = (bytes, done) =>
  write(process.stderr.fd, bytes, (error, written) => {
    if (error !== null || written === bytes.length) done(error)
    else putToFile(bytes.subarray(written), done)
  })
