import type { MediaEvent } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { startOf } from '../duration.ts'
import { writeLeg } from '../legs.ts'
import { applyToLeg, endStreams, loadLeg } from '../records.ts'
import type { LegRows } from '../steps/decide.ts'
import type { Step } from '../steps/table.ts'
import { type CallCapture, callCaptureOf, isToBeAsked } from './call-capture.ts'
import { CONSENT, UNHEARD } from './consent-question.ts'
import { agreedSince, noteAgreed } from './demanded-consent.ts'
import { laterAnswered } from './later-capture.ts'
import { refuseTranscript } from './transcript-rows.ts'
import { unbegun } from './waiting.ts'

/** Leads the call on after a question in the middle of it. */
export interface Leading {
  /** Leads a call to its target after the announcement or question. */
  leadOn(trx: Trx, tenant: Tenant, led: { callId: string; legId: string; at: string }, then: string): Promise<void>
}

/**
 * The announcement or question comes before anything else: the answer is passed on to flows, queues and rooms only afterwards, as if
 * the call had been answered then. A question in the middle of a call works the same way for the next target. Returns the event for its
 * handlers; null: they do not get it.
 */
export async function passConsent(trx: Trx, event: MediaEvent, centre: Leading): Promise<MediaEvent | null> {
  if (event.name === 'leg.answered') return onAnswered(trx, event)
  if (event.name === 'leg.collected' && [CONSENT, UNHEARD].includes(event.body.collectId))
    return onCollected(trx, event, centre)
  return event
}

async function onAnswered(trx: Trx, event: MediaEvent & { name: 'leg.answered' }): Promise<MediaEvent | null> {
  const rows = await loadLeg(trx, event.body.legId)
  const isAsked =
    rows !== null &&
    rows.participant.ring_id === null &&
    rows.call.answered_at === null &&
    rows.call.ended_at === null &&
    isToBeAsked(rows.call)
  if (!isAsked) return event
  const capture = { ...callCaptureOf(rows.call), asked: 'asking', askedAt: event.at }
  await change(trx, rows, { ...startOf(trx), capture: JSON.stringify(capture) }, { step: 'consent' })
  return null
}

async function onCollected(
  trx: Trx,
  event: MediaEvent & { name: 'leg.collected' },
  centre: Leading,
): Promise<MediaEvent | null> {
  const { legId, collectId, digits } = event.body
  const rows = await loadLeg(trx, legId)
  const capture = rows === null ? null : callCaptureOf(rows.call)
  if (rows === null || capture?.asked !== 'asking' || rows.participant.step !== 'consent') return null
  const { askedAt, later } = capture
  const { consent } = later ?? capture
  const isUnsaid = collectId === UNHEARD || (consent !== null && digits === '')
  const hasAgreed = isUnsaid && (await agreedSince(trx, rows.call, askedAt ?? rows.call.created, event.at))
  const isRefused = !hasAgreed && (collectId === UNHEARD || (consent !== null && digits !== consent.key))
  const asked = isRefused ? 'refused' : consent === null && !hasAgreed ? 'told' : 'agreed'
  const isHungUp = isRefused && consent?.otherwise === 'hang_up'
  if (asked === 'agreed' && !hasAgreed) {
    await noteAgreed(trx, tenantOf(rows.call), rows.call, { askedAt: askedAt ?? event.at, key: digits, at: event.at })
  }
  const then = await laterAnswered(trx, rows.call, capture, { asked, at: event.at })
  if (then !== null) {
    if (isHungUp) await change(trx, rows, {}, REFUSED)
    else await centre.leadOn(trx, tenantOf(rows.call), { callId: rows.call.id, legId, at: event.at }, then)
    return null
  }
  const stored = JSON.stringify({ ...capture, asked })
  if (!isRefused) await change(trx, rows, { capture: stored }, { step: 'answering' })
  else await keepNothing(trx, rows, { ...capture, asked }, event.at)
  const at = askedAt ?? event.at
  if (isHungUp) {
    const call = { status: 'in_progress', answered_at: at } as const
    const now = (await loadLeg(trx, legId)) ?? rows
    await applyToLeg(trx, now, { call, participant: REFUSED, events: ['call.answered'] }, at)
    return null
  }
  return { name: 'leg.answered', at, body: { legId } }
}

const REFUSED = { step: 'hanging_up', leave_reason: 'rejected', leave_prompt: null } as const

/** Captures nothing now; a later consent may start it. */
async function keepNothing(trx: Trx, rows: LegRows, capture: CallCapture, at: string): Promise<void> {
  const { call } = rows
  const waiting = await unbegun(trx, call)
  await change(trx, rows, { capture: JSON.stringify({ ...capture, waiting }), record: 0 }, { step: 'answering' })
  await endStreams(trx, call, at)
  await refuseTranscript(trx, call)
}

async function change(
  trx: Trx,
  { call, participant }: LegRows,
  changed: Partial<LegRows['call']>,
  step: Step,
): Promise<void> {
  if (Object.keys(changed).length > 0) await forTenant(trx, tenantOf(call)).change('calls', call.id, changed)
  await writeLeg(trx, tenantOf(call), participant.id, step)
}
