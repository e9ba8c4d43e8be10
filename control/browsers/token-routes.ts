import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, invalid, type Problem } from '../http/errors.ts'
import { type Exists, referenceProblem } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { input, metadata, nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { clientTokenKey, insertClientToken, readOrigin, signClientToken } from './client-token.ts'
import type { ClientTokenRow } from './tables.ts'

const api = operations('Client tokens', 'calls')

interface ClientTokenDeps {
  store: Store
  vault: Vault
  now: () => Date
  exists: { assistant: Exists; user: Exists }
  /** Where browsers find the call WebSocket; no trailing slash. */
  wsUrl: string
}

const DEFAULT_TTL_S = 300

/** Specification, "ClientToken". */
const clientTokenSchema = Type.Object({
  object: Type.Literal('client_token'),
  token: Type.String({ description: 'Signed JWT; opens one call, once, before `expires_at`.' }),
  expires_at: timestamp(),
  call_id: Type.String({ description: 'The ID that the call will have.' }),
  assistant_id: nullable(Type.String()),
  agent_user_id: nullable(Type.String()),
  origin: nullable(Type.String({ description: 'Website that the token is bound to.' })),
  livemode: Type.Boolean(),
  ws_url: Type.String({ description: 'The browser connects to `<ws_url>?client_token=<token>`.' }),
})
type ClientToken = Static<typeof clientTokenSchema>

const body = input({
  agent_user_id: Type.Optional(
    Type.String({ maxLength: 200, description: 'Agent whose softphone the token opens; not with `assistant_id`.' }),
  ),
  assistant_id: Type.Optional(Type.String({ maxLength: 200, description: 'Assistant that the browser talks to.' })),
  metadata: Type.Optional(metadata),
  origin: Type.Optional(
    Type.String({
      maxLength: 300,
      description: 'The only website where the token works; http for localhost only. Strongly recommended.',
    }),
  ),
  ttl_s: Type.Optional(
    Type.Integer({ minimum: 300, maximum: 900, description: 'How long the token can start the call; default 300.' }),
  ),
})

export function clientTokenRoutes(deps: ClientTokenDeps): Route[] {
  return [
    api.post({
      path: '/client_tokens',
      id: 'createClientToken',
      summary: 'Make a client token',
      description:
        'A short-lived token with which a browser starts one call. The answer has the ID of that call, so you can follow it before it starts.',
      body,
      status: 201,
      reply: clientTokenSchema,
      errors: [409],
      handler: (context, input) => mint(deps, context, input.body),
    }),
  ]
}

async function mint(
  deps: ClientTokenDeps,
  context: Context,
  asked: Static<typeof body>,
): Promise<ClientToken | Problem> {
  const origin = asked.origin === undefined ? null : readOrigin(asked.origin)
  if (asked.origin !== undefined && origin === null) {
    return invalid('origin', 'origin is the scheme, host and port of a website; http is for localhost only.')
  }
  const refused = await targetProblem(deps, context, asked)
  if (refused !== null) return refused
  const fields = {
    assistant_id: asked.assistant_id ?? null,
    agent_user_id: asked.agent_user_id ?? null,
    origin,
    metadata: JSON.stringify(asked.metadata ?? {}),
    ttlS: asked.ttl_s ?? DEFAULT_TTL_S,
  }
  const key = await clientTokenKey(deps.store, deps.vault)
  return context.transaction(async trx => {
    const row = await insertClientToken(trx, context, fields, deps.now())
    return toClientToken(row, await signClientToken(row, key), deps.wsUrl)
  })
}

async function targetProblem(
  { store, exists }: ClientTokenDeps,
  context: Context,
  { assistant_id, agent_user_id }: Static<typeof body>,
): Promise<Problem | null> {
  if (assistant_id !== undefined && agent_user_id !== undefined) {
    return invalid('agent_user_id', 'A token opens a call to an assistant, or the softphone of an agent, not both.')
  }
  const refused = await referenceProblem(store.db, context, [
    { param: 'assistant_id', id: assistant_id, kind: 'assistant', exists: exists.assistant },
    { param: 'agent_user_id', id: agent_user_id, kind: 'user', exists: exists.user },
  ])
  if (refused !== null || agent_user_id === undefined) return refused
  const user = await forTenant(store.db, context).find('users', agent_user_id)
  return user?.status === 'active' ? null : conflict('not_active', `The member has status ${user?.status}.`)
}

const toClientToken = (row: ClientTokenRow, token: string, wsUrl: string): ClientToken =>
  showRow(clientTokenSchema, row, {
    token,
    call_id: row.id,
    // An agent's token opens the softphone and no call, hence another path.
    ws_url: `${wsUrl}/v1/${row.agent_user_id === null ? 'web_calls' : 'softphones'}`,
  })
