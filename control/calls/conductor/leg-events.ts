import { appendEvent } from '../../kernel/events/log.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { CallAudio } from '../capture/call-audio.ts'
import type { CallDtmf } from '../dtmf-schema.ts'
import type { CallOneWay } from '../one-way-schema.ts'
import { applyToLeg, endLeg, insertRecording, loadLeg, tenantOf } from '../records.ts'
import type { Conducting } from './call-centre-port.ts'
import type { PinVerdict } from './decide.ts'
import { collectId, type Decision, type LegRows, onAnswered, onJoined, onLocked, onPin } from './decide.ts'
import type { FollowUp, Of } from './event-handler.ts'
import { beginTry, callerLimits, wasRight } from './rooms/pin-tries.ts'

export interface LegEventDeps {
  log: { info(fields: object, message: string): void }
  conducting: Pick<Conducting, 'drive' | 'driveWaiting'>
  audio: CallAudio
}

/** What happens to one party: it answers, presses keys, enters and leaves its room, and goes. */
export class LegEvents {
  readonly #deps: LegEventDeps

  constructor(deps: LegEventDeps) {
    this.#deps = deps
  }

  /**
   * A leg whose row says that it is over, since nobody knew that it was dialled, or would be: it is hung up, lest somebody picks up
   * and hears nobody for ever.
   */
  async unwanted(trx: Trx, { body: { legId } }: { body: { legId: string } }): Promise<FollowUp | null> {
    const leg = await trx
      .selectFrom('participants')
      .innerJoin('calls', 'calls.id', 'participants.call_id')
      .select(['participants.step', 'participants.leave_reason', 'participants.ring_id', 'calls.ended_at'])
      .where('participants.id', '=', legId)
      .executeTakeFirst()
    if (leg === undefined || (leg.step !== 'ended' && (leg.ring_id !== null || leg.ended_at === null))) return null
    return async media => {
      this.#deps.log.info({ legId }, 'a leg of a call that is over is hung up')
      await media.request('leg.hangup', { legId, reason: leg.leave_reason ?? 'api_hangup' })
    }
  }

  /** The plain case: one leg's rows change by a pure decision. */
  async change(trx: Trx, legId: string, at: string, decide: (rows: LegRows) => Decision): Promise<null> {
    const rows = await loadLeg(trx, legId)
    if (rows !== null) await applyToLeg(trx, rows, decide(rows), at)
    return null
  }

  async answered(trx: Trx, { body, at }: Of<'leg.answered'>): Promise<FollowUp | null> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null || rows.call.answered_at !== null) return null
    const { call } = await applyToLeg(trx, rows, onAnswered(rows, at), at)
    if (call.record === 1 && call.ended_at === null) await insertRecording(trx, call, at)
    const { audio, conducting } = this.#deps
    return async media => {
      await audio.start(call, media)
      await conducting.drive(body.legId, media)
    }
  }

  async joined(trx: Trx, { body, at }: Of<'leg.joined'>): Promise<FollowUp | null> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null) return null
    const { participant, call } = await applyToLeg(trx, rows, onJoined(rows, body, at), at)
    const roomId = call.room_id
    if (roomId === null || participant.role !== 'moderator') return null
    return media => this.#deps.conducting.driveWaiting(roomId, media)
  }

  async dtmf(trx: Trx, { body, at }: Of<'leg.dtmf'>): Promise<null> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null) return null
    const { call, participant } = rows
    const paused = await trx
      .selectFrom('capture_pauses')
      .select('id')
      .where('call_id', 'in', [call.id, participant.session_call_id ?? call.id])
      .executeTakeFirst()
    // Media masks; what we know ourselves to be a secret is masked here once more.
    const masked = body.masked || paused !== undefined || participant.step === 'pin'
    const object: CallDtmf = {
      object: 'call_dtmf',
      call_id: call.id,
      participant_id: participant.id,
      livemode: call.livemode === 1,
      digit: masked ? '*' : body.key,
      masked,
    }
    await appendEvent(trx, tenantOf(call), { type: 'call.dtmf', at, object, callId: call.id })
    return null
  }

  async oneWay(trx: Trx, { body, at }: Of<'leg.one_way'>): Promise<null> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null || rows.participant.step === 'ended') return null
    const { call } = rows
    const object: CallOneWay = {
      object: 'call_one_way',
      call_id: call.id,
      participant_id: body.legId,
      livemode: call.livemode === 1,
      packets_sent: body.packetsSent,
      packets_received: body.packetsReceived,
    }
    await appendEvent(trx, tenantOf(call), { type: 'call.audio.one_way', at, object, callId: call.id })
    return null
  }

  /** `verdict`: of the digits as a PIN; undefined: they are an answer to a collection that was none of a PIN. */
  async collected(
    trx: Trx,
    { body, at }: Of<'leg.collected'>,
    verdict: PinVerdict | undefined,
  ): Promise<FollowUp | null> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null || verdict === undefined) return null
    if (rows.participant.step !== 'pin' || body.collectId !== collectId(rows.participant)) return null
    const isLocked = body.digits !== '' && (await this.#isLocked(trx, rows, verdict, at))
    await applyToLeg(trx, rows, isLocked ? onLocked(rows) : onPin(rows, verdict), at)
    return media => this.#deps.conducting.drive(body.legId, media)
  }

  /** Whether the caller has guessed too often, in this call and in those before it. */
  async #isLocked(trx: Trx, { call, room }: LegRows, verdict: PinVerdict, at: string): Promise<boolean> {
    if (room === null) return false
    const tenant = tenantOf(call)
    const limits = callerLimits(room.id, call.from_address)
    const { lockedS } = await beginTry(trx, tenant, limits, new Date(at))
    if (lockedS === 0 && verdict !== 'wrong') {
      await wasRight(trx, tenant, limits, { forgives: verdict === 'moderator' || room.moderator_pin_hash === null })
    }
    return lockedS > 0
  }

  async ended(trx: Trx, { body, at }: Of<'leg.ended'>): Promise<FollowUp | null> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null) return null
    const { reason, sipCode, durationMs } = body
    await endLeg(trx, rows, { reason, sipCode, quality: JSON.stringify(body.quality), durationMs }, at)
    return async () => {
      this.#deps.log.info({ callId: rows.call.id, legId: body.legId, reason: body.reason }, 'call ended')
    }
  }
}
