import { campaignContactTarget } from '../campaigns/import-target.ts'
import { consentTarget } from '../consents/import-target.ts'
import { doNotCallTarget } from '../do-not-call/import-target.ts'
import type { ImportTargets } from '../imports/target.ts'

/** The targets of imports, by the `target` of `POST /imports`. */
export const IMPORT_TARGETS: ImportTargets = {
  do_not_call_numbers: doNotCallTarget,
  consents: consentTarget,
  campaign_contacts: campaignContactTarget,
}
