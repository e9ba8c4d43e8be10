import type { MediaEvent } from '../../media/protocol.ts'
import type { MediaPort } from '../media-events.ts'
import type { Trx } from '../store.ts'
import { forTenant } from '../tenancy.ts'
import { callCaptureOf, isToBeAsked } from './call-capture.ts'
import { CONSENT, UNHEARD } from './consent-question.ts'
import type { LegRows } from './decide.ts'
import type { FollowUp } from './event-handler.ts'
import { endStreams, loadLeg, tenantOf } from './records.ts'

const REFUSED = 'The caller did not agree to be recorded.'

/** Does what the leg's row calls for: it asks. */
type Ask = (legId: string, media: MediaPort) => Promise<void>

/** An event on its way to those who handle it, or null: they do not get it. */
export interface Passed {
  event: MediaEvent | null
  followUp: FollowUp | null
}

/**
 * Whoever is told that the call is recorded, or asked whether it may be, hears that before anything else: the answer is passed on to
 * flows, queues and rooms when that is over, as if the call had been answered only then.
 */
export async function passConsent(trx: Trx, event: MediaEvent, ask: Ask): Promise<Passed> {
  if (event.name === 'leg.answered') return onAnswered(trx, event, ask)
  if (event.name === 'leg.collected' && [CONSENT, UNHEARD].includes(event.body.collectId))
    return onCollected(trx, event)
  return { event, followUp: null }
}

async function onAnswered(trx: Trx, event: MediaEvent & { name: 'leg.answered' }, ask: Ask): Promise<Passed> {
  const rows = await loadLeg(trx, event.body.legId)
  const isAsked =
    rows !== null &&
    rows.participant.ring_id === null &&
    rows.call.answered_at === null &&
    rows.call.ended_at === null &&
    isToBeAsked(rows.call)
  if (!isAsked) return { event, followUp: null }
  const capture = { ...callCaptureOf(rows.call), asked: 'asking', askedAt: event.at }
  await change(trx, rows, { capture: JSON.stringify(capture) }, 'consent')
  return { event: null, followUp: media => ask(event.body.legId, media) }
}

async function onCollected(trx: Trx, event: MediaEvent & { name: 'leg.collected' }): Promise<Passed> {
  const { legId, collectId, digits } = event.body
  const rows = await loadLeg(trx, legId)
  const capture = rows === null ? null : callCaptureOf(rows.call)
  if (rows === null || capture?.asked !== 'asking' || rows.participant.step !== 'consent') {
    return { event: null, followUp: null }
  }
  const { consent, askedAt } = capture
  const isRefused = collectId === UNHEARD || (consent !== null && digits !== consent.key)
  const asked = isRefused ? 'refused' : consent === null ? 'told' : 'agreed'
  const stored = JSON.stringify({ ...capture, asked })
  if (!isRefused) await change(trx, rows, { capture: stored }, 'answering')
  else await keepNothing(trx, rows, stored, event.at)
  const at = askedAt ?? event.at
  if (isRefused && consent?.otherwise === 'hang_up') {
    await change(trx, rows, { status: 'in_progress', answered_at: at }, 'hanging_up')
    const hangUp = async (media: MediaPort): Promise<void> => {
      await media.request('leg.hangup', { legId, reason: 'rejected' })
    }
    return { event: null, followUp: hangUp }
  }
  return { event: { name: 'leg.answered', at, body: { legId, codec: 'PCMU', roomId: rows.call.id } }, followUp: null }
}

async function keepNothing(trx: Trx, rows: LegRows, capture: string, at: string): Promise<void> {
  const { call } = rows
  await change(trx, rows, { capture, record: 0 }, 'answering')
  await endStreams(trx, call, at)
  const transcripts = forTenant(trx, tenantOf(call)).update('transcripts').where('id', '=', call.id)
  await transcripts.set({ status: 'failed', failed_reason: REFUSED }).execute()
}

async function change(
  trx: Trx,
  { call, participant }: LegRows,
  changed: Partial<LegRows['call']>,
  step: LegRows['participant']['step'],
): Promise<void> {
  const scoped = forTenant(trx, tenantOf(call))
  await scoped.update('calls').set(changed).where('id', '=', call.id).execute()
  await scoped.update('participants').set({ step }).where('id', '=', participant.id).execute()
}
