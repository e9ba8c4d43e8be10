import type { LedRing } from '../assistants/input.ts'
import type { BookingDeps } from '../callbacks/booking.ts'
import type { StreamDeps } from '../calls/capture/streams.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { BusinessHours } from '../organisation/business-hours.ts'
import type { Device } from './ringing/rings.ts'

/** Takes over a caller whom nobody answers, or whom a callback has reached. */
export type Program =
  | { type: 'assistant'; id: string }
  | { type: 'flow'; id: string }
  | { type: 'voicemail'; queueId: string | null; userId: string | null }

/** Gives an answered call to a program, in the transaction of that decision. False: no program takes it. */
export type HandOver = (
  trx: Trx,
  tenant: Tenant,
  given: { callId: string; legId: string; program: Program; at: string },
) => Promise<boolean>

/** The programs that lead calls, as far as queues know them. */
interface LedCalls {
  /** Stores what happened to a ring for the program of its call, in this transaction. */
  told(trx: Trx, tenant: Tenant, callId: string, what: LedRing): Promise<void>
  /** Ends the program of a call that is led elsewhere, in this transaction. */
  letGo(trx: Trx, tenant: Tenant, callId: string, at: string): Promise<void>
}

/** Runs one of many independent steps in a transaction of its own. If it throws, only the call that it belongs to, if any, is ended. */
export type Step = (callId: string | null, run: (trx: Trx) => Promise<unknown>) => Promise<void>

/** The parts of the call centre. */
export interface CallCentreParts {
  store: Store
  now: () => Date
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
  /** The host of our own SIP address. */
  sipHost: string
  /** Opens the passwords of connections. */
  vault: Vault
  /** Where our own SIP is reached from this machine, for sandbox numbers. */
  loopback?: { host: string; port: number }
  devicesOf: (db: Db, tenant: Tenant, userId: string, now: Date) => Promise<Device[]>
  /** Makes presence follow devices; absent: presence stays as it was set. */
  followDevices?: (db: Db, now: Date, step: Step) => Promise<void>
  streams: StreamDeps
  businessHoursOf: (db: Db, tenant: Tenant) => Promise<BusinessHours>
  booking: BookingDeps
  /** Path of an audio asset. */
  assetFile: (id: string) => string
  handOver: HandOver
  /** Absent: no program rings anybody. */
  led?: LedCalls
}
