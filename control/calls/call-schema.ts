import Type, { type Static } from 'typebox'
import type { Quality } from '../../media/protocol.ts'
import { apiObject, metadata, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { type CallIdentity, callIdentity, type RedirectedFrom, redirectedFrom } from '../trunks/caller-identity.ts'
import { ANSWERED_BY, answeringSchema, shownAnswering } from './answering/schema.ts'
import { cause, toCause } from './cause-schema.ts'
import { durationOf } from './duration.ts'
import { CALL_STATUSES, type CallRow, type ParticipantRow } from './tables.ts'

const ABSENT = 'Null: the call is older than this figure.'

const legFigures = {
  codec: nullable(Type.String()),
  packets_received: Type.Integer(),
  packets_sent: Type.Integer(),
  packets_lost: Type.Integer({ description: 'Packets that never arrived.' }),
  packets_late: nullable(Type.Integer({ description: `Packets that arrived too late to be played. ${ABSENT}` })),
  loss_pct: Type.Number({ description: 'Share of the expected packets.' }),
  concealed_pct: nullable(Type.Number({ description: `Share of the played frames that were concealed. ${ABSENT}` })),
  burst_ratio: nullable(
    Type.Number({
      description: `Burst ratio: mean length of loss bursts relative to random loss, ITU-T G.107 §7.5. ${ABSENT}`,
    }),
  ),
  jitter_ms: Type.Number({ description: 'Interarrival jitter, RFC 3550 §6.4.1.' }),
  round_trip_ms: nullable(Type.Number()),
  delay_ms: nullable(
    Type.Number({
      description: `From the far end to here, as far as it is known: half of the round trip, plus the jitter buffer and one packet. ${ABSENT}`,
    }),
  ),
  clock_drift_ppm: nullable(
    Type.Integer({ description: "How much faster than ours the sender's clock runs; null: not known." }),
  ),
  mos: nullable(
    Type.Number({
      description:
        'Estimate by the E-model (ITU-T G.107), 1 to 4.5, from the delay and from packets that were lost or late and not recovered. All codecs are rated on the narrowband scale. Null: no audio was received.',
    }),
  ),
}

const legQuality = Type.Object({ participant_id: Type.String(), ...legFigures })

/** A party's audio has become poor, or has recovered, as the events `call.quality.degraded` and `call.quality.recovered` show it. */
export const callQualitySchema = Type.Object({
  object: Type.Literal('call_quality', { description: 'Figures of the call so far. Judged: the last 10 s.' }),
  call_id: Type.String(),
  participant_id: Type.String(),
  livemode: Type.Boolean(),
  ...legFigures,
})

export type CallQuality = Static<typeof callQualitySchema>

export const callSchema = apiObject('call', {
  kind: Type.String({ description: 'party, or conference for the session of a conference room.' }),
  status: Type.String({ description: CALL_STATUSES.join(', ') }),
  direction: Type.String({ description: 'inbound, outbound' }),
  to: Type.String(),
  from: Type.String(),
  room_id: nullable(Type.String()),
  queue_id: nullable(Type.String({ description: 'The queue where it waits, or through which it came.' })),
  user_id: nullable(Type.String({ description: 'The member who has it, or had it last.' })),
  connection_id: nullable(Type.String()),
  identity: nullable(callIdentity),
  redirected_from: Type.Array(redirectedFrom, {
    description:
      'Whom an incoming call was for before it was diverted to us (Diversion, History-Info), the latest first.',
  }),
  answering_machine_detection: nullable(answeringSchema),
  answered_by: nullable(
    oneOf([...ANSWERED_BY], {
      description: 'Who answered a call with `answering_machine_detection`; null: not known yet, or no detection.',
    }),
  ),
  record: Type.Boolean(),
  ended_reason: nullable(Type.String()),
  sip_code: nullable(Type.Integer()),
  cause: nullable(cause),
  quality: Type.Array(legQuality, { description: 'One entry for each leg.' }),
  duration_ms: nullable(Type.Integer({ description: 'From the answer to the end; null before the end.' })),
  metadata,
  created: timestamp(),
  ringing_at: nullable(timestamp()),
  answered_at: nullable(timestamp()),
  ended_at: nullable(timestamp()),
})

export type Call = Static<typeof callSchema>

/** Of a leg. Rows stored before a figure existed lack it. */
export const toFigures = (quality: Quality) => ({
  codec: quality.codec,
  packets_received: quality.packetsReceived,
  packets_sent: quality.packetsSent,
  packets_lost: quality.packetsLost,
  packets_late: quality.packetsLate ?? null,
  loss_pct: quality.lossPct,
  concealed_pct: quality.concealedPct ?? null,
  burst_ratio: quality.burstRatio ?? null,
  jitter_ms: quality.jitterMs,
  round_trip_ms: quality.roundTripMs,
  delay_ms: quality.delayMs ?? null,
  clock_drift_ppm: quality.driftPpm ?? null,
  mos: quality.mos,
})

const toQuality = (participantId: string, quality: Quality): Static<typeof legQuality> => ({
  participant_id: participantId,
  ...toFigures(quality),
})

/** A call as the API and events show it. `live`: media's figures for legs that are still there. */
export function toCall(
  row: CallRow,
  legs: readonly Pick<ParticipantRow, 'id' | 'quality'>[],
  live?: ReadonlyMap<string, Quality>,
): Call {
  const quality = legs.flatMap(leg => {
    const known = live?.get(leg.id) ?? (leg.quality === null ? null : (JSON.parse(leg.quality) as Quality))
    return known === null ? [] : [toQuality(leg.id, known)]
  })
  return {
    id: row.id,
    object: 'call',
    livemode: row.livemode === 1,
    kind: row.kind,
    status: row.status,
    direction: row.direction,
    to: row.to_address,
    from: row.from_address,
    room_id: row.room_id,
    queue_id: row.queue_id,
    user_id: row.user_id,
    connection_id: row.connection_id,
    identity: row.identity === null ? null : (JSON.parse(row.identity) as CallIdentity),
    redirected_from: JSON.parse(row.redirected_from) as RedirectedFrom[],
    answering_machine_detection: shownAnswering(row),
    answered_by: row.answered_by,
    record: row.record === 1,
    ended_reason: row.ended_reason,
    sip_code: row.sip_code,
    cause: toCause(row.cause),
    quality,
    duration_ms: durationMs(row),
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    created: row.created,
    ringing_at: row.ringing_at,
    answered_at: row.answered_at,
    ended_at: row.ended_at,
  }
}

function durationMs(row: CallRow): number | null {
  if (row.ended_at === null) return null
  return durationOf(row, row.ended_at)
}
