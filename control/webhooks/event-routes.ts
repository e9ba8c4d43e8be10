import Type from 'typebox'
import type { Context } from '../http/context.ts'
import { missing } from '../http/errors.ts'
import { listOf, listParameters, listQuery, page, timeRange, within } from '../http/list.ts'
import { retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { renderEvent } from '../http/versions/translate.ts'
import { kindOfEvent } from '../kernel/events/catalog.ts'
import { eventSchema, toEvent } from '../kernel/events/event.ts'
import { input } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import type { EventRow } from '../kernel/store/tables.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { noSuchType } from './live-events.ts'

const api = operations('Events', 'events')

const RECORDED =
  'An upper bound leaves out what was recorded more than a day after it happened, as after a long outage.'
const IDS = { kind: 'event', column: 'id' } as const

/** Shows events in the API version of the request. */
const shownTo =
  ({ apiVersion }: Context) =>
  (row: EventRow) =>
    renderEvent(toEvent(row), apiVersion)

export function eventRoutes(deps: { store: Store }): Route[] {
  const { store } = deps
  return [
    api.get({
      path: '/events',
      id: 'listEvents',
      summary: 'List events',
      query: input({
        ...listParameters,
        type: Type.Optional(Type.String({ maxLength: 100, description: 'Only events of this type.' })),
        object_id: Type.Optional(
          Type.String({
            maxLength: 200,
            description: "Only events whose `data.object` has this ID; for presence, the user's ID.",
          }),
        ),
        timestamp: timeRange('events that happened', 'timestamp', RECORDED),
      }),
      reply: listOf(eventSchema()),
      handler: async (context, { query }) => {
        if (query.type !== undefined && kindOfEvent(query.type) === undefined) return noSuchType(query.type, 'type')
        // One of them finds its events by an index; the other may look through very many of these.
        const db = query.type === undefined || query.object_id === undefined ? store.db : store.reads
        let rows = forTenant(db, context).select('events').selectAll()
        if (query.type !== undefined) rows = rows.where('type', '=', query.type)
        if (query.object_id !== undefined) rows = rows.where('object_id', '=', query.object_id)
        const found = within(rows, { column: 'timestamp', range: query.timestamp, ids: IDS })
        return page(found, query, '/v1/events', shownTo(context))
      },
    }),
    retrieveRoute({
      ...{ store, table: 'events', object: 'event', path: '/events', api },
      reply: eventSchema(),
      toObject: (row, context) => shownTo(context)(row),
    }),
    operations('Calls', 'calls').get({
      path: '/calls/:id/events',
      id: 'listCallEvents',
      summary: "List a call's events",
      description: 'Including those of its streams, pauses and recording.',
      query: listQuery,
      reply: listOf(eventSchema()),
      handler: async (context, { params, query }) => {
        const tables = forTenant(store.db, context)
        // A call that a client token names can be followed before it starts (specification, "POST /client_tokens").
        const found = (await tables.find('calls', params.id)) ?? (await tables.find('client_tokens', params.id))
        if (found === undefined) return missing('call', params.id)
        const rows = tables.select('events').selectAll().where('call_id', '=', params.id)
        return page(rows, query, `/v1/calls/${params.id}/events`, shownTo(context))
      },
    }),
  ]
}
