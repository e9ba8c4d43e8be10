import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'

/** Notes the time of a login: a softphone has connected, or a phone has registered that was not registered before. */
export async function noteLogin(trx: Trx, tenant: Tenant, userId: string, at: string): Promise<void> {
  await forTenant(trx, tenant).change('users', userId, { last_login: at })
}
