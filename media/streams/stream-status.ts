import type { StreamEndedReason, StreamStatus } from '../protocol.ts'

export type StreamInput =
  | 'opened'
  | 'unanswered'
  | 'answered'
  | 'unreachable'
  | 'dropped'
  | 'receiverClosed'
  | 'stop'
  | 'callEnded'
  | 'fault'

interface StreamMove {
  status: StreamStatus
  endedReason: StreamEndedReason | null
}

const STREAMING: StreamMove = { status: 'streaming', endedReason: null }
const STALLED: StreamMove = { status: 'stalled', endedReason: null }
const RECONNECTING: StreamMove = { status: 'reconnecting', endedReason: null }
const UNREACHED: StreamMove = { status: 'failed', endedReason: 'connect_failed' }
const RECEIVER_CLOSED: StreamMove = { status: 'stopped', endedReason: 'receiver_closed' }
const STOPPED: StreamMove = { status: 'stopped', endedReason: 'stopped' }
const CALL_ENDED: StreamMove = { status: 'stopped', endedReason: 'call_ended' }

const AT_ANY_TIME = { stop: STOPPED, callEnded: CALL_ENDED, fault: UNREACHED }
const WHILE_OPEN = { dropped: RECONNECTING, receiverClosed: RECEIVER_CLOSED, ...AT_ANY_TIME }

/** The specification's table "Media stream" (States), with the moves that it does not show. */
const NEXT: Record<StreamStatus, Partial<Record<StreamInput, StreamMove>>> = {
  connecting: { opened: STREAMING, unreachable: UNREACHED, ...AT_ANY_TIME },
  streaming: { unanswered: STALLED, ...WHILE_OPEN },
  stalled: { answered: STREAMING, ...WHILE_OPEN },
  reconnecting: { opened: STREAMING, unreachable: RECEIVER_CLOSED, ...AT_ANY_TIME },
  stopped: {},
  failed: {},
}

/** The next status after an input; undefined: a conflict in this status. */
export const streamMove = (status: StreamStatus, input: StreamInput): StreamMove | undefined => NEXT[status][input]
