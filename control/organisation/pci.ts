import type { Db } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'

/** An organisation's card-payment settings. */
export interface PciSettings {
  enabled: boolean
  maskDtmf: boolean
  maxSeconds: number
  /** Card payments are possible only over payment numbers. */
  numbersOnly: boolean
}
export type PciOf = (db: Db, tenant: Tenant) => Promise<PciSettings>
