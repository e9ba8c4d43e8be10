import type { EventType } from '../../kernel/events/catalog.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import { countStart } from '../../trunks/call-starts.ts'
import { type CallQuality, toFigures } from '../call-schema.ts'
import type { CallAudio } from '../capture/call-audio.ts'
import type { CallDtmf } from '../dtmf-schema.ts'
import type { CallFax, CallFaxTone } from '../fax-schema.ts'
import type { CallOneWay } from '../one-way-schema.ts'
import { directKeys, passKeys } from '../pci.ts'
import { applyToLeg, endLeg, insertRecording, loadLeg } from '../records.ts'
import type { CallSpeaking } from '../sound/speaking-schema.ts'
import type { PinVerdict } from '../steps/decide.ts'
import { collectId, type Decision, type LegRows, onAnswered, onJoined, onLocked, onPin } from '../steps/decide.ts'
import type { Of } from '../steps/event-handler.ts'
import { follow, wakeWaiting } from '../steps/follow.ts'
import { beginTry, callerLimits, wasRight } from './rooms/pin-tries.ts'

interface LegEventDeps {
  log: { info(fields: object, message: string): void }
  audio: CallAudio
}

/** Events of one party: it answers, presses keys, enters and leaves its room, and hangs up. */
export class LegEvents {
  readonly #deps: LegEventDeps

  constructor(deps: LegEventDeps) {
    this.#deps = deps
  }

  /**
   * Hangs up a leg whose row has ended, because it was not known that it had been or would be dialled. Otherwise somebody would
   * answer and hear nobody forever. False: it is not such a leg.
   */
  async unwanted(trx: Trx, { body: { legId } }: { body: { legId: string } }): Promise<boolean> {
    const leg = await rowBy(trx, 'participants', { id: legId })
    if (leg === undefined || (leg.step !== 'ended' && leg.ring_id !== null)) return false
    const call = await forTenant(trx, tenantOf(leg)).find('calls', leg.call_id)
    if (call === undefined || (leg.step !== 'ended' && call.ended_at === null)) return false
    follow(trx, call.id, async ({ media }) => {
      this.#deps.log.info({ legId }, 'a leg of a call that is over is hung up')
      await media.request('leg.hangup', { legId, reason: leg.leave_reason ?? 'api_hangup' })
    })
    return true
  }

  /** The simple case: one leg's rows change by a pure decision. */
  async change(trx: Trx, legId: string, at: string, decide: (rows: LegRows) => Decision): Promise<void> {
    const rows = await loadLeg(trx, legId)
    if (rows !== null) await applyToLeg(trx, rows, decide(rows), at)
  }

