import { Agent, request } from 'node:http'
import { Histogram, type Percentiles } from '../load/histogram.ts'

const HOST = '127.0.0.1'

export interface Ask {
  port: number
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  body?: object
  headers?: Record<string, string>
}

export interface Rate {
  perSecond: number
  latencyMs: Percentiles | null
}

/** A client with a number of connections that are kept. */
export class LoadClient {
  readonly #connections: number
  readonly #agent: Agent

  constructor(connections: number) {
    this.#connections = connections
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** One request; its body as text. Throws when it is refused. */
  ask({ port, method, path, body, headers = {} }: Ask): Promise<string> {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const typed = payload === undefined ? headers : { ...headers, 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      const asked = request({ host: HOST, port, method, path, headers: typed, agent: this.#agent }, response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', part => (text += part))
        response.on('end', () => {
          if ((response.statusCode ?? 0) < 300) resolve(text)
          else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`))
        })
      })
      asked.on('error', reject)
      asked.end(payload)
    })
  }

  /** Asks over all connections, each as soon as it has its answer, for so long. */
  async measure(next: () => Ask, seconds: number): Promise<Rate> {
    const durations = new Histogram()
    const start = performance.now()
    const until = start + seconds * 1000
    let count = 0
    const one = async (): Promise<void> => {
      for (let before = performance.now(); before < until; before = performance.now()) {
        await this.ask(next())
        durations.add(performance.now() - before)
        count++
      }
    }
    await Promise.all(Array.from({ length: this.#connections }, one))
    return { perSecond: (count * 1000) / (performance.now() - start), latencyMs: durations.percentiles() }
  }

  close(): void {
    this.#agent.destroy()
  }
}
