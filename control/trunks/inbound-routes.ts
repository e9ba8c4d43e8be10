import { IANAZone } from 'luxon'
import Type, { type Static } from 'typebox'
import { captureFields, captureOf, changedCapture } from '../capture-settings/settings.ts'
import type { StreamsProblem } from '../capture-settings/streams-problem.ts'
import { CALL_TARGETS } from '../flows/targets.ts'
import { invalid, isProblem, needed, type Problem } from '../http/errors.ts'
import { changeRoute, deleteRoute, listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { referenceProblem } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { apiObject, input, nullable, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { businessHours, changedHours } from '../organisation/hours-schema.ts'
import { answerOf, answersOf, type RouteHours } from './inbound.ts'
import type { InboundRouteRow } from './tables.ts'

const api = operations('Inbound routes', 'numbers')

const pattern = (what: string) =>
  nullable(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[^*\\s]*\\*?$',
      description: `${what}: a number, a user name or a SIP URI; a trailing * makes it a prefix; null: any.`,
    }),
  )

const match = {
  to: pattern('What was dialled'),
  from: pattern('Who calls'),
  connection_id: nullable(Type.String({ maxLength: 200 })),
}
const target = {
  type: oneOf(['room', 'flow', 'assistant', 'queue', 'user', 'park', 'echo', 'announcement'], {
    description: 'park: hears its bidirectional streams, without any music, until it gets another target.',
  }),
  id: nullable(
    Type.String({
      maxLength: 200,
      description: 'Of the target, a published flow for example; null for `park`, `echo` and `announcement`.',
    }),
  ),
}
const priority = Type.Integer({
  minimum: -1000,
  maximum: 1000,
  description: 'The highest wins; among equals, the most specific.',
})

const ANSWER =
  "When the call is answered. `at_once`: before anything else. `when_answered`: when somebody answers; until then the caller hears the ringing tone of its own network. `early_media`: the same, but until then the caller hears our audio or the called party's (183). Targets `user` and `queue` allow all three, `announcement` allows `at_once` and `early_media`, others only `at_once`. Absent or null: `when_answered` for a user, `at_once` for others."
const answerInput = nullable(oneOf(['at_once', 'when_answered', 'early_media'], { description: ANSWER }))

const timezone = Type.String({ minLength: 1, maxLength: 64, description: 'IANA time zone.' })
const hours = { timezone, ...businessHours }
const HOURS = 'When the route applies; at other times the next route does. Calls that it has taken go on. Null: always.'

const inboundRouteSchema = apiObject('inbound_route', {
  match: Type.Object(match),
  target: Type.Object({
    ...target,
    type: Type.String({ description: 'room, flow, assistant, queue, user, park, echo, announcement' }),
  }),
  hours: nullable(Type.Object(hours, { description: HOURS })),
  priority: Type.Integer(),
  answer: Type.String({ description: `at_once, when_answered, early_media. ${ANSWER}` }),
  ...captureFields,
  created: timestamp(),
  updated: timestamp(),
})

const changeBody = partialInput({
  match: partialInput(match),
  target: partialInput(target),
  hours: nullable(partialInput(hours)),
  priority,
  answer: answerInput,
  ...captureFields,
})
const createBody = input({
  ...changeBody.properties,
  match: partialInput(match),
  target: input({ type: target.type, id: Type.Optional(target.id) }),
})

type Columns = Pick<
  InboundRouteRow,
  | 'match_to'
  | 'match_from'
  | 'match_connection_id'
  | 'target'
  | 'target_id'
  | 'hours'
  | 'priority'
  | 'answer'
  | 'capture'
>

