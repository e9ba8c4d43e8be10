import type { MediaSnapshot } from '../../media/protocol.ts'
import type { DevicePort, Drive } from '../calls/conductor/device-port.ts'
import type { FollowUp, Of } from '../calls/conductor/event-handler.ts'
import type { Trx } from '../kernel/store/store.ts'
import { type PhoneCallDeps, PhoneCalls } from '../queues/agents/phone-calls.ts'
import { type RegistrationDeps, Registrations } from '../queues/agents/registrations.ts'
import { type AdmissionDeps, BrowserAdmission } from './admission.ts'
import { type SoftphoneDeps, Softphones } from './softphone.ts'

export type DeviceDeps = AdmissionDeps & PhoneCallDeps & RegistrationDeps & SoftphoneDeps

/** What calls come from and ring at besides trunks: guests, web calls, softphones, registered phones. */
export class Devices implements DevicePort {
  readonly #admission: BrowserAdmission
  readonly #phoneCalls: PhoneCalls
  readonly #registrations: Registrations
  readonly #softphones: Softphones

  constructor(deps: DeviceDeps) {
    this.#admission = new BrowserAdmission(deps)
    this.#phoneCalls = new PhoneCalls(deps)
    this.#registrations = new Registrations(deps)
    this.#softphones = new Softphones(deps)
  }

  incoming(trx: Trx, event: Of<'leg.incoming'>): Promise<FollowUp | null> {
    return this.#phoneCalls.incoming(trx, event)
  }

  connecting(event: Of<'browser.connecting'>, drive: Drive): FollowUp {
    return this.#admission.connecting(event, drive)
  }

  /** Beside the events of calls, like a request of the API. */
  message({ body }: Of<'browser.message'>): FollowUp {
    return async media => void this.#softphones.handle(body, media)
  }

  connected(trx: Trx, event: Of<'browser.connected'>): Promise<FollowUp | null> {
    return this.#admission.connected(trx, event)
  }

  closed(trx: Trx, event: Of<'browser.closed'>): Promise<FollowUp | null> {
    return this.#admission.closed(trx, event)
  }

  /** Beside the events of calls: a phone that registers waits for nobody, and nobody for it. */
  register({ body }: Of<'sip.register'>): FollowUp {
    return async media => void this.#registrations.handle(body, media)
  }

  reconcile({ browserIds }: MediaSnapshot): Promise<void> {
    return this.#admission.reconcile(browserIds)
  }
}
