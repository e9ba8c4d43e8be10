import Type, { type Static } from 'typebox'
import { mainLeg } from '../calls/legs.ts'
import { keepableCall } from '../calls/running-call.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import type { Context } from '../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listParameters, listQuery, page } from '../http/list.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { EVENT_STREAM, wantsEventStream } from '../http/wire/event-stream.ts'
import type { LiveParts } from '../http/wire/live-answer.ts'
import { idParams, input, oneOf } from '../kernel/schema.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { answererOf } from '../queues/ringing/sides.ts'
import { type AskParts, ask } from './deep/ask.ts'
import {
  answerSchema,
  askBody,
  assignBody,
  dismissBody,
  fieldBody,
  itemBody,
  nextBody,
  startBody,
  utterancesBody,
} from './sessions/command-schema.ts'
import { assign, type Command, carryOut, checkItem, dismiss, nextStep, setField } from './sessions/commands.ts'
import type { HearingParts } from './sessions/hearing.ts'
import { copilotFeedSchema, copilotMessageSchema, toMessage } from './sessions/message-schema.ts'
import { findSession } from './sessions/records.ts'
import { type CopilotSession, copilotSessionSchema, toSession } from './sessions/session-schema.ts'
import { runningBeside, type StartParts, startSession } from './sessions/start.ts'
import { messagesAfter, PAGE, startOf, streamMessages } from './sessions/stream.ts'
import { feedUtterances } from './sessions/test-helper.ts'

const api = operations('Copilot sessions', 'copilot')

interface CopilotSessionDeps extends AskParts, HearingParts {
  live: LiveParts
  starting: StartParts
}
const write = { reply: copilotSessionSchema, errors: [409] as number[] } as const
const keyParams = Type.Object({ ...idParams.properties, key: Type.String({ minLength: 1, maxLength: 64 }) })
const sessionsQuery = input({
  ...listParameters,
  call_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  user_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  status: Type.Optional(oneOf(['running', 'ended'])),
})

export function copilotSessionRoutes(deps: CopilotSessionDeps): Route[] {
  return [...readRoutes(deps), ...commandRoutes(deps), ...helperRoutes(deps)]
}

function readRoutes(deps: CopilotSessionDeps): Route[] {
  const { store } = deps
  const plain = plainOf({ store, table: 'copilot_sessions', api, reply: copilotSessionSchema, toObject: toSession })
  return [
    listRoute(plain, { query: sessionsQuery }),
    retrieveRoute(plain),
    api.get({
      path: '/copilot_sessions/:id/messages',
      id: 'listCopilotMessages',
      summary: "List a copilot's messages",
      query: listQuery,
      reply: listOf(copilotMessageSchema),
      handler: async (context, { params: { id }, query }) => {
        if ((await findSession(store.db, context, id)) === undefined) return missing('copilot_session', id)
        const rows = forTenant(store.db, context).select('copilot_messages').selectAll().where('session_id', '=', id)
        return page(rows, query, `/v1/copilot_sessions/${id}/messages`, toMessage)
      },
    }),
    api.get({
      path: '/copilot_sessions/:id/stream',
      id: 'streamCopilotMessages',
      summary: "Follow a copilot's messages",
      description:
        'With `Accept: text/event-stream`, each message is sent at once as an event of its type, with its ID. `Last-Event-ID` continues after that message, with none lost or repeated. The stream ends with the session, and after 15 min: reconnect then. Without that `Accept`, returns the messages after `Last-Event-ID`, oldest first, 100 at most.',
      reply: copilotFeedSchema,
      streamType: EVENT_STREAM,
      handler: async (context, { params: { id }, headers }) => {
        const last = headers['last-event-id']
        const lastId = Array.isArray(last) ? last[0] : last
        if (wantsEventStream(headers.accept)) return streamMessages(deps, context, id, lastId)
        return messagesBehind(deps, context, id, lastId)
      },
    }),
  ]
}

async function messagesBehind({ store }: CopilotSessionDeps, context: Context, id: string, lastId: string | undefined) {
  if ((await findSession(store.db, context, id)) === undefined) return missing('copilot_session', id)
  const after = startOf(id, lastId)
  if (typeof after !== 'number') return after
  const rows = await messagesAfter(store.db, context, id, after)
  return {
    object: 'copilot_feed' as const,
    livemode: context.livemode,
    session_id: id,
    messages: rows.map(toMessage),
    has_more: rows.length === PAGE,
  }
}

