import type { HeaderFields } from '../../sip/agent-types.ts'
import { ELSEWHERE, q850, q850OfStatus, type Reason, reasonFields } from '../../sip/message/reason.ts'
import type { EndedReason, LegCause } from '../protocol.ts'

/** Causes of a leg's end, as Q.850 numbers (ITU-T Q.850): those that we send, and those that a far end has sent. */

/** For ends that we cause. */
const OF_REASON: Record<EndedReason, number> = {
  caller_hangup: 16,
  agent_hangup: 16,
  api_hangup: 16,
  assistant_ended: 16,
  announcement_ended: 16,
  machine_detected: 16,
  message_left: 16,
  transfer_completed: 16,
  max_duration: 16,
  // Somebody else was faster.
  answered_elsewhere: 26,
  no_answer: 19,
  busy: 17,
  rejected: 21,
  not_found: 1,
  redirect_refused: 21,
  codec_mismatch: 88,
  capacity: 42,
  session_expired: 102,
  rtp_timeout: 41,
  trunk_error: 41,
  media_failed: 41,
  node_lost: 41,
  shutdown: 41,
  store_unavailable: 41,
  internal_error: 41,
}

/** For the BYE or CANCEL that ends a leg for this reason. */
export const fieldsOfReason = (reason: EndedReason, cause: number = OF_REASON[reason]): HeaderFields =>
  reasonFields([...(reason === 'answered_elsewhere' ? [ELSEWHERE] : []), q850(cause)])

/** A challenge, a redirection, and a request for another form of the same request do not end a call. */
const GOES_ON: ReadonlySet<number> = new Set([401, 407, 420, 421, 422, 423])

/** For the response that refuses a call. `reason`, if given, is more specific than the status. */
export function fieldsOfStatus(status: number, reason: EndedReason | null): HeaderFields {
  const cause = status === 503 && reason === 'capacity' ? OF_REASON.capacity : q850OfStatus(status)
  return status < 400 || cause === null || GOES_ON.has(status) ? [] : reasonFields([q850(cause)])
}

/** The far end's cause; without a Q.850 cause it is derived from the status, or from the hang-up. */
export function causeOfFarEnd(reasons: readonly Reason[], status: number | null): LegCause {
  const [inNetwork, inSip] = (['Q.850', 'SIP'] as const).map(name => reasons.find(one => one.protocol === name))
  return {
    q850: inNetwork?.cause ?? (status === null ? OF_REASON.caller_hangup : q850OfStatus(status)),
    sip: inSip?.cause ?? null,
    text: inNetwork?.text ?? inSip?.text ?? null,
    by: 'far_end',
  }
}

/** The cause that we have sent, or would have. */
export const causeOfOurs = (reason: EndedReason, status: number | null): LegCause => ({
  q850: (status === null || reason === 'capacity' ? null : q850OfStatus(status)) ?? OF_REASON[reason],
  sip: reason === 'answered_elsewhere' ? ELSEWHERE.cause : null,
  text: null,
  by: 'tandem',
})

/** The meaning of a cause, whatever status the gateway derives from it. */
const MEANING = new Map<number, EndedReason>([
  ...[1, 2, 3, 22, 28].map(cause => [cause, 'not_found'] as const),
  [17, 'busy'],
  ...[18, 19, 20].map(cause => [cause, 'no_answer'] as const),
  [21, 'rejected'],
  ...[34, 38, 41, 42, 44, 47].map(cause => [cause, 'trunk_error'] as const),
  ...[65, 88].map(cause => [cause, 'codec_mismatch'] as const),
])

/** Null: none was given, or it adds nothing to the status. */
export const meaningOf = (reasons: readonly Reason[]): EndedReason | null =>
  MEANING.get(reasons.find(({ protocol }) => protocol === 'Q.850')?.cause ?? 0) ?? null
