import Type, { type Static } from 'typebox'
import { type Call, callSchema, toCall } from '../calls/call-schema.ts'
import { CALL_TARGETS } from '../flows/targets.ts'
import type { Context } from '../http/context.ts'
import { invalid, isProblem, missing, needed, type Problem } from '../http/errors.ts'
import { referenceProblem } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { input, oneOf } from '../kernel/schema.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { CallCentre } from './call-centre.ts'
import {
  endConsultation,
  type Handling,
  hold,
  supervise,
  transferAttended,
  transferBlind,
  unhold,
} from './call-handling.ts'
import type { Target } from './targets.ts'

const api = operations('Calls', 'calls')

interface CallHandlingDeps {
  store: Store
  media: MediaPort
  centre: Pick<CallCentre, 'handle' | 'changeSupervision'>
}

const ADDRESS = '^(\\+[1-9][0-9]{1,14}|sip:[^\\s<>"]{1,300})$'
const id = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }))

const transferBody = input({
  type: Type.Optional(
    oneOf(['blind', 'attended'], {
      default: 'blind',
      description: 'attended: the target is consulted first, while the caller is on hold; for `to` and `user_id`.',
    }),
  ),
  to: Type.Optional(
    Type.String({ pattern: ADDRESS, description: 'A number in E.164, or a SIP URI. Exactly one target.' }),
  ),
  user_id: id('A member: all their devices ring.'),
  queue_id: id('Gets in line.'),
  assistant_id: id('Talks with this assistant.'),
  flow_id: id('Is led by this flow.'),
  room_id: id('Joins this conference room.'),
})

const superviseBody = input({
  mode: oneOf(['monitor', 'whisper', 'barge', 'stop'], {
    description:
      'monitor: nobody hears the supervisor; whisper: the agent does; barge: everybody does; stop: supervision ends. In a card-payment pause, monitor and whisper hear silence.',
  }),
  user_id: Type.String({ maxLength: 200, description: 'The supervisor: all their devices ring.' }),
})

const common = { reply: callSchema, errors: [409] as number[] } as const

export function callHandlingRoutes(deps: CallHandlingDeps): Route[] {
  const act = (context: Context, callId: string, what: (handling: Handling) => Promise<Problem | null>) =>
    handle(deps, context, callId, what)
  return [
    api.post({
      ...common,
      path: '/calls/:id/hold',
      id: 'holdCall',
      summary: 'Put a call on hold',
      description:
        'The caller hears music, and can neither hear nor be heard by others. 409 if it is already on hold, talks with nobody, or is in a conference room (`in_room`), where the room holds its participant.',
      handler: (context, { params }) => act(context, params.id, handling => hold(handling, true)),
    }),
    api.post({
      ...common,
      path: '/calls/:id/unhold',
      id: 'unholdCall',
      summary: 'Take a call off hold',
      description:
        'Whoever put it there. 409 `not_held` if nobody did, or only an outside caller by their own phone: they alone can end that, and the call stays `held`.',
      handler: (context, { params }) => act(context, params.id, unhold),
    }),
    api.post({
      ...common,
      path: '/calls/:id/transfer',
      id: 'transferCall',
      summary: 'Transfer a call',
      description:
        'The call stays the same object. Whoever talked with the caller becomes free. 409 if the call is not in progress, is in a conference room (`in_room`), or the member cannot be rung.',
      body: transferBody,
      handler: (context, { params, body }) => transfer(deps, context, params.id, body),
    }),
    api.post({
      ...common,
      path: '/calls/:id/transfer/complete',
      id: 'completeTransfer',
      summary: 'Complete an attended transfer',
      description:
        'Connects the caller with the consulted party. If the agent hangs up, the transfer is completed too.',
      handler: (context, { params }) => act(context, params.id, handling => endConsultation(handling, 'complete')),
    }),
    api.post({
      ...common,
      path: '/calls/:id/transfer/cancel',
      id: 'cancelTransfer',
      summary: 'Cancel an attended transfer',
      description: 'The caller talks with the agent again.',
      handler: (context, { params }) => act(context, params.id, handling => endConsultation(handling, 'cancel')),
    }),
    api.post({
      ...common,
      path: '/calls/:id/supervise',
      id: 'superviseCall',
      summary: 'Supervise a call',
      description:
        "Rings the supervisor and adds them to the call. A repeated request with another mode changes the mode. The recording of the caller's audio is not affected. 409 with `details.reason` `in_room` for a call in a conference room: dial the supervisor in.",
      body: superviseBody,
      handler: async (context, { params, body }) => {
        const { mode, user_id: userId } = body
        const lost = await lostCall(deps, context, params.id)
        if (lost !== null) return lost
        const named = [{ param: 'user_id', id: userId, kind: 'user', exists: CALL_TARGETS.user }]
        const wrong = await referenceProblem(deps.store.db, context, named)
        if (wrong !== null) return wrong
        let ring: Awaited<ReturnType<typeof supervise>> = null
        const answer = await act(context, params.id, async handling => {
          ring = await supervise(handling, { mode, userId })
          return isProblem(ring) ? ring : null
        })
        if (ring !== null && !isProblem(ring)) await deps.centre.changeSupervision(deps.media, ring)
        return answer
      },
    }),
  ]
}

