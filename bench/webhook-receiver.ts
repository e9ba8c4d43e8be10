import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RestClient } from './rest-client.ts'

/** A receiver of webhooks that accepts every delivery at once. */
export class WebhookReceiver {
  received = 0
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  /** Starts a receiver, and subscribes it to all events. */
  static async open(api: RestClient): Promise<WebhookReceiver> {
    const server = createServer((request, response) => {
      receiver.received++
      request.resume().on('end', () => response.writeHead(204).end())
    })
    const receiver = new WebhookReceiver(server)
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
    const { port } = server.address() as AddressInfo
    await api.ok('POST', '/webhook_endpoints', { url: `http://127.0.0.1:${port}/` })
    return receiver
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
