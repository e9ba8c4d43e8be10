import type { EndedReason } from '../protocol.ts'
import type { Browser, BrowserLine } from './browser.ts'
import { controlMessage, ringMessage } from './browser-messages.ts'

/** How long the running call of a softphone that is gone waits for it to come back [ms]. */
export const GRACE_MS = 15_000
/** One that only rings waits for as long as a page takes to be loaded again: meanwhile its caller waits for nobody [ms]. */
export const RINGING_GRACE_MS = 5000
/** WebSocket close code: the page has hung up. A reload says 1001, a lost network nothing. */
const NORMAL = 1000

/**
 * Calls of softphones whose connection is lost. The leg stays where it is and is silent, or keeps ringing, until the softphone is
 * back or the time is over.
 */
export class KeptCalls {
  readonly #giveUp: (line: BrowserLine, reason: EndedReason) => void
  readonly #graceMs: number
  /** With what gives each up. */
  readonly #lines = new Map<BrowserLine, NodeJS.Timeout>()

  /** `graceMs`: instead of `GRACE_MS`. */
  constructor(giveUp: (line: BrowserLine, reason: EndedReason) => void, graceMs = GRACE_MS) {
    this.#giveUp = giveUp
    this.#graceMs = graceMs
  }

  /** Whether the call of a page that has closed with this code is kept; `reason`: why it ends if the page does not come back. */
  keep(line: BrowserLine, code: number, reason: EndedReason): boolean {
    if (line.browser.phone === null || !canGoOn(line) || code === NORMAL) return false
    line.audio?.detach()
    const graceMs = line.state === 'ringing' ? Math.min(this.#graceMs, RINGING_GRACE_MS) : this.#graceMs
    this.#lines.set(
      line,
      setTimeout(() => this.#giveUp(line, reason), graceMs),
    )
    return true
  }

  /** An ended call is no longer waited for. Idempotent. */
  forget(line: BrowserLine): void {
    clearTimeout(this.#lines.get(line))
    this.#lines.delete(line)
  }

  /**
   * The call that a connecting page resumes: of the same softphone, even if its old connection has not been missed yet, or a kept
   * one of its agent. Null: none.
   */
  of(page: Browser, predecessor: Browser | null): BrowserLine | null {
    const own = predecessor?.line ?? null
    if (own !== null && canGoOn(own) && canTakeUp(page, own)) return own
    for (const line of this.#lines.keys()) {
      if (line.browser.phone?.agent === page.phone?.agent && canTakeUp(page, line)) return line
    }
    return null
  }

  /** From now on the page is in this call, or rings for it, and is told which. `now` [ms]. */
  takeUp(line: BrowserLine, page: Browser, now: number): void {
    this.forget(line)
    if (line.browser.line === line) line.browser.line = null
    line.browser = page
    page.line = line
    if (line.state === 'ringing') {
      page.socket.send(ringMessage(line.legId, line.info))
      return
    }
    const seconds = Math.round((now - (line.answeredMs ?? now)) / 1000)
    page.socket.send(controlMessage({ ...line.info, type: 'call', held: line.held, seconds }))
    line.audio?.attach(page.socket)
  }
}

/** It rings, or both hear each other. */
const canGoOn = ({ state, answeredMs }: BrowserLine): boolean =>
  state === 'ringing' || (state === 'answered' && answeredMs !== null)

/** The audio of a running call is made for one format. */
const canTakeUp = (page: Browser, { state, browser }: BrowserLine): boolean =>
  state === 'ringing' || page.format === browser.format
