import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'

/** A member is there: a softphone has connected, or a phone has registered that was not there before. */
export async function noteLogin(trx: Trx, tenant: Tenant, userId: string, at: string): Promise<void> {
  await forTenant(trx, tenant).update('users').set({ last_login: at }).where('id', '=', userId).execute()
}
