import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** So long a far end is read at once; then it is the turn of others of the thread [ms]. */
const AT_ONCE_MS = 2
/** Pieces that follow each other this closely are read at once [ms]. */
const TOGETHER_MS = 0.5
/** In the long run reading it takes this share of the thread's time. Live audio takes a hundredth, a minute of speech that comes at once not all of the burst. */
const SHARE = 0.05
const BURST_MS = 200
/** Longer it is not left alone: it may have closed the connection, or answered a ping [ms]. */
const MOST_REST_MS = 500

/**
 * How much of a thread's time a far end gets by what it sends. The thread has the audio or the signalling of many calls, and a far end can send faster than anybody
 * could read: frames without content alone take a microsecond each. Pure: `now` is monotonic [ms].
 */
export class ReadingShare {
  readonly #share: number
  /** Beyond its share [ms]. */
  #owedMs = 0
  #at = 0
  /** Read at once until then. */
  #togetherMs = 0

  constructor(share = SHARE) {
    this.#share = share
  }

  /**
   * A piece of what it sends was read, from `begun` to `now`.
   *
   * @returns for how long it is to be left alone [ms]; 0: until others had their turn; null: not at all
   */
  took(begun: number, now: number): number | null {
    if (begun - this.#at > TOGETHER_MS) this.#togetherMs = 0
    this.#togetherMs += now - begun
    this.#owedMs = Math.max(0, this.#owedMs - this.#share * (now - this.#at)) + now - begun
    this.#at = now
    const restMs = (this.#owedMs - BURST_MS) / this.#share
    if (restMs <= 0 && this.#togetherMs < AT_ONCE_MS) return null
    this.#togetherMs = 0
    return Math.max(0, Math.min(MOST_REST_MS, restMs))
  }
}

/** Measures what reading a connection by Node and `ws` takes, and has it rest in between. `shareOf`: whose time that is. */
export function shareReading(ws: WebSocket, socket: Socket, shareOf: () => ReadingShare): void {
  let begun = 0
  socket.prependListener('data', () => {
    begun = performance.now()
  })
  socket.on('data', () => {
    const restMs = shareOf().took(begun, performance.now())
    if (restMs === null) return
    ws.pause()
    const goOn = (): void => ws.resume()
    if (restMs === 0) setImmediate(goOn)
    else setTimeout(goOn, restMs)
  })
}
