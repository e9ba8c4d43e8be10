import { consentMissing, consentOf, isDemanded, mayRecord } from '../../consents/required.ts'
import { giveConsent } from '../../consents/standing.ts'
import { NO_EVIDENCE } from '../../consents/tables.ts'
import { conflict, type Problem } from '../../http/errors.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { numberIn } from '../../trunks/do-not-call.ts'
import { lastedMs } from '../duration.ts'
import type { CallRow } from '../tables.ts'
import { type Consent, callCaptureOf, type Decided, NOTHING } from './call-capture.ts'

/** The other party of the call, by the number that may have consented. */
interface OtherParty {
  /** A number or a SIP URI. */
  address: string
  /** Now, ISO-8601 UTC. */
  at: string
}

export const addressOf = (call: Pick<CallRow, 'direction' | 'from_address' | 'to_address'>): string =>
  call.direction === 'inbound' ? call.from_address : call.to_address

/**
 * How the other party is asked if the organisation requires a consent to be recorded: not at all if there is one, else by the key.
 * `unasked`: no key is configured, so nothing may be captured.
 */
export async function askedOf(
  db: Db,
  tenant: Tenant,
  key: Consent | null,
  { address, at }: OtherParty,
): Promise<Consent | null | 'unasked'> {
  if (!(await isDemanded(db, tenant, 'record'))) return key
  const phone = numberIn(address)
  if (phone !== null && (await consentOf(db, tenant, { phone, purpose: 'record', at })) !== undefined) return null
  return key ?? 'unasked'
}

/** Of what a new call wants to capture, what is allowed. */
export async function allowedCapture(db: Db, tenant: Tenant, decided: Decided, party: OtherParty): Promise<Decided> {
  const { record, capture } = decided
  if (capture === null || !(record || capture.transcribe || capture.streams.length > 0)) return decided
  const consent = await askedOf(db, tenant, capture.consent, party)
  if (consent !== 'unasked') return { record, capture: { ...capture, consent } }
  const { own, route, transcribe, language, streams, encrypted = false } = capture
  const said = { ...(own !== undefined && { own }), ...(route !== undefined && { route }) }
  return {
    record: false,
    capture: { ...NOTHING, ...said, waiting: { record, transcribe, language, streams, encrypted } },
  }
}

/** Why a running call may not be recorded, transcribed or streamed now. */
export async function unconsentedProblem(db: Db, tenant: Tenant, call: CallRow, at: string): Promise<Problem | null> {
  if (call.kind === 'conference' || callCaptureOf(call)?.asked === 'agreed') return null
  const address = addressOf(call)
  return (await mayRecord(db, tenant, address, at)) ? null : consentMissing('record', address)
}

/** It ended before media had begun it, which then begins it for nothing. */
export const endedMeanwhile = (what: string): Problem =>
  conflict('not_running', `The ${what} has failed, or the consent to it has been withdrawn.`)

/** Stores the consent given by the key, so that the party is not asked again, if the organisation keeps consents. */
export async function noteAgreed(
  trx: Trx,
  tenant: Tenant,
  call: CallRow,
  { askedAt, key, at }: { askedAt: string; key: string; at: string },
): Promise<void> {
  const phone = numberIn(addressOf(call))
  if (phone === null || !(await isDemanded(trx, tenant, 'record'))) return
  const offset_ms = lastedMs(trx, { ...call, answered_at: call.answered_at ?? askedAt }, at)
  const evidence = { ...NO_EVIDENCE, type: 'call' as const, call_id: call.id, offset_ms, text: `Key ${key}` }
  await giveConsent(trx, tenant, { phone, purpose: 'record', evidence, given_at: at, expires_at: null }, { at })
}

/** Whether a consent has arrived in another way since the question was asked. */
export async function agreedSince(db: Db, call: CallRow, since: string, at: string): Promise<boolean> {
  const phone = numberIn(addressOf(call))
  const row = phone === null ? undefined : await consentOf(db, tenantOf(call), { phone, purpose: 'record', at })
  return row !== undefined && row.created >= since
}
