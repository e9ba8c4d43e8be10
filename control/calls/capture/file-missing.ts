import { fileMissing, type Problem } from '../../http/errors.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'

/** 404 for a file that was written during a call, and so by the node that had the call. */
export async function fileOfCallMissing(
  db: Db,
  tenant: Tenant,
  { kind, id, callId }: { kind: string; id: string; callId: string | null },
): Promise<Problem> {
  const call = callId === null ? undefined : await forTenant(db, tenant).find('calls', callId)
  const node = call?.node_id ?? null
  return fileMissing(kind, id, node === nodeOf(db) ? null : node)
}
