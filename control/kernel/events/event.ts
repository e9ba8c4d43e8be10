import Type, { type Static } from 'typebox'
import { jsonObject, nullable, timestamp } from '../schema.ts'
import type { EventRow } from '../store/tables.ts'
import { eventTypes } from './catalog.ts'

/** Also the payload of webhooks. */
export const eventSchema = () =>
  Type.Object({
    id: Type.String(),
    object: Type.Literal('event'),
    type: Type.String({ description: eventTypes().join(', ') }),
    timestamp: timestamp('When it happened.'),
    livemode: Type.Boolean(),
    api_version: Type.String(),
    data: Type.Object({
      object: jsonObject('As it is after the event.'),
      previous_attributes: Type.Optional(jsonObject('What was different before, for events of a change.')),
    }),
    request: nullable(Type.Object({ id: Type.String(), idempotency_key: nullable(Type.String()) })),
  })

/** An event as the API and webhooks show it. */
export const toEvent = (row: EventRow): Static<ReturnType<typeof eventSchema>> => ({
  ...headOf(row),
  data: JSON.parse(row.data),
  request: requestOf(row),
})

/** The same as JSON text; what the event is about is not parsed for it. */
export const eventText = (row: EventRow): string =>
  `${JSON.stringify(headOf(row)).slice(0, -1)},"data":${row.data},"request":${JSON.stringify(requestOf(row))}}`

const headOf = (row: EventRow) => ({
  id: row.id,
  object: 'event' as const,
  type: row.type,
  timestamp: row.timestamp,
  livemode: row.livemode === 1,
  api_version: row.api_version,
})

const requestOf = (row: EventRow) =>
  row.request_id === null ? null : { id: row.request_id, idempotency_key: row.idempotency_key }
