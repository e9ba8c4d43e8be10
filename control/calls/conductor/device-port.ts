import type { MediaSnapshot } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { Of } from '../steps/event-handler.ts'

/** The driver's view of browsers and registered phones. */
export interface DevicePort {
  /** Handles a call from a member's phone; false: it is not one. */
  incoming(trx: Trx, event: Of<'leg.incoming'>): Promise<boolean>
  connecting(trx: Trx, event: Of<'browser.connecting'>): void
  message(trx: Trx, event: Of<'browser.message'>): void
  connected(trx: Trx, event: Of<'browser.connected'>): Promise<void>
  closed(trx: Trx, event: Of<'browser.closed'>): Promise<void>
  register(trx: Trx, event: Of<'sip.register'>): void
  /** The WebSocket of a phone has closed. */
  gone(trx: Trx, event: Of<'sip.gone'>): Promise<void>
  /** A phone sends a request outside of calls. */
  asked(trx: Trx, event: Of<'sip.ask'>): void
  unsubscribed(event: Of<'sip.unsubscribed'>): void
  /** A text to a phone was delivered, or was not. */
  messageDone(trx: Trx, event: Of<'sip.message_done'>): Promise<void>
  /** After a reconnect: softphones that have gone stop ringing. */
  reconcile(snapshot: MediaSnapshot, media: MediaPort): Promise<void>
}
