import type { EndedReason, SipParty } from '../../../media/protocol.ts'
import { contactProblem } from '../../consents/required.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { numbersAt } from '../../trunks/outbound.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'
import { legProblem } from '../../usage/allowance.ts'
import { mayName } from '../dial.ts'
import type { Of } from '../steps/event-handler.ts'
import { follow } from '../steps/follow.ts'

interface Answer {
  to: string[]
  reason: EndedReason
}

const NOBODY: Answer = { to: [], reason: 'redirect_refused' }

/** A far end redirects our call to others. Those that may be called directly may be called. */
export async function onRedirected(trx: Trx, { body, at }: Of<'leg.redirected'>): Promise<void> {
  const { legId, redirectId } = body
  const leg = await trx
    .selectFrom('participants')
    .select(['call_id', 'organisation_id', 'livemode', 'step', 'connection_id'])
    .where('id', '=', legId)
    .executeTakeFirst()
  const asked = { named: body.to, connectionId: body.connectionId ?? leg?.connection_id ?? null, at }
  const answer = leg === undefined || leg.step === 'ended' ? NOBODY : await allowed(trx, tenantOf(leg), asked)
  follow(trx, leg?.call_id ?? legId, async ({ media }) => {
    await media.request('leg.redirect_answer', { legId, redirectId, ...answer })
  })
}

async function allowed(
  trx: Trx,
  tenant: Tenant,
  { named, connectionId, at }: { named: readonly SipParty[]; connectionId: string | null; at: string },
): Promise<Answer> {
  // The leg already counts; a suspension also applies to redirection targets.
  if ((await legProblem(trx, tenant, at)) !== null) return { to: [], reason: 'capacity' }
  const connection = connectionId === null ? undefined : await forTenant(trx, tenant).find('connections', connectionId)
  const to: string[] = []
  for (const { uri } of named) if (await mayCall(trx, tenant, { uri, connection, at })) to.push(uri)
  return { ...NOBODY, to }
}

async function mayCall(
  trx: Trx,
  tenant: Tenant,
  { uri, connection, at }: { uri: string; connection: ConnectionRow | undefined; at: string },
): Promise<boolean> {
  if (connection === undefined || !(await mayName(trx, tenant, connection, uri))) return false
  for (const to of numbersAt(connection, uri)) {
    if ((await contactProblem(trx, tenant, { to, at })) !== null) return false
  }
  return true
}
