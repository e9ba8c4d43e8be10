import type { MediaSnapshot } from '../../media/protocol.ts'
import type { DevicePort } from '../calls/conductor/device-port.ts'
import type { Of } from '../calls/steps/event-handler.ts'
import { decideAnew, follow } from '../calls/steps/follow.ts'
import type { Trx } from '../kernel/store/store.ts'
import type { MediaPort } from '../media-link/events.ts'
import { deliveryTold } from '../messages/delivery.ts'
import { textsOfPhones } from '../messages/from-phone.ts'
import { type PhoneAskDeps, PhoneAsks } from '../queues/agents/phone-asks.ts'
import { type PhoneCallDeps, PhoneCalls } from '../queues/agents/phone-calls.ts'
import { forgetPhonesOf, type RegistrationDeps, Registrations } from '../queues/agents/registrations.ts'
import type { PhoneSubscriptions } from '../queues/agents/subscriptions.ts'
import { type AdmissionDeps, BrowserAdmission } from './admission.ts'
import { type SoftphoneDeps, Softphones } from './softphone.ts'

type DeviceDeps = AdmissionDeps & PhoneCallDeps & RegistrationDeps & SoftphoneDeps & Pick<PhoneAskDeps, 'subscriptions'>

/** Devices other than trunks that place and receive calls: guests, web calls, softphones, registered phones. */
export class Devices implements DevicePort {
  readonly #admission: BrowserAdmission
  readonly #phoneCalls: PhoneCalls
  readonly #registrations: Registrations
  readonly #softphones: Softphones
  readonly #asks: PhoneAsks
  readonly #subscriptions: PhoneSubscriptions

  constructor(deps: DeviceDeps) {
    this.#admission = new BrowserAdmission(deps)
    this.#phoneCalls = new PhoneCalls(deps)
    this.#registrations = new Registrations(deps)
    this.#softphones = new Softphones(deps)
    this.#asks = new PhoneAsks({ ...deps, takeText: textsOfPhones(deps) })
    this.#subscriptions = deps.subscriptions
  }

  incoming(trx: Trx, event: Of<'leg.incoming'>): Promise<boolean> {
    return this.#phoneCalls.incoming(trx, event)
  }

  connecting(trx: Trx, event: Of<'browser.connecting'>): void {
    this.#admission.connecting(trx, event)
  }

  /** Not in the event's own transaction, like a request of the API. */
  message(trx: Trx, { body }: Of<'browser.message'>): void {
    follow(trx, body.browserId, async ({ media }) => void this.#softphones.handle(body, media))
  }

  connected(trx: Trx, event: Of<'browser.connected'>): Promise<void> {
    return this.#admission.connected(trx, event)
  }

  closed(trx: Trx, event: Of<'browser.closed'>): Promise<void> {
    return this.#admission.closed(trx, event)
  }

  /** Not in the event's own transaction, so that events of calls do not wait for it. */
  register(trx: Trx, { body }: Of<'sip.register'>): void {
    follow(trx, body.registerId, async ({ media }) => void this.#registrations.handle(body, media))
  }

  async gone(trx: Trx, { body, at }: Of<'sip.gone'>): Promise<void> {
    if (await forgetPhonesOf(trx, body.source, at)) decideAnew(trx)
  }

  /** Not in the event's own transaction, as for a registration. */
  asked(trx: Trx, { body }: Of<'sip.ask'>): void {
    follow(trx, body.askId, async ({ media }) => void this.#asks.handle(body, media))
  }

  unsubscribed({ body }: Of<'sip.unsubscribed'>): void {
    this.#subscriptions.ended(body.subscriptionId)
  }

  messageDone(trx: Trx, { body, at }: Of<'sip.message_done'>): Promise<void> {
    return deliveryTold(trx, body.messageId, body.sipCode, at)
  }

  async reconcile({ browserIds }: MediaSnapshot, media: MediaPort): Promise<void> {
    await this.#subscriptions.recover(media)
    await this.#registrations.recover(media)
    await this.#admission.reconcile(browserIds)
  }
}
