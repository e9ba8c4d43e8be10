import { isDemanded } from '../../consents/required.ts'
import type { Consent } from '../../consents/schema.ts'
import { type Fact, only } from '../../kernel/store/after-commit.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { numberIn } from '../../trunks/do-not-call.ts'
import { endStreams, insertRecording } from '../records.ts'
import type { CallRow } from '../tables.ts'
import { callCaptureOf, insertStream, NOTHING, type Waiting } from './call-capture.ts'
import { changeCapture } from './changes.ts'
import { addressOf } from './demanded-consent.ts'
import { setCall } from './later-capture.ts'
import { refuseTranscript, UNAGREED, wantTranscript } from './transcript-rows.ts'
import { isNothing, unbegun } from './waiting.ts'

/**
 * The one place where giving or revoking a consent to be recorded affects running calls. Whatever waited for the consent starts now, and
 * whatever depends on it stops. The copilot's hearing checks for itself (`copilot/sessions/copilot.ts`).
 */
export const onConsent = only(
  ['consent.created', 'consent.revoked', 'consent.imported'],
  async (trx: Trx, { type, object, tenant, at }: Fact): Promise<void> => {
    const phones = type === 'consent.imported' ? (object as { phones: string[] }).phones : recorded(object as Consent)
    if (phones.length === 0) return
    for (const call of await runningWith(trx, tenant, new Set(phones))) {
      if (type === 'consent.revoked') await captureRefused(trx, tenant, call, at)
      else await given(trx, tenant, call, at)
    }
  },
)

const recorded = ({ purpose, phone }: Consent): string[] => (purpose === 'record' ? [phone] : [])

/** The running calls whose other party has one of these numbers (E.164). */
async function runningWith(trx: Trx, tenant: Tenant, phones: ReadonlySet<string>): Promise<CallRow[]> {
  const running = forTenant(trx, tenant).select('calls').where('ended_at', 'is', null).where('kind', '=', 'party')
  const parties = await running.select(['id', 'direction', 'from_address', 'to_address']).execute()
  const ids = parties.filter(call => phones.has(numberIn(addressOf(call)) ?? '')).map(({ id }) => id)
  const calls: CallRow[] = []
  for (const id of ids) {
    const call = await forTenant(trx, tenant).find('calls', id)
    if (call !== undefined) calls.push(call)
  }
  return calls
}

async function given(trx: Trx, tenant: Tenant, call: CallRow, at: string): Promise<void> {
  const capture = callCaptureOf(call)
  // While a caller is being asked, the answer decides; the consent counts only if there is none (`consent.ts`).
  if (capture === null || capture.asked === 'asking') return
  const { waiting, ...rest } = capture
  const isToBeAsked = capture.asked === null && capture.consent !== null
  if (waiting === undefined && capture.asked !== 'refused' && !isToBeAsked) return
  const agreed = { ...rest, asked: 'agreed' as const }
  if (waiting === undefined || isNothing(waiting)) {
    await setCall(trx, call, { capture: JSON.stringify(agreed) })
    return
  }
  const { record, transcribe, language, encrypted, streams } = waiting
  const kept = { ...agreed, transcribe: rest.transcribe || transcribe, language, encrypted }
  await setCall(trx, call, { capture: JSON.stringify(kept), ...(record && { record: 1 }) })
  await beginWaiting(trx, tenant, call, waiting, at)
  for (const stream of streams) await insertStream(trx, tenant, call.id, stream, at)
  await changeCapture(trx, tenant, call, 'begin')
}

/** Inserts the rows. For an unanswered call they start with the answer. */
async function beginWaiting(
  trx: Trx,
  tenant: Tenant,
  call: CallRow,
  { record, transcribe, language }: Waiting,
  at: string,
): Promise<void> {
  const isAnswered = call.answered_at !== null
  if (record && isAnswered) await insertRecording(trx, call, at)
  if (!transcribe) return
  const status = isAnswered ? ('running' as const) : ('wanted' as const)
  const before = await forTenant(trx, tenant).find('transcripts', call.id)
  if (before === undefined) await wantTranscript(trx, tenant, { id: call.id, language, at, status })
  else if (before.failed_reason === UNAGREED.failed_reason) {
    await forTenant(trx, tenant).change('transcripts', call.id, { status, failed_reason: null, language })
  }
}

/** The other party of a running call has withdrawn consent: whatever depends on it ends. */
export async function captureRefused(trx: Trx, tenant: Tenant, call: CallRow, at: string): Promise<void> {
  const capture = callCaptureOf(call)
  // Capture of parties that need not consent does not depend on one.
  if (!(await isDemanded(trx, tenant, 'record')) && capture?.asked !== 'agreed') return
  // Nothing is captured before the caller answers, and the answer is more recent.
  if (capture?.asked === 'asking' && capture.later === undefined && capture.consent !== null) return
  const { waiting: _, ...rest } = capture ?? NOTHING
  const asked = capture?.asked === 'asking' ? ('asking' as const) : ('refused' as const)
  if (call.answered_at === null && asked !== 'asking') {
    const waiting = await unbegun(trx, call)
    const none = { ...rest, asked, transcribe: false, streams: [], ...(!isNothing(waiting) && { waiting }) }
    await setCall(trx, call, { record: 0, capture: JSON.stringify(none) })
    await endStreams(trx, call, at)
    await refuseTranscript(trx, call)
  } else {
    const still = capture?.waiting
    const refused = { ...rest, asked, ...(still !== undefined && { waiting: still }) }
    await setCall(trx, call, { capture: JSON.stringify(refused) })
  }
  await changeCapture(trx, tenant, call, 'stop')
}
