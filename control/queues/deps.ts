import type { Device } from '../agents/devices.ts'
import type { BusinessHours } from '../contact-centre/business-hours.ts'
import type { BookingDeps } from '../resources/callbacks/booking.ts'
import type { Db, Store, Trx } from '../store.ts'
import type { Tenant } from '../tenancy.ts'

/** What takes a caller over who nobody answers, or whom a callback reached. */
export type Program =
  | { type: 'assistant'; id: string }
  | { type: 'flow'; id: string }
  | { type: 'voicemail'; queueId: string | null; userId: string | null }

/** Gives an answered call to a program, in the transaction that decides so. False: none takes it. */
export type HandOver = (
  trx: Trx,
  tenant: Tenant,
  given: { callId: string; legId: string; program: Program; at: string },
) => Promise<boolean>

export interface CallCentreDeps {
  store: Store
  now: () => Date
  log: { warn(fields: object, message: string): void }
  /** The host of our own SIP address. */
  sipHost: string
  devicesOf: (db: Db, tenant: Tenant, userId: string, now: Date) => Promise<Device[]>
  businessHoursOf: (db: Db, tenant: Tenant) => Promise<BusinessHours>
  booking: BookingDeps
  /** Where an audio asset lies. */
  assetFile: (id: string) => string
  handOver: HandOver
}
