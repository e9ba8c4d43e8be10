import type { LimitTimer, RetransmitTimer } from './timers.ts'

/** One cell of a transition table: the next state, and what is done on the way, in order. */
export interface Step<State extends string, Effect extends string> {
  to: State
  do: readonly Effect[]
}

/**
 * A transaction's state machine as data. An input that a state does not list is ignored in it. The timers of a state run
 * from its entry; a limit timer that the state before had too keeps running.
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

/** What a server transaction does: send the last response again. That no ACK came for a failure (timer H) concerns nobody. */
export type ServerEffect = 'retransmit'
