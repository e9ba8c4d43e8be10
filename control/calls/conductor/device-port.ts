import type { MediaSnapshot } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { Of } from './event-handler.ts'

/** Browsers and registered phones, as far as the driver of calls knows them. */
export interface DevicePort {
  /** A call that a member's phone places; false: it is none. */
  incoming(trx: Trx, event: Of<'leg.incoming'>): Promise<boolean>
  connecting(trx: Trx, event: Of<'browser.connecting'>): void
  message(trx: Trx, event: Of<'browser.message'>): void
  connected(trx: Trx, event: Of<'browser.connected'>): Promise<void>
  closed(trx: Trx, event: Of<'browser.closed'>): Promise<void>
  register(trx: Trx, event: Of<'sip.register'>): void
  /** The WebSocket of a phone is closed. */
  gone(trx: Trx, event: Of<'sip.gone'>): Promise<void>
  /** A phone asks for something outside of calls. */
  asked(trx: Trx, event: Of<'sip.ask'>): void
  unsubscribed(event: Of<'sip.unsubscribed'>): void
  /** A text to a phone has arrived, or has not. */
  messageDone(trx: Trx, event: Of<'sip.message_done'>): Promise<void>
  /** After a reconnect: softphones that are gone ring no more. */
  reconcile(snapshot: MediaSnapshot, media: MediaPort): Promise<void>
}
