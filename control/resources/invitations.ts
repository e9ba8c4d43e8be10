import type { FastifyInstance, FastifyReply } from 'fastify'
import Type, { type Static } from 'typebox'
import { memberProblem } from '../contact-centre/members.ts'
import type { UserRow } from '../contact-centre/tables.ts'
import type { Context } from '../http/context.ts'
import { conflict, missing, type Problem } from '../http/errors.ts'
import type { Exists } from '../http/references.ts'
import { type Route, route } from '../http/route.ts'
import { idParams, input, oneOf, timestamp } from '../http/schema.ts'
import { newId } from '../ids.ts'
import { queueMail } from '../mail-job.ts'
import { userFields, userRole } from '../schemas/user.ts'
import { newSecret, sha256 } from '../secrets.ts'
import type { Db, Store, Trx } from '../store.ts'
import { forTenant } from '../tenancy.ts'
import type { Vault } from '../vault.ts'
import { type InvitationState, invitationPage } from '../web/invitation.ts'

export interface InvitationDeps {
  store: Store
  vault: Vault
  now: () => Date
  teamExists: Exists
  hasMailServer: boolean
  /** What the link begins with; without a slash at its end. */
  publicUrl: string
}

const INVITATION_DAYS = 14
const DAY_MS = 24 * 60 * 60 * 1000
const PREFIX = 'invite'

const invitationSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('invitation'),
  livemode: Type.Boolean(),
  user_id: Type.String({ description: 'The member with status `invited` that it made.' }),
  email: Type.String(),
  role: userRole,
  delivery: oneOf(['queued', 'suppressed', 'not_configured'], {
    description:
      'Of the mail. suppressed: test mode reaches nobody; not_configured: there is no mail server (`TANDEM_SMTP_URL`). Then pass `accept_url` on yourself.',
  }),
  accept_url: Type.String({ description: 'The page that admits the member, until it expires; shown only now.' }),
  expires_at: timestamp(),
  created: timestamp(),
})
type Invitation = Static<typeof invitationSchema>

const invitationBody = input({
  email: Type.String({ format: 'email', maxLength: 254 }),
  name: Type.Optional(userFields.name),
  role: Type.Optional(userRole),
  team_id: Type.Optional(userFields.team_id),
  extension: Type.Optional(userFields.extension),
  billing: Type.Optional(userFields.billing),
  takes_seat: Type.Optional(userFields.takes_seat),
})

export const invitationRoutes = (deps: InvitationDeps): Route[] => [
  route({
    method: 'POST',
    path: '/invitations',
    id: 'createInvitation',
    summary: 'Invite a member',
    description:
      'Makes a member with status `invited` and mails a link that makes it `active`. 409 when a member has this address or extension already.',
    tag: 'Users',
    scope: 'users:write',
    body: invitationBody,
    status: 201,
    reply: invitationSchema,
    errors: [409],
    handler: (context, { body }) => invite(deps, context, body),
  }),
  route({
    method: 'POST',
    path: '/invitations/:id/resend',
    id: 'resendInvitation',
    summary: 'Invite a member once more',
    description:
      'Mails a new link, which works for 14 days; the one before works no more. 409 with `details.reason` `not_invited` when the member has accepted, or was admitted or deactivated.',
    tag: 'Users',
    scope: 'users:write',
    params: idParams,
    status: 200,
    reply: invitationSchema,
    errors: [404, 409],
    handler: (context, { params }) => resend(deps, context, params.id),
  }),
]

async function invite(deps: InvitationDeps, context: Context, body: Static<typeof invitationBody>) {
  const at = deps.now()
  const created = at.toISOString()
  const row: UserRow = {
    id: newId('user'),
    organisation_id: context.organisationId,
    livemode: context.livemode ? 1 : 0,
    name: body.name ?? '',
    email: body.email.toLowerCase(),
    email_verified: 0,
    role: body.role ?? 'agent',
    status: 'invited',
    team_id: body.team_id ?? null,
    extension: body.extension ?? null,
    billing: (body.billing ?? body.role === 'owner') ? 1 : 0,
    takes_seat: (body.takes_seat ?? true) ? 1 : 0,
    last_login: null,
    created,
  }
  const invitation = { id: newId('invitation'), user_id: row.id, created }
  return context.transaction(async trx => {
    const refused = await memberProblem(trx, context, row, deps.teamExists)
    if (refused !== null) return refused
    await forTenant(trx, context).insert('users', row)
    const blank = { token_hash: null, accepted_at: null, expires_at: created }
    await forTenant(trx, context).insert('invitations', { ...invitation, ...blank })
    return offer(deps, trx, context, row, invitation)
  })
}

