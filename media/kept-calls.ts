import type { Browser, BrowserLine } from './browser.ts'
import { controlMessage } from './browser-messages.ts'
import type { EndedReason } from './protocol.ts'

/** How long the running call of a softphone that is gone waits for it to come back [ms]. */
const GRACE_MS = 15_000
/** WebSocket close code: the page has hung up. A reload says 1001, a lost network nothing. */
const NORMAL = 1000

/**
 * Running calls of softphones whose connection is gone. The leg stays where it is and says nothing, until the softphone is back or
 * the time is over.
 */
export class KeptCalls {
  readonly #giveUp: (line: BrowserLine, reason: EndedReason) => void
  readonly #graceMs: number
  readonly #lines = new Set<BrowserLine>()

  /** `graceMs`: instead of `GRACE_MS`. */
  constructor(giveUp: (line: BrowserLine, reason: EndedReason) => void, graceMs = GRACE_MS) {
    this.#giveUp = giveUp
    this.#graceMs = graceMs
  }

  /** Whether the call of a page that has closed with this code is kept; `reason`: why it ends if the page does not come back. */
  keep(line: BrowserLine, code: number, reason: EndedReason): boolean {
    if (line.browser.phone === null || line.state !== 'answered' || line.answeredMs === null || code === NORMAL)
      return false
    line.audio?.detach()
    line.timer = setTimeout(() => this.#giveUp(line, reason), this.#graceMs)
    this.#lines.add(line)
    return true
  }

  /** What has ended is waited for no longer. Idempotent. */
  forget(line: BrowserLine): void {
    this.#lines.delete(line)
  }

  /**
   * The call that a page which connects now goes on with: of the softphone that it was before, though that has not been missed yet,
   * or one of its agent's that is kept. Null: none.
   */
  of(page: Browser, predecessor: Browser | null): BrowserLine | null {
    const own = predecessor?.line ?? null
    if (own?.state === 'answered' && own.answeredMs !== null && canTakeUp(page, own)) return own
    for (const line of this.#lines) {
      if (line.browser.phone?.agent === page.phone?.agent && canTakeUp(page, line)) return line
    }
    return null
  }

  /** The page is in this call from now on, and is told which. `now` [ms]. */
  takeUp(line: BrowserLine, page: Browser, now: number): void {
    clearTimeout(line.timer)
    this.#lines.delete(line)
    if (line.browser.line === line) line.browser.line = null
    line.browser = page
    page.line = line
    const seconds = Math.round((now - (line.answeredMs ?? now)) / 1000)
    page.socket.send(controlMessage({ ...line.info, type: 'call', held: line.held, seconds }))
    line.audio?.attach(page.socket)
  }
}

/** Its audio is made for one format. */
const canTakeUp = (page: Browser, { browser }: BrowserLine): boolean => page.format === browser.format
