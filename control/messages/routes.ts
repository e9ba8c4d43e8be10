import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, invalid, type Problem } from '../http/errors.ts'
import { deleteRoute, listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { referenceProblem } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { insertText, removeMessage } from './delivery.ts'
import { type MessageDeps, phonesOf, senderUri } from './from-phone.ts'
import { MAX_TEXT_BYTES, type Message, messageBody, messageSchema, toMessage } from './schema.ts'

const api = operations('Messages', 'agents')

export function messageRoutes(deps: MessageDeps): Route[] {
  const plain = plainOf({ store: deps.store, table: 'messages', api, reply: messageSchema, toObject: toMessage })
  return [
    api.post({
      path: '/messages',
      id: 'createMessage',
      summary: "Send a text to a member's phones",
      description:
        'By SIP (RFC 3428), to each SIP phone that the member has registered. The first phone that accepts it makes it `delivered`. 409 if there is none.',
      body: messageBody,
      status: 201,
      reply: messageSchema,
      errors: [409],
      handler: (context, { body }) => send(deps, context, body),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    deleteRoute(plain, {
      description: 'Also deletes the events that quote it.',
      before: (trx, context, { id }) => removeMessage(trx, context, id),
    }),
  ]
}

async function send(
  deps: MessageDeps,
  context: Context,
  { to_user_id, from_user_id, text }: Static<typeof messageBody>,
): Promise<Message | Problem> {
  const { store, now } = deps
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES) {
    return invalid('text', `The text is longer than ${MAX_TEXT_BYTES} bytes.`)
  }
  const exists = async (_db: unknown, _tenant: unknown, id: string) =>
    (await forTenant(store.db, context).find('users', id))?.status === 'active'
  const refused = await referenceProblem(store.db, context, [
    { param: 'to_user_id', id: to_user_id, kind: 'user', exists },
    { param: 'from_user_id', id: from_user_id, kind: 'user', exists },
  ])
  if (refused !== null) return refused
  const at = now()
  const phones = await phonesOf(store, context, to_user_id, at)
  if (phones.length === 0) return conflict('agent_unreachable', 'The member has no SIP phone that can be reached.')
  const from = await senderUri(deps, context, from_user_id ?? null)
  const parties = { from_user_id: from_user_id ?? null, to_user_id, to_address: null }
  return context.transaction(async trx => {
    return toMessage(await insertText(trx, context, { ...parties, text, from, phones, at }))
  })
}
