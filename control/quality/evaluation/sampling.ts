import { createHash } from 'node:crypto'
import type { QualitySettings } from '../../organisation/quality.ts'
import type { Conversation } from '../analysis/conversation.ts'

type Sampling = QualitySettings['qa_sampling']

/** A call's place between 0 and 100: always the same, and different for each purpose. */
function placeOf(purpose: string, callId: string): number {
  const digest = createHash('sha256').update(`${purpose} ${callId}`).digest()
  return (digest.readUInt32BE() / 2 ** 32) * 100
}

/** Whether a call is evaluated automatically. */
export function isSampled({ call, lines, durationMs }: Conversation, rules: Sampling): boolean {
  if (!lines.some(({ side }) => side === 'agent') || durationMs < rules.min_seconds * 1000) return false
  if (rules.queue_ids.length > 0 && !rules.queue_ids.includes(call.queue_id ?? '')) return false
  return placeOf('evaluate', call.id) < rules.percent
}

/** Whether a person is to look at an evaluation. */
export function wantsReview(
  callId: string,
  { score, failed }: { score: number | null; failed: boolean },
  rules: Sampling,
): boolean {
  if (rules.review_failures && failed) return true
  if (rules.review_below !== null && score !== null && score < rules.review_below) return true
  return placeOf('review', callId) < rules.review_percent
}
