import type { CaptureState, Failure } from '../protocol.ts'

type PauseStatus = 'running' | 'paused'
type PauseInput = 'pause' | 'resume' | 'deadline' | 'ended'

/** The specification's table "Call recording pause (card payment)", line by line; what is missing is a conflict. */
const NEXT: Record<PauseStatus, Partial<Record<PauseInput, PauseStatus>>> = {
  running: { pause: 'paused' },
  paused: { resume: 'running', deadline: 'running', ended: 'running' },
}

/** Longer than any organisation's maximum: guards the arithmetic of dates [s]. */
const MAX_SECONDS = 86_400

export interface PauseRequest {
  maxSeconds: number
  reason: string
  maskDtmf: boolean
  destinationLegId: string | null
}

/**
 * The card-payment pause of one leg or room. The deadline is held here, on the monotonic clock, so that neither a restart of
 * control nor a corrected wall clock lengthens or loses it. Pure.
 */
export class CapturePause {
  #status: PauseStatus = 'running'
  #deadline = Number.POSITIVE_INFINITY
  #state: CaptureState = RUNNING

  get paused(): boolean {
    return this.#status === 'paused'
  }

  get state(): CaptureState {
    return this.#state
  }

  /**
   * Begins a pause. Failure `conflict` when paused already, `invalid` when `maxSeconds` is not within 0 to a day.
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

  /** Ends the pause. Failure `conflict` when not paused. */
  resume(): CaptureState | Failure {
    return this.#go('resume') ?? { failure: 'conflict', message: 'not paused' }
  }

  /** When its time is over, monotonic [ms]; Infinity while nothing is paused. */
  get deadline(): number {
    return this.#deadline
  }

  /** Its time is over. */
  isDue(now: number): boolean {
    return now >= this.#deadline
  }

  /** The new state when the deadline has ended the pause, else null; call it every tick. */
  advance(now: number): CaptureState | null {
    return this.isDue(now) ? this.#go('deadline') : null
  }

  /** The leg or room is over: the new state when that ended a pause, else null. */
  end(): CaptureState | null {
    return this.#go('ended')
  }

  #go(input: PauseInput, state: CaptureState = RUNNING, deadline = Number.POSITIVE_INFINITY): CaptureState | null {
    const next = NEXT[this.#status][input]
    if (next === undefined) return null
    this.#status = next
    this.#state = state
    this.#deadline = deadline
    return state
  }
}

const RUNNING: CaptureState = Object.freeze({
  paused: false,
  reason: null,
  pausedAt: null,
  resumesAt: null,
  destinationLegId: null,
  maskDtmf: false,
})