  async answered(trx: Trx, { body, at }: Of<'leg.answered'>): Promise<void> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null || rows.call.answered_at !== null) return
    const decision = onAnswered(rows, at)
    const call = { ...rows.call, ...decision.call }
    // Capture starts with the first word.
    follow(trx, call.id, ({ media }) => this.#deps.audio.start(call, media))
    await applyToLeg(trx, rows, decision, at)
    if (call.record === 1 && call.ended_at === null) await insertRecording(trx, call, at)
  }

  async joined(trx: Trx, { body, at }: Of<'leg.joined'>): Promise<void> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null) return
    const { participant, call } = await applyToLeg(trx, rows, onJoined(rows, body, at), at)
    if (isCalled({ participant, call })) await directKeys(trx, call)
    if (call.room_id !== null && participant.role === 'moderator') wakeWaiting(trx, call.room_id)
  }

  async dtmf(trx: Trx, { body, at }: Of<'leg.dtmf'>): Promise<void> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null) return
    const { call, participant } = rows
    const paused = await trx
      .selectFrom('capture_pauses')
      .select('id')
      .where('call_id', 'in', [call.id, participant.session_call_id ?? call.id])
      .executeTakeFirst()
    // Media masks keys; what we know to be secret is masked here again.
    const masked = body.masked || paused !== undefined || participant.step === 'pin'
    const object: CallDtmf = { object: 'call_dtmf', ...whoOf(rows), digit: masked ? '*' : body.key, masked }
    await appendEvent(trx, tenantOf(call), { type: 'call.dtmf', at, object, callId: call.id })
  }

  /** Another connection carries it now. */
  async routed(trx: Trx, { body, at }: Of<'leg.routed'>): Promise<void> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null || rows.participant.step === 'ended') return
    const { call, participant } = rows
    const tenant = forTenant(trx, tenantOf(call))
    const connection = await tenant.find('connections', body.connectionId)
    if (connection !== undefined) await countStart(trx, connection, Date.parse(at))
    const change = { connection_id: body.connectionId }
    await tenant.change('participants', participant.id, change)
    // If somebody is added to a call, only that leg uses the connection.
    const isOfCall = call.direction === 'outbound' && call.connection_id === participant.connection_id
    if (isOfCall) await tenant.change('calls', call.id, change)
  }

  oneWay(trx: Trx, event: Of<'leg.one_way'>): Promise<void> {
    const { packetsSent: packets_sent, packetsReceived: packets_received } = event.body
    const figures = { packets_sent, packets_received }
    return tell(trx, event, 'call.audio.one_way', (rows): CallOneWay => {
      return { object: 'call_one_way', ...whoOf(rows), ...figures }
    })
  }

  speaking(trx: Trx, event: Of<'leg.speaking'>): Promise<void> {
    const { isSpeaking: speaking } = event.body
    return tell(trx, event, speaking ? 'call.speaking.started' : 'call.speaking.stopped', (rows): CallSpeaking => {
      const { session_call_id } = rows.participant
      return { object: 'call_speaking', ...whoOf(rows), session_call_id, speaking }
    })
  }

  faxTone(trx: Trx, event: Of<'leg.fax_tone'>): Promise<void> {
    const { tone } = event.body
    return tell(trx, event, 'call.fax.detected', (rows): CallFaxTone => {
      return { object: 'call_fax_tone', ...whoOf(rows), tone }
    })
  }

  quality(trx: Trx, event: Of<'leg.quality'>): Promise<void> {
    const { isPoor, quality } = event.body
    return tell(trx, event, isPoor ? 'call.quality.degraded' : 'call.quality.recovered', (rows): CallQuality => {
      return { object: 'call_quality', ...whoOf(rows), ...toFigures(quality) }
    })
  }

  /** Its end is reported as long as one of the two parties is in the call. */
  async fax(trx: Trx, { body, at }: Of<'leg.fax'>): Promise<void> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null) return
    const { call } = rows
    if (call.ended_at !== null) return
    const object: CallFax = {
      object: 'call_fax',
      call_id: call.id,
      livemode: call.livemode === 1,
      participant_ids: [body.legId, body.partnerId],
    }
    const type = body.isRelayed ? 'call.fax.started' : 'call.fax.ended'
    await appendEvent(trx, tenantOf(call), { type, at, object, callId: call.id })
  }

  /** `verdict`: on the digits as a PIN; undefined: they answer another collection. */
  async collected(trx: Trx, { body, at }: Of<'leg.collected'>, verdict: PinVerdict | undefined): Promise<void> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null || verdict === undefined) return
    if (rows.participant.step !== 'pin' || body.collectId !== collectId(rows.participant)) return
    const isLocked = body.digits !== '' && (await this.#isLocked(trx, rows, verdict, at))
    await applyToLeg(trx, rows, isLocked ? onLocked(rows) : onPin(rows, verdict), at)
  }

  /** Whether the caller has had too many wrong guesses, in this call and earlier ones. */
  async #isLocked(trx: Trx, { call, room }: LegRows, verdict: PinVerdict, at: string): Promise<boolean> {
    if (room === null) return false
    const tenant = tenantOf(call)
    const limits = callerLimits(room.id, call.from_address)
    const { lockedS } = await beginTry(trx, tenant, limits, new Date(at))
    if (lockedS === 0 && verdict !== 'wrong') {
      const forgives = verdict === 'moderator' || room.moderator_pin_hash === null
      await wasRight(trx, tenant, limits, { forgives, at: new Date(at) })
    }
    return lockedS > 0
  }

  async ended(trx: Trx, { body, at }: Of<'leg.ended'>): Promise<void> {
    const rows = await loadLeg(trx, body.legId)
    if (rows === null) return
    await endLeg(trx, rows, { ...body, quality: JSON.stringify(body.quality) }, at)
    if (isCalled(rows)) await passKeys(trx, rows.participant)
    const ended = { callId: rows.call.id, legId: body.legId, reason: body.reason }
    afterCommit(trx, () => this.#deps.log.info(ended, 'call ended'))
  }
}

/** Only whom we have called can be a payment line. */
const isCalled = ({ call, participant }: Pick<LegRows, 'call' | 'participant'>): boolean =>
  participant.ring_id !== null || call.direction === 'outbound'

const whoOf = ({ call, participant }: LegRows) => ({
  call_id: call.id,
  participant_id: participant.id,
  livemode: call.livemode === 1,
})

/** An event about a party that has not ended. */
async function tell(
  trx: Trx,
  { body, at }: { body: { legId: string }; at: string },
  type: EventType,
  objectOf: (rows: LegRows) => object,
): Promise<void> {
  const rows = await loadLeg(trx, body.legId)
  if (rows === null || rows.participant.step === 'ended') return
  const { call } = rows
  await appendEvent(trx, tenantOf(call), { type, at, object: objectOf(rows), callId: call.id })
}
