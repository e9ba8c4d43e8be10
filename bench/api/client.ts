import { connect, type Socket } from 'node:net'

const HOST = '127.0.0.1'
const END_OF_HEADER = Buffer.from('\r\n\r\n')

export interface Ask {
  port: number
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  body?: object
  headers?: Record<string, string>
}

/**
 * A persistent connection with one request at a time. It does the minimum, so that the server is what is measured: it reads the status and the
 * length of an answer, and skips the body.
 */
class Connection {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #answered: ((answer: Buffer) => void) | null = null
  #failed: ((error: Error) => void) | null = null

  constructor(port: number) {
    this.#socket = connect({ host: HOST, port, noDelay: true })
    this.#socket.on('data', part => this.#take(part))
    this.#socket.on('error', error => this.#failed?.(error))
    this.#socket.on('close', () => this.#failed?.(new Error('the connection was closed')))
  }

  ask(request: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve
      this.#failed = reject
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#failed = null
    this.#socket.destroy()
  }

  #take(part: Buffer): void {
    this.#received = this.#received.length === 0 ? part : Buffer.concat([this.#received, part])
    const end = this.#received.indexOf(END_OF_HEADER)
    if (end < 0) return
    const header = this.#received.toString('latin1', 0, end)
    const start = end + END_OF_HEADER.length
    if (this.#received.length < start + Number(/content-length: (\d+)/i.exec(header)?.[1] ?? 0)) return
    const body = this.#received.subarray(start)
    this.#received = Buffer.alloc(0)
    const status = header.slice(9, 12)
    if (status.startsWith('2')) this.#answered?.(body)
    else this.#failed?.(new Error(`answered ${status}: ${body.toString()}`))
  }
}

const textOf = ({ method, path, body, headers = {} }: Ask): string => {
  const payload = body === undefined ? '' : JSON.stringify(body)
  const typed =
    body === undefined
      ? headers
      : { ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }
  const lines = Object.entries({ host: HOST, ...typed }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${payload}`
}

/** A client with a number of persistent connections. */
export class LoadClient {
  readonly #connections: number
  readonly #kept = new Map<number, Connection[]>()

  constructor(connections: number) {
    this.#connections = connections
  }

  /** Sends one request. @returns the answer's body; throws if the request is refused */
  async ask(ask: Ask): Promise<string> {
    const [connection] = this.#to(ask.port)
    return (await connection!.ask(textOf(ask))).toString()
  }

  /** Sends requests over all connections for `ms`, the next one as soon as an answer has arrived. `took`: gets the duration of each [ms]. */
  async measure(next: () => Ask, ms: number, took: (ms: number) => void): Promise<{ count: number; ms: number }> {
    const start = performance.now()
    const until = start + ms
    let count = 0
    const one = async (connection: Connection): Promise<void> => {
      for (let before = performance.now(); before < until; ) {
        await connection.ask(textOf(next()))
        const after = performance.now()
        took(after - before)
        before = after
        count++
      }
    }
    await Promise.all(this.#to(next().port).map(one))
    return { count, ms: performance.now() - start }
  }

  close(): void {
    for (const connection of [...this.#kept.values()].flat()) connection.close()
  }

  #to(port: number): Connection[] {
    const kept = this.#kept.get(port) ?? Array.from({ length: this.#connections }, () => new Connection(port))
    this.#kept.set(port, kept)
    return kept
  }
}
