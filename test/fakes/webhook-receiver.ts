import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One POST that arrived. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

type Answerer = (response: ServerResponse, received: Received) => void

/** A customer's server on loopback: keeps the requests that it gets, and answers as the test says. */
export class WebhookReceiver {
  readonly received: Received[] = []
  answer: Answerer = response => response.writeHead(204).end()
  #url = ''
  readonly #server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', part => (body += part))
    request.on('end', () => {
      const received = { path: request.url ?? '', headers: request.headers, body }
      this.received.push(received)
      this.answer(response, received)
    })
  })

  async listen(): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  get url(): string {
    return this.#url
  }

  get port(): number {
    return Number(new URL(this.#url).port)
  }

  /** Answers everything with this status. */
  say(status: number, headers: Record<string, string> = {}): void {
    this.answer = response => response.writeHead(status, headers).end()
  }

  /** Takes the event types that arrived, in order. */
  takeTypes(): string[] {
    return this.received.splice(0).map(({ body }) => JSON.parse(body).type)
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }
}
