import Type from 'typebox'
import { operations, type Route } from '../../http/route.ts'
import { input, nullable } from '../../kernel/schema.ts'
import type { CallingDeps } from '../calling.ts'
import { contactParams, contactSchema } from '../contact-schema.ts'
import { claim, dial, skip } from './actions.ts'

const api = operations('Campaigns', 'campaigns')

const userId = Type.String({ minLength: 1, maxLength: 200, description: "The agent, who is in the campaign's queue." })
const ofAgent = input({ user_id: userId })
const skipBody = input({
  user_id: userId,
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  retry_minutes: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 1,
        maximum: 43_200,
        description: 'Minutes until it is due again; null or absent: never.',
      }),
    ),
  ),
})

const wantedOf = (params: { id: string; contact_id: string }, { user_id: userId }: { user_id: string }) => ({
  id: params.id,
  contactId: params.contact_id,
  userId,
})

/** Routes for agents who see a contact before it is called (mode `preview`). */
export function campaignPreviewRoutes(deps: CallingDeps): Route[] {
  return [
    api.post({
      path: '/campaigns/:id/claim',
      id: 'claimCampaignContact',
      summary: 'Get the next contact of a campaign for an agent to look at',
      description:
        'For a campaign in the mode `preview`. The contact is reserved for this agent for `claim_seconds`. Meanwhile the same request returns the same contact, and no queue rings the agent. 409 if no contact may be called now, or if the agent is looking at one of another campaign.',
      body: ofAgent,
      errors: [409],
      reply: contactSchema,
      handler: (context, { params, body }) =>
        context.transaction(trx => claim(deps, trx, context, params.id, body.user_id)),
    }),
    api.post({
      path: '/campaigns/:id/contacts/:contact_id/dial',
      id: 'dialCampaignContact',
      summary: 'Call a claimed contact',
      description:
        "When the contact answers, the agent's devices ring. A contact that must not be called any more is returned in its new state. 409 unless the agent has claimed it and is available, and the campaign may begin one more call.",
      params: contactParams,
      body: ofAgent,
      errors: [409],
      reply: contactSchema,
      handler: (context, { params, body }) =>
        context.transaction(trx => dial(deps, trx, context, wantedOf(params, body))),
    }),
    api.post({
      path: '/campaigns/:id/contacts/:contact_id/skip',
      id: 'skipCampaignContact',
      summary: 'Do not call a claimed contact',
      description:
        'It is due again after `retry_minutes`. Otherwise it is finished: `failed`, with the result `skipped`.',
      params: contactParams,
      body: skipBody,
      errors: [409],
      reply: contactSchema,
      handler: (context, { params, body }) =>
        context.transaction(trx => skip(deps, trx, context, wantedOf(params, body), body)),
    }),
  ]
}
