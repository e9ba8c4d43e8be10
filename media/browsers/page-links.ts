import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import WebSocket from 'ws'
import { parseObject } from '../streams/said-messages.ts'
import type { Browser } from './browser.ts'

/** Where a node asks another one for a page that is connected there. */
export const LINK_PATH = '/v1/node_pages'
/** A node that lives answers within this [ms]. */
const OPEN_MS = 1500
/** By how much the clocks of two nodes may differ, and how long what is asked may be on its way [ms]. */
const VALID_MS = 30_000
const MAX_MESSAGE_BYTES = 64 * 1024
const CONFLICT = 409

/** A softphone of another node that is to ring, and for which leg of ours. */
export interface AskedPage {
  browserId: string
  legId: string
}

/** What the other node says of the page at first. */
export type PageFacts = Pick<Browser, 'format' | 'accountSid' | 'phone' | 'at'>

export interface Linked {
  ws: WebSocket
  socket: Socket
  facts: PageFacts
}

export interface PageLinksOptions {
  /** Shared by the nodes of a database. */
  secret: string
  /** The time of day [ms]. */
  now: () => number
}

/**
 * Links between nodes, one for each call of a softphone that is connected to another node than the call's: a WebSocket that carries what the
 * page would say here. Only nodes can ask for one.
 */
export class PageLinks {
  readonly #options: PageLinksOptions

  constructor(options: PageLinksOptions) {
    this.#options = options
  }

  /** `node`: its call WebSocket, `HOST:PORT`. `gone`: the page is not there, or the node is not. Never rejects. */
  open(node: string, asked: AskedPage): Promise<Linked | 'gone' | 'busy'> {
    const url = `ws://${node}${LINK_PATH}?client_token=${this.tokenFor(asked)}`
    const bounds = { perMessageDeflate: false, handshakeTimeout: OPEN_MS, maxPayload: MAX_MESSAGE_BYTES }
    return new Promise(resolve => {
      const ws = new WebSocket(url, bounds)
      let socket: Socket | null = null
      ws.once('upgrade', (response: IncomingMessage) => {
        socket = response.socket
      })
      ws.once('unexpected-response', (_, { statusCode }) => {
        resolve(statusCode === CONFLICT ? 'busy' : 'gone')
        ws.terminate()
      })
      ws.once('error', () => resolve('gone'))
      ws.once('close', () => resolve('gone'))
      ws.once('message', data => {
        const facts = parseObject(String(data)) as PageFacts | null
        if (facts !== null) return resolve({ ws, socket: socket!, facts })
        resolve('gone')
        ws.terminate()
      })
    })
  }

  tokenFor({ browserId, legId }: AskedPage): string {
    const said = Buffer.from([browserId, legId, this.#options.now()].join(' ')).toString('base64url')
    return `${said}.${this.#sign(said)}`
  }

  /** Null: no node has asked this, or not now. */
  asked(token: string): AskedPage | null {
    const [said = '', signature = ''] = token.split('.')
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#sign(said))]
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null
    const [browserId = '', legId = '', at] = Buffer.from(said, 'base64url').toString().split(' ')
    return Math.abs(this.#options.now() - Number(at)) > VALID_MS ? null : { browserId, legId }
  }

  #sign(said: string): string {
    return createHmac('sha256', this.#options.secret).update(`pages ${said}`).digest('base64url')
  }
}
