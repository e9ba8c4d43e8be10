import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { heldBy } from './held.ts'

/** Maximum number of alerts of a call, the newest ones. */
const MAX_ALERTS = 3

/** The valid alerts of copilots in these calls, newest first. */
export async function runningAlerts(db: Db, tenant: Tenant, callIds: readonly string[]) {
  if (callIds.length === 0) return []
  const scoped = forTenant(db, tenant)
  const sessions = await scoped
    .select('copilot_sessions')
    .select(['id', 'call_id', 'state'])
    .where('call_id', 'in', [...callIds])
    .where('status', '=', 'running')
    .execute()
  const holding = sessions.flatMap(heldBy)
  if (holding.length === 0) return []
  const rows = await scoped
    .select('copilot_messages')
    .selectAll()
    .where('id', 'in', holding)
    .where('type', 'in', ['alert', 'compliance'])
    .orderBy('at', 'desc')
    .execute()
  return sessions.flatMap(({ id, call_id }) =>
    rows
      .filter(row => row.session_id === id)
      .map(row => ({ row, body: JSON.parse(row.body) as Record<string, string> }))
      .filter(({ row, body }) => row.type === 'alert' || body.kind === 'forbidden_phrase')
      .slice(0, MAX_ALERTS)
      .map(({ row, body }) => ({
        call_id,
        label: body.label ?? `“${body.phrase}”`,
        message: body.message ?? body.reason ?? '',
        severity: body.severity ?? 'warning',
        at: row.at,
      })),
  )
}
