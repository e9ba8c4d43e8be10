/** Base values of the transaction timers [ms]; everything else follows from them (RFC 3261 §17, table 4). */
export interface Timers {
  /** Round-trip estimate. */
  t1: number
  /** Longest interval between retransmissions of non-INVITE requests and INVITE responses. */
  t2: number
  /** Longest time that a message stays in the network. */
  t4: number
}

export const DEFAULT_TIMERS: Timers = { t1: 500, t2: 4000, t4: 5000 }

/** Timers that send a message again. */
export type RetransmitTimer = 'A' | 'E' | 'G'
/** Timers that end a state. */
export type LimitTimer = 'B' | 'D' | 'F' | 'H' | 'I' | 'J' | 'K' | 'L' | 'M'
type TimerName = RetransmitTimer | LimitTimer

/**
 * | Timer | Over UDP   | Over TCP | Source            | Meaning                                         |
 * | ----- | ---------- | -------- | ----------------- | ----------------------------------------------- |
 * | A     | T1, x2     | off      | RFC 3261 §17.1.1.2 | INVITE request retransmission                   |
 * | B     | 64*T1      | 64*T1    | RFC 3261 §17.1.1.2 | INVITE transaction time-out                     |
 * | D     | 64*T1 >32s | 0        | RFC 3261 §17.1.1.2 | wait for retransmitted final responses          |
 * | E     | T1, x2, T2 | off      | RFC 3261 §17.1.2.2 | non-INVITE request retransmission               |
 * | F     | 64*T1      | 64*T1    | RFC 3261 §17.1.2.2 | non-INVITE transaction time-out                 |
 * | G     | T1, x2, T2 | off      | RFC 3261 §17.2.1   | INVITE failure response retransmission          |
 * | H     | 64*T1      | 64*T1    | RFC 3261 §17.2.1   | wait for ACK                                    |
 * | I     | T4         | 0        | RFC 3261 §17.2.1   | absorb ACK retransmissions                      |
 * | J     | 64*T1      | 0        | RFC 3261 §17.2.2   | absorb non-INVITE request retransmissions       |
 * | K     | T4         | 0        | RFC 3261 §17.1.2.2 | absorb response retransmissions                 |
 * | L     | 64*T1      | 64*T1    | RFC 6026 §7.1      | absorb INVITE retransmissions after a 2xx       |
 * | M     | 64*T1      | 64*T1    | RFC 6026 §7.2      | wait for retransmitted and forked 2xx           |
 */
export function timerMs(name: TimerName, timers: Timers, reliable: boolean): number {
  switch (name) {
    case 'A':
    case 'E':
    case 'G':
      return timers.t1
    case 'I':
    case 'K':
      return reliable ? 0 : timers.t4
    case 'D':
    case 'J':
      return reliable ? 0 : 64 * timers.t1
    default:
      return 64 * timers.t1
  }
}