/** 404 for a missing call takes precedence over errors in the body. */
const lostCall = async ({ store }: CallHandlingDeps, context: Context, id: string): Promise<Problem | null> =>
  (await forTenant(store.db, context).find('calls', id)) === undefined ? missing('call', id) : null

async function handle(
  { store, centre }: CallHandlingDeps,
  context: Context,
  callId: string,
  act: (handling: Handling) => Promise<Problem | null>,
): Promise<Call | Problem> {
  const refused = await centre.handle({ tenant: context, callId, request: context }, async handling => {
    const failure = await act(handling)
    if (failure !== null) return failure
    const changed = await retrieve(handling.trx, context, callId)
    if (!isProblem(changed)) await context.keep(handling.trx, changed)
    return null
  })
  return refused ?? retrieve(store.db, context, callId)
}

async function retrieve(db: Db, context: Context, callId: string): Promise<Call | Problem> {
  const scoped = forTenant(db, context)
  const call = await scoped.find('calls', callId)
  if (call === undefined) return missing('call', callId)
  const legs = await scoped.select('participants').selectAll().where('call_id', '=', callId).orderBy('id').execute()
  return toCall(call, legs)
}

async function transfer(
  deps: CallHandlingDeps,
  context: Context,
  callId: string,
  body: Static<typeof transferBody>,
): Promise<Call | Problem> {
  const target = targetOf(body)
  if (isProblem(target)) return target
  const lost = await lostCall(deps, context, callId)
  if (lost !== null) return lost
  const exists = CALL_TARGETS[target.type as keyof typeof CALL_TARGETS]
  const named = { param: `${target.type}_id`, id: 'id' in target ? target.id : null, kind: target.type, exists }
  const wrong = await referenceProblem(deps.store.db, context, [named])
  if (wrong !== null) return wrong
  if (body.type !== 'attended') return handle(deps, context, callId, handling => transferBlind(handling, target))
  if (target.type !== 'user' && target.type !== 'number') {
    return invalid('type', 'An attended transfer needs `to` or `user_id`.')
  }
  return handle(deps, context, callId, handling => transferAttended(handling, target))
}

/** The one target of a body. */
function targetOf(body: Static<typeof transferBody>): Target | Problem {
  const targets: Target[] = [
    ...(body.to === undefined ? [] : [{ type: 'number' as const, to: body.to }]),
    ...(['user', 'queue', 'assistant', 'flow', 'room'] as const).flatMap(type => {
      const named = body[`${type}_id`]
      return named === undefined ? [] : [{ type, id: named }]
    }),
  ]
  const [target] = targets
  if (target === undefined) return needed('to', 'A transfer needs a target.')
  return targets.length === 1 ? target : invalid('to', 'One target, please.')
}
