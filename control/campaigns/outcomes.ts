import type { EndedReason } from '../../media/protocol.ts'

/** How an attempt has ended. */
export const ATTEMPT_RESULTS = [
  'answered',
  'abandoned',
  'machine',
  'fax',
  'voicemail_left',
  'busy',
  'no_answer',
  'rejected',
  'invalid_number',
  'failed',
  'capacity',
  'skipped',
  'do_not_call',
  'no_consent',
] as const
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number]

/** Results after which a contact may be called again, as the campaign's `retry_minutes` say. */
export const RETRIED = ['abandoned', 'machine', 'busy', 'no_answer', 'rejected', 'failed'] as const
export type RetriedResult = (typeof RETRIED)[number]

/** Minutes until the next attempt, by the result of the last one; null: no further attempt. */
type Retry = Record<RetriedResult, number | null>

/** A call that found no free line is no attempt, and is repeated after this time [ms]. */
const CAPACITY_RETRY_MS = 5000

/** The result of a call, from how it ended. `takenFor`: what answered instead of a person; null: a person. */
export function resultOf({
  reason,
  takenFor,
  wasAnswered,
  wasConnected,
}: {
  reason: EndedReason
  takenFor: 'machine' | 'fax' | null
  wasAnswered: boolean
  wasConnected: boolean
}): AttemptResult {
  if (wasConnected) return 'answered'
  if (reason === 'message_left') return 'voicemail_left'
  if (takenFor !== null) return takenFor
  if (wasAnswered) return 'abandoned'
  switch (reason) {
    case 'busy':
    case 'no_answer':
    case 'rejected':
    case 'capacity':
      return reason
    case 'not_found':
      return 'invalid_number'
    default:
      return 'failed'
  }
}

/** The contact's next state: finished, or due again no earlier than `notBeforeMs` (Unix time). */
type Outcome = { status: 'completed' | 'failed' | 'excluded' } | { status: 'pending'; notBeforeMs: number }

export function outcomeOf(
  result: AttemptResult,
  { attempts, maxAttempts, retry, nowMs }: { attempts: number; maxAttempts: number; retry: Retry; nowMs: number },
): Outcome {
  if (result === 'capacity') return { status: 'pending', notBeforeMs: nowMs + CAPACITY_RETRY_MS }
  if (result === 'answered' || result === 'voicemail_left') return { status: 'completed' }
  if (result === 'do_not_call' || result === 'no_consent') return { status: 'excluded' }
  const minutes = (RETRIED as readonly string[]).includes(result) ? retry[result as RetriedResult] : null
  if (minutes === null || attempts >= maxAttempts) return { status: 'failed' }
  return { status: 'pending', notBeforeMs: nowMs + minutes * 60_000 }
}
