import type { MediaSnapshot } from '../../media/protocol.ts'
import type { DevicePort, Drive } from '../calls/device-port.ts'
import type { FollowUp, Of } from '../calls/event-handler.ts'
import type { Trx } from '../store.ts'
import { type AdmissionDeps, BrowserAdmission } from './admission.ts'

export type DeviceDeps = AdmissionDeps

/** What calls come from and ring at besides trunks: guests, web calls, softphones, registered phones. */
export class Devices implements DevicePort {
  readonly #admission: BrowserAdmission

  constructor(deps: DeviceDeps) {
    this.#admission = new BrowserAdmission(deps)
  }

  connecting(event: Of<'browser.connecting'>, drive: Drive): FollowUp {
    return this.#admission.connecting(event, drive)
  }

  message(_event: Of<'browser.message'>): FollowUp {
    return async () => {}
  }

  closed(trx: Trx, event: Of<'browser.closed'>): Promise<null> {
    return this.#admission.closed(trx, event)
  }

  register(_event: Of<'sip.register'>): FollowUp {
    return async () => {}
  }

  reconcile({ browserIds }: MediaSnapshot): Promise<void> {
    return this.#admission.reconcile(browserIds)
  }
}
