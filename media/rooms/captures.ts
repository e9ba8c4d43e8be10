import type { CaptureState, Events, Failure, Request, Target } from '../protocol.ts'
import { CapturePause } from './capture-pause.ts'
import type { RoomPause } from './room.ts'

interface Entry {
  target: Target
  pause: CapturePause
  /** It came with a payment line, and the line ends with it. */
  isPaymentLine: boolean
}

/** The map key of a leg or room. Prefixed, because a waiting leg is in a room with the same ID. */
export const targetId = (target: Target): string =>
  'legId' in target ? `leg ${target.legId}` : `room ${target.roomId}`

/**
 * The card-payment pauses of one engine thread. A pause belongs to a leg's call or to a room's session. While it is on, it covers the whole
 * room that the leg is in, because everyone in a conversation hears and captures all of it.
 */
export class Captures {
  /** The next time at which `advance` has something to do, monotonic [ms]. */
  dueAt = Number.POSITIVE_INFINITY
  readonly #entries = new Map<string, Entry>()
  readonly #changed: (change: Events['capture.changed']) => void
  readonly #lineExpired: (legId: string) => void

  /** @param changed called when a pause begins, gets its payment line or ends @param lineExpired the deadline is about to end the pause of a payment line */
  constructor(changed: (change: Events['capture.changed']) => void, lineExpired: (legId: string) => void) {
    this.#changed = changed
    this.#lineExpired = lineExpired
  }

  /** `now` is monotonic, `wallMs` since 1970 [ms]. */
  pause(request: Request<'capture.pause'>, now: number, wallMs: number, isPaymentLine = false): CaptureState | Failure {
    const id = targetId(request.target)
    const entry = this.#entries.get(id) ?? { target: request.target, pause: new CapturePause(), isPaymentLine }
    const state = entry.pause.pause(request, now, wallMs)
    if ('failure' in state) return state
    this.#entries.set(id, entry)
    this.#schedule()
    this.#changed({ target: request.target, state, by: 'command', ...asked(request) })
    return state
  }

  direct({ target, destinationLegId }: Request<'capture.direct'>): CaptureState | Failure {
    const state = this.#entries.get(targetId(target))?.pause.direct(destinationLegId) ?? NO_SUCH_PAUSE
    if (!('failure' in state)) this.#changed({ target, state, by: 'command' })
    return state
  }

  resume(request: Request<'capture.resume'>): CaptureState | Failure {
    const entry = this.#entries.get(targetId(request.target))
    if (entry === undefined) return NO_SUCH_PAUSE
    const state = entry.pause.resume()
    if (!('failure' in state)) this.#end(entry, 'command', request)
    return state
  }

  /** Ends the pauses whose deadline has passed. */
  advance(now: number): void {
    for (const entry of this.#entries.values()) {
      if (!entry.pause.isDue(now)) continue
      if (entry.isPaymentLine && 'legId' in entry.target) this.#lineExpired(entry.target.legId)
      entry.pause.advance(now)
      this.#end(entry, 'deadline')
    }
  }

  /** The leg or room has gone, and its pause with it. */
  drop(target: Target): void {
    const entry = this.#entries.get(targetId(target))
    if (entry === undefined) return
    entry.pause.end()
    this.#end(entry, 'ended')
  }

  #end(entry: Entry, by: Events['capture.changed']['by'], request?: Request<'capture.resume'>): void {
    this.#entries.delete(targetId(entry.target))
    this.#schedule()
    this.#changed({ target: entry.target, state: entry.pause.state, by, ...asked(request) })
  }

  #schedule(): void {
    this.dueAt = Math.min(...Array.from(this.#entries.values(), ({ pause }) => pause.deadline))
  }

  /** The combined pause of a room and its legs, or null. */
  over(roomId: string, legIds: Iterable<string>): RoomPause | null {
    if (this.#entries.size === 0) return null
    const targets: Target[] = [{ roomId }, ...Array.from(legIds, legId => ({ legId }))]
    const entries = targets.flatMap(target => this.#entries.get(targetId(target)) ?? [])
    if (entries.length === 0) return null
    const states = entries.map(({ pause }) => pause.state)
    const lines = Object.fromEntries(entries.flatMap(lineOfPayer))
    const destinations = [...entries.filter(one => lineOfPayer(one).length === 0), ...entries].map(
      ({ pause }) => pause.state.destinationLegId,
    )
    return {
      maskDtmf: states.some(state => state.maskDtmf),
      destinationLegId: destinations.find(legId => legId !== null) ?? null,
      ...(Object.keys(lines).length > 0 && { lines }),
      reason: states[0]!.reason ?? '',
    }
  }

  list(): { target: Target; state: CaptureState }[] {
    return [...this.#entries.values()].map(({ target, pause }) => ({ target, state: pause.state }))
  }
}

const NO_SUCH_PAUSE: Failure = { failure: 'conflict', message: 'capture is not paused' }

const asked = (command?: Request<'capture.resume'>): Pick<Events['capture.changed'], 'request'> =>
  command?.request === undefined ? {} : { request: command.request }

/** A flow's payment line has the pause itself, and a session's has no payer. */
function lineOfPayer({ target, pause }: Entry): [string, string][] {
  const { destinationLegId } = pause.state
  if (!('legId' in target) || destinationLegId === null || destinationLegId === target.legId) return []
  return [[target.legId, destinationLegId]]
}
