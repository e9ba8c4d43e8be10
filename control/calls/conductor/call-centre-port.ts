import type { EndedReason, MediaSnapshot } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { Of } from './event-handler.ts'
import type { CallFaults } from './faults.ts'
import type { Conducting } from './follow.ts'
import type { Senders } from './sender.ts'

type Own = () => Promise<void>

/** Queues, agents and those who are rung for a call, as far as the driver knows them. `own`: what happens to a call's own leg. */
export interface CallCentrePort {
  /** What becomes of what throws, here and where calls are driven. */
  readonly faults: CallFaults
  onAnswered(trx: Trx, event: Of<'leg.answered'>, own: Own): Promise<void>
  /** Who is called is heard before the answer, or no more. */
  onEarlyMedia(trx: Trx, event: Of<'leg.early_media'>): Promise<void>
  /** A call to somebody, or to a queue, is not answered yet: they are rung, and it waits for them. */
  beginUnanswered(
    trx: Trx,
    tenant: Tenant,
    call: { callId: string; legId: string; at: string; target: 'user' | 'queue'; targetId: string },
  ): Promise<void>
  onEnded(trx: Trx, event: Of<'leg.ended'>, own: Own): Promise<void>
  onKey(trx: Trx, event: Of<'leg.dtmf'>, own: Own): Promise<void>
  /** A leg that is rung for a call rings. */
  onRinging(trx: Trx, event: Of<'leg.ringing'>): Promise<void>
  onReferAsked(trx: Trx, event: Of<'leg.refer_asked'>): Promise<void>
  onReferProgress(trx: Trx, event: Of<'leg.refer_progress'>): Promise<void>
  onReplaced(trx: Trx, event: Of<'leg.replaced'>): Promise<void>
  /** After a reconnect: transfers that were under way. */
  resumeTransfers(snapshot: MediaSnapshot, media: MediaPort): Promise<void>
  /** Whether a new call to a queue is refused as busy, with its rows at their end. */
  refuses(
    trx: Trx,
    tenant: Tenant,
    call: { callId: string; legId: string; queueId: string; at: string },
  ): Promise<boolean>
  ofOwn(trx: Trx, legId: string, own: Own): Promise<void>
  /** Leads a call to where it was to be led before its caller was told, or asked, that it is recorded. */
  leadOn(trx: Trx, tenant: Tenant, led: { callId: string; legId: string; at: string }, then: string): Promise<void>
  /** Ends a leg that media does not have, and what hangs on it. */
  end(
    trx: Trx,
    legId: string,
    end: { reason: EndedReason; sipCode: number | null; quality: string | null },
    at: string,
  ): Promise<void>
  owns(legId: string): Promise<boolean>
  /** Legs that are rung for calls, or talk on them, and that media should have. */
  rungLegs(): Promise<string[]>
  /** After a reconnect: audio that was not started. */
  reconcile(trx: Trx, snapshot: MediaSnapshot): Promise<void>
  mediaDied(trx: Trx, end: { reason: EndedReason; at: string }): Promise<void>
  run(media: MediaPort): Promise<void>
  /** What the steps send that it leads. */
  readonly steps: Senders<'queue'>
  conductedBy(conducting: Conducting): void
}
