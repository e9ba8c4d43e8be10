import { isFailure, isStarted, type PlaySource } from '../../../media/protocol.ts'
import { encryptsRecordings } from '../../calls/capture/call-capture.ts'
import { addressOf } from '../../calls/capture/demanded-consent.ts'
import { mayRecord } from '../../consents/required.ts'
import { newId } from '../../kernel/ids.ts'
import { phrase, type Speaker } from '../../kernel/phrases.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import type { ActionOutcome, ActionScene } from '../flow-play.ts'
import type { Stage } from '../stage.ts'
import { endVoicemail } from './records.ts'

const MAX_SECONDS = 120
/** A shorter recording is no message [ms]. */
const SHORTEST_MS = 1000
/** Maximum time until the end of a recording is written [ms]. */
const WRITE_LIMIT_MS = 15_000

interface Mailbox {
  queueId: string | null
  userId: string | null
  maxSeconds: number
}

/** The recipient of the message: a queue, a user, or the organisation. */
function mailboxOf({ request }: ActionScene): Mailbox {
  const { node, input } = request
  const id = String(input.target_id ?? '')
  return {
    queueId: node.target?.type === 'queue' ? id : null,
    userId: node.target?.type === 'user' ? id : null,
    maxSeconds: MAX_SECONDS,
  }
}

/** A voicemail node: its script is the greeting. */
export async function voicemail(scene: ActionScene): Promise<ActionOutcome> {
  const { stage, request, language, memo, remember } = scene
  const hasGreeting = (request.node.script ?? '') !== '' || (request.node.asset_id ?? null) !== null
  const speaker = { voice: null, language }
  const asked = hasGreeting ? [] : [phrase('leaveMessage', speaker)]
  await scene.flush([...asked, ...(await recordedNotice(stage, speaker))])
  const outcome = await takeMessage(stage, mailboxOf(scene), memo as string | null, remember)
  return { status: outcome === 'recorded' ? 'succeeded' : 'failed', outcome, output: null }
}

/**
 * Played before the beep if the caller has not consented to recording and the organisation requires it: whoever then speaks knows of the recording.
 */
export async function recordedNotice(stage: Stage, speaker: Speaker): Promise<PlaySource[]> {
  const { db, tenant, call } = stage
  return (await mayRecord(db, tenant, addressOf(call), stage.now().toISOString()))
    ? []
    : [phrase('messageRecorded', speaker)]
}

/**
 * Plays the beep and records the message until a key is pressed, `maxSeconds` have passed, or the caller hangs up. `id`: ID of a message
 * that was being recorded before a restart.
 */
export async function takeMessage(
  stage: Stage,
  mailbox: Mailbox,
  id: string | null,
  remember: ActionScene['remember'],
): Promise<'recorded' | 'empty' | 'failed'> {
  const { legId, call, tenant } = stage
  const voicemailId = id ?? newId('voicemail')
  if (id === null) {
    const row = {
      id: voicemailId,
      call_id: call.id,
      queue_id: mailbox.queueId,
      user_id: mailbox.userId,
      from_address: addressOf(call),
      status: 'recording' as const,
      created: stage.now().toISOString(),
    }
    await remember(voicemailId, { also: trx => forTenant(trx, tenant).insert('voicemails', row) })
  }
  const ready =
    (kind: 'collected' | 'recorded') => (input: { kind: string; collectId?: string; recordingId?: string }) =>
      input.kind === kind && (input.collectId ?? input.recordingId) === voicemailId ? input : null
  const early = id === null ? null : await stage.poll(ready('collected'))
  if (early === null && !(id !== null && stage.resumed?.collecting === true)) {
    const messageMs = mailbox.maxSeconds * 1000
    const encrypted = await encryptsRecordings(stage.db, tenant)
    const started = await stage.request('recording.start', {
      ...{ recordingId: voicemailId, target: { legId }, encrypted, messageMs },
    })
    // A conflict: the recording has run since before a restart.
    if (isFailure(started) && !isStarted(started)) {
      // No report of its end will come.
      const at = stage.now().toISOString()
      await stage.commit({ also: async trx => void (await endVoicemail(trx, voicemailId, null, at)) })
      return 'failed'
    }
    const asked = await stage.request('leg.collect', {
      legId,
      collectId: voicemailId,
      prompts: [{ kind: 'tone', name: 'beep' }],
      maxDigits: 1,
      terminators: '#',
      firstDigitTimeoutMs: messageMs,
      interDigitTimeoutMs: 1000,
      sensitive: false,
      playThrough: true,
    })
    if (isFailure(asked) && asked.failure !== 'not_found') {
      await stage.request('recording.stop', { recordingId: voicemailId })
      return 'failed'
    }
  }
  if (early === null) await stage.until(ready('collected'))
  await stage.request('recording.stop', { recordingId: voicemailId })
  const recorded = await stage.until(
    input => (input.kind === 'recorded' && input.recordingId === voicemailId ? input : null),
    WRITE_LIMIT_MS,
  )
  return (recorded?.durationMs ?? 0) >= SHORTEST_MS ? 'recorded' : 'empty'
}
