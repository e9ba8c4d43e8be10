import type { EndedReason, MediaSnapshot } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { Leading } from '../capture/consent.ts'
import type { LegEnd } from '../steps/decide.ts'
import type { Of } from '../steps/event-handler.ts'
import type { Conducting } from '../steps/follow.ts'
import type { CallFaults } from './faults.ts'
import type { Senders } from './sender.ts'

type Own = () => Promise<void>

/** The driver's view of queues, agents and rung devices. `own`: concerns a call's own leg. */
export interface CallCentrePort extends Leading {
  /** Handles exceptions, here and wherever calls are driven. */
  readonly faults: CallFaults
  onAnswered(trx: Trx, event: Of<'leg.answered'>, own: Own): Promise<void>
  /** The called party's early media has begun or ended. */
  onEarlyMedia(trx: Trx, event: Of<'leg.early_media'>): Promise<void>
  /** For an unanswered call to a person or a queue: devices are rung, and the call waits for them. */
  beginUnanswered(
    trx: Trx,
    tenant: Tenant,
    call: { callId: string; legId: string; at: string; target: 'user' | 'queue'; targetId: string },
  ): Promise<void>
  onEnded(trx: Trx, event: Of<'leg.ended'>, own: Own): Promise<void>
  onKey(trx: Trx, event: Of<'leg.dtmf'>, own: Own): Promise<void>
  /** A leg that was dialled for a call rings. */
  onRinging(trx: Trx, event: Of<'leg.ringing'>): Promise<void>
  /** A far end holds the other party, or does so no more. */
  onHeld(trx: Trx, event: Of<'leg.held' | 'leg.resumed'>, isHeld: boolean): Promise<void>
  onReferAsked(trx: Trx, event: Of<'leg.refer_asked'>): Promise<void>
  onReferProgress(trx: Trx, event: Of<'leg.refer_progress'>): Promise<void>
  onReplaced(trx: Trx, event: Of<'leg.replaced'>): Promise<void>
  /** After a reconnect: continues pending transfers, and tells media how supervisors are heard. */
  resume(snapshot: MediaSnapshot, media: MediaPort): Promise<void>
  /** Whether a new call to a queue is refused as busy; its rows are then ended. */
  refuses(
    trx: Trx,
    tenant: Tenant,
    call: { callId: string; legId: string; queueId: string; at: string },
  ): Promise<boolean>
  ofOwn(trx: Trx, legId: string, own: Own): Promise<void>
  /** Ends a leg that media does not have, with everything that depends on it. */
  end(trx: Trx, legId: string, end: LegEnd, at: string): Promise<void>
  owns(legId: string): Promise<boolean>
  /** Legs that are rung for calls, or talk on them, and that media should have. */
  rungLegs(): Promise<string[]>
  /** After a reconnect: audio that was not started. */
  reconcile(trx: Trx, snapshot: MediaSnapshot): Promise<void>
  mediaDied(trx: Trx, end: { reason: EndedReason; at: string }): Promise<void>
  run(media: MediaPort): Promise<void>
  /** Senders of the steps that queues lead. */
  readonly steps: Senders<'queue'>
  conductedBy(conducting: Conducting): void
}
