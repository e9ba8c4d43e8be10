import type { Page, WebSocketRoute } from 'playwright-core'

/** A message of the page: `event`, and its data. */
interface Sent {
  event: string
  control?: Record<string, unknown>
}

/** The server's end of a softphone's WebSocket, within the page's browser: the test sends what control and media would send. */
export class DesktopLine {
  readonly sent: Sent[] = []
  #socket: WebSocketRoute | null = null

  static async on(page: Page): Promise<DesktopLine> {
    const line = new DesktopLine()
    await page.routeWebSocket(/\/v1\/softphones/, socket => {
      line.#socket = socket
      socket.onMessage(text => {
        const sent = JSON.parse(String(text)) as Sent
        if (sent.event !== 'media') line.sent.push(sent)
      })
    })
    return line
  }

  control(control: object): void {
    this.#say({ event: 'control', control })
  }

  ring(ring: object): void {
    this.#say({ event: 'ring', streamSid: 'leg_1', ring })
  }

  start(): void {
    this.#say({ event: 'start', streamSid: 'leg_1', start: {} })
  }

  stop(): void {
    this.#say({ event: 'stop', streamSid: 'leg_1', stop: {} })
  }

  #say(message: object): void {
    this.#socket?.send(JSON.stringify(message))
  }

  /** The page's requests of this kind. */
  wishes(type: string): Record<string, unknown>[] {
    return this.sent.flatMap(({ control }) => (control?.type === type ? [control] : []))
  }
}
