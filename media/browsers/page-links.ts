import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import WebSocket from 'ws'
import { atMost } from '../protocol/at-most.ts'
import { parseObject } from '../streams/said-messages.ts'
import type { Browser } from './browser.ts'

/** Where a node asks another one for a page that is connected there. */
export const LINK_PATH = '/v1/node_pages'
/** A node that lives answers within this, and then speaks first within this [ms]. */
const OPEN_MS = 1500
/** By how much the clocks of two nodes may differ, and how long what is asked may be on its way [ms]. */
const VALID_MS = 30_000
const MAX_MESSAGE_BYTES = 64 * 1024
const CONFLICT = 409
const NORMAL = 1000
/** A link to tell a page something is closed when nothing is told for so long, and not asked for again so soon where the page was not there [ms]. */
const [IDLE_MS, GONE_MS] = [60_000, 5000]
const MAX_TOLD = 10_000
/** A node that does not pass on in this time what it is told is given up [ms]. */
const PASSED_ON_MS = 1500
/** A node that lets so much wait is told nothing more [bytes]. */
const MAX_UNSENT_BYTES = 1024 * 1024

/** A softphone of another node that is to ring, and for which leg of ours; null: it is only told something. */
export interface AskedPage {
  browserId: string
  legId: string | null
}

/** What the other node says of the page at first. */
export type PageFacts = Pick<Browser, 'format' | 'accountSid' | 'phone' | 'at'>

interface Linked {
  ws: WebSocket
  socket: Socket
  facts: PageFacts
}

/** A link to tell a page something. `waiting`: for each thing that was told and that the other node has not passed on yet, in order. */
interface Telling extends Linked {
  waiting: ((isTold: boolean) => void)[]
}

interface PageLinksOptions {
  /** Shared by the nodes of a database. */
  secret: string
  /** The time of day [ms]. */
  now: () => number
}

/**
 * Links between nodes, one for each call of a softphone that is connected to another node than the call's: a WebSocket that carries what the
 * page would say here. Another one carries what a page is told outside of its calls. Only nodes can ask for one.
 */
export class PageLinks {
  readonly #options: PageLinksOptions
  /** Links to tell pages something, by node and page. */
  readonly #telling = new LRUCache<string, Promise<Telling | null>>({
    ...atMost(MAX_TOLD),
    ttlAutopurge: true,
    dispose: link => void link.then(linked => linked?.ws.close(NORMAL)),
  })

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
      let timer: NodeJS.Timeout | undefined
      // The system accepts connections for a node that stands still, and one that is half dead may speak no more.
      ws.once('open', () => {
        timer = setTimeout(() => ws.terminate(), OPEN_MS)
      })
      ws.once('upgrade', (response: IncomingMessage) => {
        socket = response.socket
      })
      ws.once('unexpected-response', (_, { statusCode }) => {
        resolve(statusCode === CONFLICT ? 'busy' : 'gone')
        ws.terminate()
      })
      ws.once('error', () => resolve('gone'))
      ws.once('close', () => {
        clearTimeout(timer)
        resolve('gone')
      })
      ws.once('message', data => {
        clearTimeout(timer)
        const facts = parseObject(String(data)) as PageFacts | null
        if (facts !== null) return resolve({ ws, socket: socket!, facts })
        resolve('gone')
        ws.terminate()
      })
    })
  }

  /**
   * Tells a page of another node something, one after the other. Resolves once that node has passed it on; false: the page is not there, or
   * its node does not read or answer. Never rejects.
   */
  async tell(node: string, browserId: string, text: Buffer): Promise<boolean> {
    const key = `${node} ${browserId}`
    const known = this.#telling.get(key)
    const link = known ?? this.#openTelling(node, browserId)
    if (known === undefined) this.#telling.set(key, link, { ttl: GONE_MS })
    const linked = await link
    if (linked === null) return false
    const { ws, waiting } = linked
    if (ws.readyState !== WebSocket.OPEN || ws.bufferedAmount > MAX_UNSENT_BYTES) {
      ws.terminate()
      this.#telling.delete(key)
      return false
    }
    this.#telling.set(key, link, { ttl: IDLE_MS })
    ws.send(text, { binary: false })
    // A node reads in order: its pong says that it has passed on what came before. Where the page is gone it closes the link instead.
    const timer = setTimeout(() => ws.terminate(), PASSED_ON_MS)
    const isTold = await new Promise<boolean>(resolve => {
      waiting.push(resolve)
      ws.ping()
    })
    clearTimeout(timer)
    if (!isTold && this.#telling.peek(key) === link) this.#telling.delete(key)
    return isTold
  }

  async #openTelling(node: string, browserId: string): Promise<Telling | null> {
    const linked = await this.open(node, { browserId, legId: null })
    if (typeof linked === 'string') return null
    const waiting: Telling['waiting'] = []
    linked.ws.on('pong', () => waiting.shift()?.(true))
    linked.ws.on('close', () => {
      for (const isTold of waiting.splice(0)) isTold(false)
    })
    return { ...linked, waiting }
  }

  tokenFor({ browserId, legId }: AskedPage): string {
    const said = Buffer.from([browserId, legId ?? '', this.#options.now()].join(' ')).toString('base64url')
    return `${said}.${this.#sign(said)}`
  }

  /** Null: no node has asked this, or not now. */
  asked(token: string): AskedPage | null {
    const [said = '', signature = ''] = token.split('.')
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#sign(said))]
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null
    const [browserId = '', legId = '', at] = Buffer.from(said, 'base64url').toString().split(' ')
    return Math.abs(this.#options.now() - Number(at)) > VALID_MS
      ? null
      : { browserId, legId: legId === '' ? null : legId }
  }

  #sign(said: string): string {
    return createHmac('sha256', this.#options.secret).update(`pages ${said}`).digest('base64url')
  }
}
