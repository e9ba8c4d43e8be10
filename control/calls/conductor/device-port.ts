import type { MediaSnapshot } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { FollowUp, Of } from './event-handler.ts'

/** Does the next thing for a leg, as its row says. */
export type Drive = (legId: string, media: MediaPort) => Promise<void>

/** Browsers and registered phones, as far as the driver of calls knows them. */
export interface DevicePort {
  /** A call that a member's phone places; null: it is none. */
  incoming(trx: Trx, event: Of<'leg.incoming'>): Promise<FollowUp | null>
  connecting(event: Of<'browser.connecting'>, drive: Drive): FollowUp
  message(event: Of<'browser.message'>): FollowUp
  connected(trx: Trx, event: Of<'browser.connected'>): Promise<FollowUp | null>
  closed(trx: Trx, event: Of<'browser.closed'>): Promise<FollowUp | null>
  register(event: Of<'sip.register'>): FollowUp
  /** After a reconnect: softphones that are gone ring no more. */
  reconcile(snapshot: MediaSnapshot): Promise<void>
}
