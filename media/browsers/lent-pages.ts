import type WebSocket from 'ws'
import type { RawData } from 'ws'
import type { Browser } from './browser.ts'
import { controlMessage, type PageMessage, ringStopMessage } from './browser-messages.ts'
import { GRACE_MS, RINGING_GRACE_MS } from './kept-calls.ts'
import type { PageFacts } from './page-links.ts'

const NORMAL = 1000
/** Audio for a page, or for the other node, is dropped where so much waits already [bytes]. */
const MAX_UNSENT_BYTES = 32 * 1024
/** Begins a message that carries audio. */
const AUDIO = Buffer.from('{"event":"media"')

/** A page that was gone is there again, and has to be told of its call. */
export const BACK = '{"event":"back"}'

interface Lent {
  readonly legId: string
  readonly link: WebSocket
  readonly phone: Browser['phone']
  readonly format: Browser['format']
  isAccepted: boolean
  /** Null: it is gone, and may come back. */
  page: Browser | null
  timer: NodeJS.Timeout | undefined
}

/** Softphones that are connected here and in a call of another node: what each of them says of the call goes there, and what that says goes to the page. */
export class LentPages {
  readonly #lent = new Set<Lent>()
  readonly #counters: { lentFramesDropped: number }
  readonly #graceMs: number

  constructor(counters: { lentFramesDropped: number }, graceMs = GRACE_MS) {
    this.#counters = counters
    this.#graceMs = graceMs
  }

  /** From now on the page rings for a leg of the node at the other end of this link. */
  lend(page: Browser, legId: string, link: WebSocket): void {
    const { phone, format, accountSid, at } = page
    const lent: Lent = { legId, link, phone, format, isAccepted: false, page, timer: undefined }
    this.#lent.add(lent)
    const facts: PageFacts = { format, accountSid, phone, at: { host: at.host } }
    link.send(JSON.stringify(facts))
    link.on('message', data => this.#tell(lent, data))
    link.on('error', () => {})
    link.on('close', code => this.#over(lent, code))
  }

  /** The leg of another node that a page is in; null: none. */
  legOf(page: Browser): string | null {
    return this.#of(page)?.legId ?? null
  }

  /** What a page says of its call: the message, and how it came. */
  said(page: Browser, { event }: PageMessage, text: string): void {
    const lent = this.#of(page)
    if (lent === undefined) return
    lent.isAccepted ||= event === 'accept'
    if (event !== 'media' || lent.link.bufferedAmount < MAX_UNSENT_BYTES) lent.link.send(text)
    else this.#counters.lentFramesDropped++
  }

  /** A page has closed with this code. One that may come back is waited for, as in a call of this node. */
  left(page: Browser, code: number): void {
    const lent = this.#of(page)
    if (lent === undefined) return
    lent.page = null
    const graceMs = lent.isAccepted ? this.#graceMs : Math.min(this.#graceMs, RINGING_GRACE_MS)
    if (code === NORMAL || lent.phone === null) lent.link.close(NORMAL)
    else lent.timer = setTimeout(() => lent.link.close(NORMAL), graceMs)
  }

  /** Whether a softphone that has connected goes on with a call: of its former connection, missed or not, or one of its agent that waits. */
  goesOn(page: Browser): string | null {
    const found = [...this.#lent].find(
      ({ phone, format, page: before }) =>
        phone !== null &&
        phone.agent === page.phone?.agent &&
        format === page.format &&
        (before === null || phone.device === page.phone.device),
    )
    if (found === undefined) return null
    clearTimeout(found.timer)
    found.page = page
    found.link.send(BACK)
    return found.legId
  }

  #of(page: Browser): Lent | undefined {
    for (const lent of this.#lent) if (lent.page === page) return lent
    return undefined
  }

  #tell({ page }: Lent, data: RawData): void {
    const text = data as Buffer
    const isAudio = AUDIO.compare(text.subarray(0, AUDIO.length)) === 0
    if (!isAudio || (page?.socket.buffered() ?? 0) < MAX_UNSENT_BYTES) page?.socket.send(text)
    else this.#counters.lentFramesDropped++
  }

  /** A node that says goodbye has told the page that the call is over. */
  #over(lent: Lent, code: number): void {
    clearTimeout(lent.timer)
    this.#lent.delete(lent)
    if (code === NORMAL) return
    lent.page?.socket.send(ringStopMessage(lent.legId, 'media_failed'))
    lent.page?.socket.send(controlMessage({ type: 'ended', reason: 'media_failed' }))
  }
}