export function inboundRouteRoutes(deps: { store: Store; now: () => Date; streamsProblem: StreamsProblem }): Route[] {
  const { store, now } = deps
  const plain = plainOf({ store, table: 'inbound_routes', api, reply: inboundRouteSchema, toObject: toInboundRoute })
  return [
    api.post({
      path: '/inbound_routes',
      id: 'createInboundRoute',
      summary: 'Route inbound calls to a target',
      body: createBody,
      status: 201,
      reply: inboundRouteSchema,
      handler: async (context, { body }) =>
        (await deps.streamsProblem(body.streams)) ??
        context.transaction(async trx => {
          const columns = await columnsOf(trx, context, EMPTY, body)
          if (isProblem(columns)) return columns
          const at = now().toISOString()
          const row = { ...ownedBy(context), id: newId('inbound_route'), ...columns, created: at, updated: at }
          await forTenant(trx, context).insert('inbound_routes', row)
          return toInboundRoute(row)
        }),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    changeRoute(
      plain,
      changeBody,
      async (context, id, body) =>
        (await deps.streamsProblem(body.streams)) ??
        context.withRow('inbound_routes', 'inbound_route', id, async (trx, row) => {
          const columns = await columnsOf(trx, context, row, body)
          if (isProblem(columns)) return columns
          const change = { ...columns, updated: now().toISOString() }
          await forTenant(trx, context).change('inbound_routes', row.id, change)
          return toInboundRoute({ ...row, ...change })
        }),
    ),
    deleteRoute(plain, { description: 'Its calls are not affected.' }),
  ]
}

const EMPTY: Columns = {
  match_to: null,
  match_from: null,
  match_connection_id: null,
  target: 'echo',
  target_id: null,
  hours: null,
  priority: 0,
  answer: null,
  capture: null,
}

type Change = Static<typeof changeBody>

/** The columns of a change, or why it is refused. */
async function columnsOf(db: Db, tenant: Tenant, row: Columns, body: Change): Promise<Columns | Problem> {
  const hours = hoursOf(row, body.hours)
  if (isProblem(hours)) return hours
  const columns = { ...merge(row, body), hours: hours === null ? null : JSON.stringify(hours) }
  return (await columnsProblem(db, tenant, columns, row)) ?? columns
}

function hoursOf({ hours }: Columns, sent: Change['hours']): RouteHours | null | Problem {
  const stored: RouteHours | null = hours === null ? null : JSON.parse(hours)
  if (sent === undefined) return stored
  const changed = changedHours(stored, sent, 'hours')
  if (isProblem(changed) || changed === null) return changed
  if (changed.timezone === undefined) return needed('hours.timezone', 'Hours need a time zone.')
  if (IANAZone.isValidZone(changed.timezone)) return changed
  return invalid('hours.timezone', `There is no time zone ${changed.timezone}.`)
}

/** Merges nested objects with the stored values; a new type of target clears the old ID. */
function merge(row: Columns, body: Omit<Change, 'hours'>): Columns {
  const { match: matched = {}, target: aim = {} } = body
  const type = aim.type ?? row.target
  const keptId = type === row.target ? row.target_id : null
  return {
    match_to: matched.to === undefined ? row.match_to : matched.to,
    match_from: matched.from === undefined ? row.match_from : matched.from,
    match_connection_id: matched.connection_id === undefined ? row.match_connection_id : matched.connection_id,
    target: type,
    target_id: aim.id === undefined ? keptId : aim.id,
    hours: row.hours,
    priority: body.priority ?? row.priority,
    answer: body.answer === undefined ? row.answer : body.answer,
    capture: changedCapture(row.capture, body),
  }
}

/** Why a route is invalid. The target that it had `before` is not checked again. */
async function columnsProblem(db: Db, tenant: Tenant, columns: Columns, before: Columns): Promise<Problem | null> {
  const { target: type, target_id: id, match_connection_id: connectionId, answer } = columns
  if (type in CALL_TARGETS) {
    const exists = CALL_TARGETS[type as keyof typeof CALL_TARGETS]
    if (id === null) return needed('target.id', `A route to a ${type} needs its ID.`)
    const isNew = id !== before.target_id
    const unknown = isNew ? await referenceProblem(db, tenant, [{ param: 'target.id', id, kind: type, exists }]) : null
    if (unknown !== null) return unknown
  } else if (id !== null) {
    return invalid('target.id', `A target of type ${type} has no ID.`)
  }
  if (answer !== null && !answersOf(type).includes(answer)) {
    return invalid('answer', `A route to ${type} cannot have ${answer}: ${answersOf(type).join(', ')}.`)
  }
  if (connectionId !== null && (await forTenant(db, tenant).find('connections', connectionId)) === undefined) {
    return invalid('match.connection_id', `No such connection: ${connectionId}`)
  }
  return null
}

const toInboundRoute = (row: InboundRouteRow): Static<typeof inboundRouteSchema> =>
  showRow(inboundRouteSchema, row, {
    match: { to: row.match_to, from: row.match_from, connection_id: row.match_connection_id },
    target: { type: row.target, id: row.target_id },
    answer: answerOf(row),
    ...captureOf(row.capture),
  })
