import { captureRefused } from '../calls/capture/consent-changed.ts'
import { addressOf } from '../calls/capture/demanded-consent.ts'
import type { CallStep } from '../calls/programs/step-schema.ts'
import { asksNotToBeCalled, asksNotToBeRecorded } from '../consents/refusals.ts'
import { revokeConsent, standingOf } from '../consents/standing.ts'
import { type Fact, only } from '../kernel/store/after-commit.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { numberIn } from '../trunks/do-not-call.ts'
import type { DoNotCallRow } from '../trunks/tables.ts'
import { listNumber } from './list.ts'

/** The consents that are revoked too; a consent to be recorded stays. */
const TAKEN_BACK = ['call', 'marketing'] as const
const REASON = 'asked in a call not to be called again'
const NOT_RECORDED = 'asked in a call not to be recorded'
/** E.164. Other addresses cannot be on the list. */
const NUMBER = /^\+[1-9]\d{5,14}$/

/** What a caller has said in a call, to an assistant, a flow or an agent. */
interface SaidInCall {
  callId: string
  text: string
  at: string
}

/**
 * If these words ask for it, puts the other party of a call on the do-not-call list and revokes its consents, in the transaction that
 * stores the words. Repeating them changes nothing. Returns the entry; null: not requested, or the party cannot be listed.
 */
export async function listWhoAsks(
  trx: Trx,
  tenant: Tenant,
  { callId, text, at }: SaidInCall,
): Promise<DoNotCallRow | null> {
  if (!asksNotToBeCalled(text)) return null
  const call = await forTenant(trx, tenant).find('calls', callId)
  const phone = call === undefined ? null : numberIn(addressOf(call))
  if (phone === null || !NUMBER.test(phone)) return null
  const row = await listNumber(trx, tenant, { phone, reason: REASON, expires_at: null }, { at, source: 'call', callId })
  for (const purpose of TAKEN_BACK) {
    const consent = await forTenant(trx, tenant).findBy('consents', { standing: standingOf({ phone, purpose }) })
    if (consent !== undefined) await revokeConsent(trx, tenant, consent, { at, reason: REASON, callId })
  }
  return row
}

/**
 * If these words ask for it, revokes the other party's consent to recording, also for later calls, and ends recording that depends on it in
 * this call. Recording of parties who need no consent continues.
 */
export async function takeBackRecording(trx: Trx, tenant: Tenant, { callId, text, at }: SaidInCall): Promise<void> {
  if (!asksNotToBeRecorded(text)) return
  const scoped = forTenant(trx, tenant)
  const call = await scoped.find('calls', callId)
  if (call === undefined || call.ended_at !== null) return
  const phone = numberIn(addressOf(call))
  const standing = phone === null ? null : standingOf({ phone, purpose: 'record' })
  const consent = standing === null ? undefined : await scoped.findBy('consents', { standing })
  if (consent === undefined) await captureRefused(trx, tenant, call, at)
  else await revokeConsent(trx, tenant, consent, { at, reason: NOT_RECORDED, callId })
}

/** Callers' words to assistants and flows, in the transaction that stores them (`store.within`). */
export const onSpokenRefusal = only(['call.turn'], async (trx: Trx, { object, tenant, at }: Fact): Promise<void> => {
  const { call_id: callId, turn } = object as CallStep
  if (turn === null || turn.role !== 'customer' || turn.source !== 'speech') return
  const said = { callId, text: turn.text, at }
  await listWhoAsks(trx, tenant, said)
  await takeBackRecording(trx, tenant, said)
})