const resend = (deps: InvitationDeps, context: Context, id: string) =>
  context.transaction(async (trx): Promise<Invitation | Problem> => {
    const scoped = forTenant(trx, context)
    const invitation = await scoped.find('invitations', id)
    const user = invitation && (await scoped.find('users', invitation.user_id))
    if (invitation === undefined || user === undefined) return missing('invitation', id)
    if (user.status !== 'invited') return conflict('not_invited', `The member ${user.id} is ${user.status}.`)
    return offer(deps, trx, context, user, invitation)
  })

/** Gives an invitation a new link, which any before it is replaced by, and mails it. */
async function offer(
  deps: InvitationDeps,
  trx: Trx,
  context: Context,
  user: UserRow,
  { id, created }: { id: string; created: string },
): Promise<Invitation> {
  const at = deps.now()
  const token = newSecret(PREFIX)
  const token_hash = sha256(token)
  const expires_at = new Date(at.getTime() + INVITATION_DAYS * DAY_MS).toISOString()
  await forTenant(trx, context).update('invitations').set({ token_hash, expires_at }).where('id', '=', id).execute()
  const answer: Invitation = {
    id,
    object: 'invitation',
    livemode: context.livemode,
    user_id: user.id,
    email: user.email,
    role: user.role,
    delivery: !context.livemode ? 'suppressed' : deps.hasMailServer ? 'queued' : 'not_configured',
    accept_url: `${deps.publicUrl}/invitations/${token}`,
    expires_at,
    created,
  }
  if (answer.delivery === 'queued') {
    const { name } = await trx
      .selectFrom('organisations')
      .select('name')
      .where('id', '=', context.organisationId)
      .executeTakeFirstOrThrow()
    // Each link is a mail of its own to its reader; one that still waits has a link that works no more, and is replaced.
    const mail = { id: `${id}.${token_hash.slice(0, 16)}`, to: user.email, ...mailText(name, answer) }
    await queueMail(trx, deps.vault, mail, { now: at, organisationId: context.organisationId, key: id })
  }
  return answer
}

const mailText = (organisation: string, { accept_url, expires_at }: Invitation): { subject: string; text: string } => ({
  subject: `Invitation to ${organisation.replaceAll(/[\r\n]+/g, ' ')}`,
  text: `${organisation} invites you to its telephone system.\n\nAccept: ${accept_url}\n\nThe link works until ${expires_at}.\n`,
})

/**
 * `/invitations/{token}`: without a key, for who has the token has read the mail. A GET only shows the button: mail programs follow
 * links by themselves.
 */
export function serveInvitations(app: FastifyInstance, { store, now }: Pick<InvitationDeps, 'store' | 'now'>): void {
  app.get<{ Params: { token: string } }>('/invitations/:token', async (request, reply) =>
    send(reply, await stateOf(store.db, request.params.token, now())),
  )
  app.post<{ Params: { token: string } }>('/invitations/:token', async (request, reply) =>
    send(reply, await accept(store, request.params.token, now())),
  )
}

const STATUSES = { open: 200, accepted: 200, expired: 410, unknown: 404 } as const

const send = (reply: FastifyReply, { state, organisation }: { state: InvitationState; organisation: string }) =>
  reply
    .code(STATUSES[state])
    .headers({
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    })
    .send(invitationPage(state, organisation))

interface Found {
  state: InvitationState
  organisation: string
  invitation?: { id: string; user_id: string }
}

async function stateOf(db: Db, token: string, now: Date): Promise<Found> {
  const row = await db
    .selectFrom('invitations')
    .innerJoin('organisations', 'organisations.id', 'invitations.organisation_id')
    .innerJoin('users', 'users.id', 'invitations.user_id')
    .select(['invitations.id', 'user_id', 'accepted_at', 'expires_at', 'organisations.name', 'users.status'])
    .where('token_hash', '=', sha256(token))
    .executeTakeFirst()
  if (row === undefined) return { state: 'unknown', organisation: '' }
  const found = { organisation: row.name, invitation: row }
  // An administrator may have admitted or shut out the member meanwhile.
  if (row.accepted_at !== null || row.status === 'active') return { state: 'accepted', ...found }
  const over = row.expires_at <= now.toISOString() || row.status !== 'invited'
  return { state: over ? 'expired' : 'open', ...found }
}

const accept = (store: Store, token: string, now: Date): Promise<Found> =>
  store.transaction(async trx => {
    const found = await stateOf(trx, token, now)
    if (found.state !== 'open' || found.invitation === undefined) return found
    const { id, user_id } = found.invitation
    const member = { status: 'active', email_verified: 1 } as const
    await trx.updateTable('users').set(member).where('id', '=', user_id).execute()
    await trx.updateTable('invitations').set({ accepted_at: now.toISOString() }).where('id', '=', id).execute()
    return { ...found, state: 'accepted' }
  })
