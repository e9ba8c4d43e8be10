import Type, { type Static } from 'typebox'
import type { Quality } from '../../media/protocol.ts'
import { metadata, nullable, timestamp } from '../kernel/schema.ts'
import { durationOf } from './duration.ts'
import type { CallRow, ParticipantRow } from './tables.ts'

export const CALL_STATUSES = [
  'queued',
  'ringing',
  'in_progress',
  'held',
  'completed',
  'busy',
  'no_answer',
  'failed',
  'cancelled',
] as const

const legQuality = Type.Object({
  participant_id: Type.String(),
  codec: nullable(Type.String()),
  packets_received: Type.Integer(),
  packets_sent: Type.Integer(),
  packets_lost: Type.Integer(),
  loss_pct: Type.Number(),
  jitter_ms: Type.Number({ description: 'Interarrival jitter, RFC 3550 §6.4.1.' }),
  round_trip_ms: nullable(Type.Number()),
  mos: nullable(Type.Number({ description: 'Estimate by the E-model, 1 to 4.5; null: nothing was heard.' })),
})

export const callSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('call'),
  livemode: Type.Boolean(),
  kind: Type.String({ description: 'party, or conference for the session of a conference room.' }),
  status: Type.String({ description: CALL_STATUSES.join(', ') }),
  direction: Type.String({ description: 'inbound, outbound' }),
  to: Type.String(),
  from: Type.String(),
  room_id: nullable(Type.String()),
  queue_id: nullable(Type.String({ description: 'The queue that it waits in, or came by.' })),
  user_id: nullable(Type.String({ description: 'The member who has it, or had it last.' })),
  connection_id: nullable(Type.String()),
  record: Type.Boolean(),
  ended_reason: nullable(Type.String()),
  sip_code: nullable(Type.Integer()),
  quality: Type.Array(legQuality, { description: 'One entry for each leg.' }),
  duration_ms: nullable(Type.Integer({ description: 'From the answer to the end; null before the end.' })),
  metadata,
  created: timestamp(),
  ringing_at: nullable(timestamp()),
  answered_at: nullable(timestamp()),
  ended_at: nullable(timestamp()),
})

export type Call = Static<typeof callSchema>

export const toQuality = (participantId: string, quality: Quality): Static<typeof legQuality> => ({
  participant_id: participantId,
  codec: quality.codec,
  packets_received: quality.packetsReceived,
  packets_sent: quality.packetsSent,
  packets_lost: quality.packetsLost,
  loss_pct: quality.lossPct,
  jitter_ms: quality.jitterMs,
  round_trip_ms: quality.roundTripMs,
  mos: quality.mos,
})

/** A call as the API and events show it. `live`: what media says of legs that are still there. */
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
    record: row.record === 1,
    ended_reason: row.ended_reason,
    sip_code: row.sip_code,
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
