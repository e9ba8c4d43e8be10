import type { LimitTimer, RetransmitTimer } from './timers.ts'

/** One cell of a transition table: the next state, and the actions of the transition, in order. */
interface Step<State extends string, Effect extends string> {
  to: State
  do: readonly Effect[]
}

/**
 * A transaction's state machine as data. An input that a state does not list is ignored. The timers of a state run
 * from its entry; a limit timer that the previous state had too keeps running.
 */
export interface Machine<State extends string, Input extends string, Effect extends string> {
  initial: State
  table: Record<State, Partial<Record<Input, Step<State, Effect>>>>
  retransmit: Partial<Record<State, RetransmitTimer>>
  limit: Partial<Record<State, LimitTimer>>
}

/** What a client transaction does. */
export type ClientEffect =
  /** Send the request again. */
  | 'retransmit'
  /** Give the response to the user. */
  | 'deliver'
  /** Send the ACK for a failure response. */
  | 'ack'
  /** Tell the user that no final response came. */
  | 'timeout'
  /** Tell the user that the request could not be sent. */
  | 'unreachable'

/** Actions of a server transaction: retransmit the last response. A missing ACK for a failure (timer H) is not reported. */
export type ServerEffect = 'retransmit'
