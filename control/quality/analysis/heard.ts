import { disclosureSlot, fieldSlot, itemSlot, valueOfSlot } from '../../copilot/fast/slots.ts'
import type { CopilotState } from '../../copilot/fast/state.ts'
import { profileSettings } from '../../copilot/profile.ts'
import type { ProfileSettings } from '../../copilot/schema.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'

/** The copilot's state at the end of an agent's part of a call, with people's decisions. */
export interface Heard {
  profile: { id: string; version: number; settings: ProfileSettings }
  fields: Record<string, string>
  /** By key: whether it was said. Only certain results; for the others the words are searched. */
  disclosures: Map<string, boolean>
  /** By stage and key. */
  items: Map<string, boolean>
}

/** The last agent's session; null: none. */
export async function heardIn(db: Db, tenant: Tenant, callId: string): Promise<Heard | null> {
  const sessions = forTenant(db, tenant).select('copilot_sessions').selectAll().where('call_id', '=', callId)
  const row = await sessions.orderBy('id', 'desc').limit(1).executeTakeFirst()
  if (row === undefined) return null
  const settings = profileSettings(row)
  const { slots } = JSON.parse(row.state) as CopilotState
  const isSo = (slot: string, value: string): boolean => valueOfSlot(slots[slot]) === value
  const items = settings.stages.flatMap(({ key: stage, checklist }) =>
    checklist.flatMap(({ key }): [string, true][] =>
      isSo(itemSlot(stage, key), 'done') ? [[`${stage}/${key}`, true]] : [],
    ),
  )
  return {
    profile: { id: row.profile_id, version: row.profile_version, settings },
    fields: Object.fromEntries(
      settings.fields.flatMap(({ key }): [string, string][] => {
        const value = valueOfSlot(slots[fieldSlot(key)])
        return value === null ? [] : [[key, value]]
      }),
    ),
    disclosures: new Map(
      settings.compliance.required_disclosures.flatMap(({ key }): [string, true][] =>
        isSo(disclosureSlot(key), 'said') ? [[key, true]] : [],
      ),
    ),
    items: new Map(items),
  }
}