function commandRoutes(deps: CopilotSessionDeps): Route[] {
  const run = <Answer extends object>(context: Context, id: string, command: Command<Answer>) =>
    context.transaction(trx => carryOut(deps, trx, context, id, command))
  return [
    api.post({
      ...write,
      path: '/calls/:id/copilot',
      id: 'startCopilot',
      summary: 'Start a copilot for an agent',
      description:
        'It starts by itself when an agent answers a call whose queue names a profile. 409 if the participant already has one.',
      body: startBody,
      status: 201,
      handler: (context, { params: { id }, body }) => start(deps, context, id, body),
    }),
    api.post({
      ...write,
      path: '/copilot_sessions/:id/ask',
      id: 'askCopilot',
      summary: 'Ask the knowledge base',
      description:
        "Answers from the profile's documents, with the sources. A model phrases it in the profile's tone, if the profile's `deep_path` allows it and it answers in time. The desktop shows it too.",
      body: askBody,
      reply: answerSchema,
      handler: (context, { params: { id }, body }) =>
        ask(deps, context, id, body.question, step => context.transaction(step)),
    }),
    api.post({
      ...write,
      path: '/copilot_sessions/:id/checklist/:key',
      id: 'setCopilotItem',
      summary: 'Check or uncheck an item',
      description: "A person's decision overrides what was heard.",
      params: keyParams,
      body: itemBody,
      handler: (context, { params: { id, key }, body }) => run(context, id, checkItem(key, body)),
    }),
    api.post({
      ...write,
      path: '/copilot_sessions/:id/fields/:key',
      id: 'setCopilotField',
      summary: 'Correct a field',
      description: "A person's value overrides what was heard.",
      params: keyParams,
      body: fieldBody,
      handler: (context, { params: { id, key }, body: { value } }) => run(context, id, setField({ key, value })),
    }),
    api.post({
      ...write,
      path: '/copilot_sessions/:id/script/next',
      id: 'moveCopilotScript',
      summary: 'Go to another step of the script, or to another stage',
      body: nextBody,
      handler: (context, { params: { id }, body }) => run(context, id, nextStep(body)),
    }),
    api.post({
      ...write,
      path: '/copilot_sessions/:id/dismiss',
      id: 'dismissCopilotMessage',
      summary: 'Dismiss a message',
      description: 'For an objection, card, nudge, alert or warning that is current. The message is withdrawn.',
      body: dismissBody,
      handler: (context, { params: { id }, body }) => run(context, id, dismiss(body)),
    }),
    api.post({
      ...write,
      path: '/copilot_sessions/:id/assign',
      id: 'assignCopilotSession',
      summary: 'Show the copilot to another member',
      body: assignBody,
      handler: (context, { params: { id }, body }) => run(context, id, assign(body.user_id)),
    }),
  ]
}

function helperRoutes(deps: CopilotSessionDeps): Route[] {
  return [
    operations('Test helpers', 'test_helpers').post({
      ...write,
      path: '/test_helpers/copilot/:id/utterances',
      id: 'createTestUtterances',
      summary: 'Send an utterance to a copilot',
      description: 'Text as if heard from a party, interim or final, to test an integration without audio.',
      mode: 'test',
      body: utterancesBody,
      handler: (context, { params: { id }, body }) => feedUtterances(deps, context, id, body),
    }),
  ]
}

function start(
  { starting }: CopilotSessionDeps,
  context: Context,
  id: string,
  { profile_id: profileId, participant_id }: Static<typeof startBody>,
): Promise<CopilotSession | Problem> {
  return context.transaction(async (trx): Promise<CopilotSession | Problem> => {
    const call = await keepableCall(trx, context, id)
    if (isProblem(call)) return call
    const profile = await forTenant(trx, context).find('copilot_profiles', profileId)
    if (profile === undefined) return invalid('profile_id', `No such copilot profile: ${profileId}`)
    const leg = await agentOf(trx, context, id, participant_id)
    if ('problem' in leg) return leg
    if ((await runningBeside(trx, context, leg.id)) !== undefined) {
      return conflict('already_running', 'The participant already has a copilot.')
    }
    const ring = leg.ring_id === null ? undefined : await forTenant(trx, context).find('rings', leg.ring_id)
    const userId = ring?.user_id ?? null
    const queueId = ring?.queue_id ?? call.queue_id
    return toSession(await startSession(starting, trx, context, { call, leg, userId, queueId, profile }))
  })
}

/** The agent's leg: the named participant, otherwise the one that answered the call, otherwise the call's own if there is no other. */
async function agentOf(trx: Trx, context: Context, callId: string, id?: string): Promise<ParticipantRow | Problem> {
  if (id !== undefined) {
    const leg = await forTenant(trx, context).find('participants', id)
    const isThere = leg !== undefined && leg.call_id === callId && leg.step !== 'ended'
    return isThere ? leg : invalid('participant_id', `No participant of the call has this ID: ${id}`)
  }
  const answerer = await answererOf(trx, context, callId)
  if (!('problem' in answerer)) return answerer
  return (await mainLeg(trx, context, callId)) ?? conflict('not_connected', 'Nobody is in the call.')
}
