import { type CaptureState, type Failure, NOT_PAUSED } from '../protocol.ts'

type PauseStatus = 'running' | 'paused'
type PauseInput = 'pause' | 'resume' | 'deadline' | 'ended'

/** The specification's table "Call recording pause (card payment)", line by line; missing entries are conflicts. */
const NEXT: Record<PauseStatus, Partial<Record<PauseInput, PauseStatus>>> = {
  running: { pause: 'paused' },
  paused: { resume: 'running', deadline: 'running', ended: 'running' },
}

/** Longer than any organisation's maximum: guards the date arithmetic [s]. */
const MAX_SECONDS = 86_400

export interface PauseRequest {
  maxSeconds: number
  reason: string
  maskDtmf: boolean
  destinationLegId: string | null
}

/**
 * The card-payment pause of one leg or room. It holds the deadline, by the monotonic clock, so that neither a restart of
 * control nor a corrected wall clock extends or loses it. Pure.
 */
export class CapturePause {
  #status: PauseStatus = 'running'
  #deadline = Number.POSITIVE_INFINITY
  #state: CaptureState = NOT_PAUSED

  get paused(): boolean {
    return this.#status === 'paused'
  }

  get state(): CaptureState {
    return this.#state
  }

  /**
   * Begins a pause. Failure `conflict` if already paused, `invalid` if `maxSeconds` is not between 0 and a day.
   * @param now monotonic [ms] @param wallClock [ms] since 1970, for the times shown
   */
  pause(request: PauseRequest, now: number, wallClock: number): CaptureState | Failure {
    const { maxSeconds, reason, maskDtmf, destinationLegId } = request
    if (!(maxSeconds > 0 && maxSeconds <= MAX_SECONDS)) {
      return { failure: 'invalid', message: `a pause lasts up to ${MAX_SECONDS} s, not ${maxSeconds}` }
    }
    const lengthMs = maxSeconds * 1000
    const state: CaptureState = {
      paused: true,
      reason,
      pausedAt: new Date(wallClock).toISOString(),
      resumesAt: new Date(wallClock + lengthMs).toISOString(),
      destinationLegId,
      maskDtmf,
    }
    return this.#go('pause', state, now + lengthMs) ?? { failure: 'conflict', message: 'paused already' }
  }

  /** Keys go to this payment line from now on, and to none before it. Failure `conflict` if not paused. */
  direct(destinationLegId: string): CaptureState | Failure {
    if (!this.paused) return { failure: 'conflict', message: 'not paused' }
    this.#state = { ...this.#state, destinationLegId }
    return this.#state
  }

  /** Ends the pause. Failure `conflict` if not paused. */
  resume(): CaptureState | Failure {
    return this.#go('resume') ?? { failure: 'conflict', message: 'not paused' }
  }

  /** The deadline, monotonic [ms]; Infinity while not paused. */
  get deadline(): number {
    return this.#deadline
  }

  /** The deadline has passed. */
  isDue(now: number): boolean {
    return now >= this.#deadline
  }

  /** The new state if the deadline has ended the pause, else null; to be called every tick. */
  advance(now: number): CaptureState | null {
    return this.isDue(now) ? this.#go('deadline') : null
  }

  /** The leg or room has ended: the new state if that ended a pause, else null. */
  end(): CaptureState | null {
    return this.#go('ended')
  }

  #go(input: PauseInput, state: CaptureState = NOT_PAUSED, deadline = Number.POSITIVE_INFINITY): CaptureState | null {
    const next = NEXT[this.#status][input]
    if (next === undefined) return null
    this.#status = next
    this.#state = state
    this.#deadline = deadline
    return state
  }
}
