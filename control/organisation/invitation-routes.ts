import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import type { Exists } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { cancel } from '../kernel/jobs/queue.ts'
import { queueMail } from '../kernel/mail/job.ts'
import { apiObject, input, oneOf, timestamp } from '../kernel/schema.ts'
import { newSecret, sha256 } from '../kernel/secrets.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { memberProblem } from './members.ts'
import type { InvitationRow, UserRow } from './tables.ts'
import { userRole, userSettings } from './user-schema.ts'

const api = operations('Users', 'users')

interface InvitationDeps {
  store: Store
  vault: Vault
  now: () => Date
  teamExists: Exists
  hasMailServer: boolean
  /** Base of the link; no trailing slash. */
  publicUrl: string
}

const INVITATION_DAYS = 14
const DAY_MS = 24 * 60 * 60 * 1000
const PREFIX = 'invite'

const invitationSchema = apiObject('invitation', {
  user_id: Type.String({ description: 'The member that the invitation created, with status `invited`.' }),
  email: Type.String(),
  role: userRole,
  status: Type.String({ description: 'open, accepted, expired, revoked' }),
  expires_at: timestamp(),
  created: timestamp(),
})
type Invitation = Static<typeof invitationSchema>

const offeredSchema = Type.Object(
  {
    ...invitationSchema.properties,
    delivery: oneOf(['queued', 'suppressed', 'not_configured'], {
      description:
        'State of the mail. suppressed: test mode sends no mail. not_configured: there is no mail server (`TANDEM_SMTP_URL`). In both cases, pass `accept_url` on yourself.',
    }),
    accept_url: Type.String({ description: 'The page that admits the member, until it expires; returned only once.' }),
  },
  { title: 'InvitationWithLink' },
)
type OfferedInvitation = Static<typeof offeredSchema>

const invitationBody = input({
  email: Type.String({ format: 'email', maxLength: 254 }),
  ...userSettings,
})

export const invitationRoutes = (deps: InvitationDeps): Route[] => [
  api.post({
    path: '/invitations',
    id: 'createInvitation',
    summary: 'Invite a member',
    description:
      'Creates a member with status `invited` and mails a link that makes it `active`. 409 if a member already has this address or extension.',
    body: invitationBody,
    status: 201,
    reply: offeredSchema,
    errors: [409],
    handler: (context, { body }) => invite(deps, context, body),
  }),
  api.post({
    path: '/invitations/:id/resend',
    id: 'resendInvitation',
    summary: 'Resend an invitation',
    description:
      'Mails a new link, valid for 14 days; the previous one stops working. A revoked invitation is open again. 409 with `details.reason` `not_invited` if the member has accepted, or was admitted or deactivated.',
    reply: offeredSchema,
    errors: [409],
    handler: (context, { params }) => resend(deps, context, params.id),
  }),
  api.post({
    path: '/invitations/:id/revoke',
    id: 'revokeInvitation',
    summary: 'Revoke an invitation',
    description:
      'Its link stops working, a pending mail is not sent, and the member becomes `deactivated`. 409 with `details.reason` `not_invited` if the member has accepted, or was admitted or deactivated.',
    reply: invitationSchema,
    errors: [409],
    handler: (context, { params }) => revoke(deps, context, params.id),
  }),
  api.get({
    path: '/invitations',
    id: 'listInvitations',
    summary: 'List invitations',
    query: listQuery,
    reply: listOf(invitationSchema),
    handler: async (context, { query }) => {
      const rows = forTenant(deps.store.db, context).select('invitations').selectAll()
      const list = await page(rows, query, '/v1/invitations', row => row)
      return isProblem(list) ? list : { ...list, data: await shown(deps, deps.store.db, context, list.data) }
    },
  }),
  api.get({
    path: '/invitations/:id',
    id: 'getInvitation',
    summary: 'Retrieve an invitation',
    reply: invitationSchema,
    handler: async (context, { params }) => {
      const row = await forTenant(deps.store.db, context).find('invitations', params.id)
      const [invitation] = row === undefined ? [] : await shown(deps, deps.store.db, context, [row])
      return invitation ?? missing('invitation', params.id)
    },
  }),
]

async function invite(deps: InvitationDeps, context: Context, body: Static<typeof invitationBody>) {
  const at = deps.now()
  const created = at.toISOString()
  const row: UserRow = {
    id: newId('user'),
    ...ownedBy(context),
    name: body.name ?? '',
    email: body.email.toLowerCase(),
    email_verified: 0,
    role: body.role ?? 'agent',
    status: 'invited',
    team_id: body.team_id ?? null,
    extension: body.extension ?? null,
    takes_seat: (body.takes_seat ?? true) ? 1 : 0,
    last_login: null,
    device_lost_at: null,
    created,
  }
  const invitation = { id: newId('invitation'), user_id: row.id, created }
  return context.transaction(async trx => {
    const refused = await memberProblem(trx, context, row, deps.teamExists)
    if (refused !== null) return refused
    await forTenant(trx, context).insert('users', row)
    const blank = { token_hash: null, accepted_at: null, revoked_at: null, expires_at: created }
    await forTenant(trx, context).insert('invitations', { ...invitation, ...blank })
    return offer(deps, trx, context, row, invitation)
  })
}

const resend = (deps: InvitationDeps, context: Context, id: string) =>
  context.transaction(async (trx): Promise<OfferedInvitation | Problem> => {
    const found = await find(trx, context, id)
    if (found === null) return missing('invitation', id)
    const { invitation, user } = found
    const isRevoked = invitation.revoked_at !== null && user.status === 'deactivated'
    if (user.status !== 'invited' && !isRevoked) return notInvited(user)
    const full = isRevoked ? await context.limitProblem(trx, 'invitations') : null
    if (full !== null) return full
    await setStatus(trx, context, user, 'invited')
    return offer(deps, trx, context, { ...user, status: 'invited' }, invitation)
  })

const revoke = (deps: InvitationDeps, context: Context, id: string) =>
  context.transaction(async (trx): Promise<Invitation | Problem> => {
    const found = await find(trx, context, id)
    if (found === null) return missing('invitation', id)
    const { invitation, user } = found
    if (user.status !== 'invited') return notInvited(user)
    await setStatus(trx, context, user, 'deactivated')
    const change = { revoked_at: deps.now().toISOString(), token_hash: null }
    await forTenant(trx, context).change('invitations', id, change)
    await cancel(trx, 'mail', id)
    return toInvitation({ ...invitation, ...change }, { ...user, status: 'deactivated' }, deps.now())
  })

const notInvited = (user: UserRow): Problem => conflict('not_invited', `The member ${user.id} is ${user.status}.`)

const setStatus = (trx: Trx, tenant: Tenant, user: UserRow, status: UserRow['status']) =>
  forTenant(trx, tenant).change('users', user.id, { status })

async function find(db: Db, tenant: Tenant, id: string): Promise<{ invitation: InvitationRow; user: UserRow } | null> {
  const scoped = forTenant(db, tenant)
  const invitation = await scoped.find('invitations', id)
  const user = invitation && (await scoped.find('users', invitation.user_id))
  return invitation === undefined || user === undefined ? null : { invitation, user }
}

/** Invitations with data of their members. */
async function shown(
  { now }: InvitationDeps,
  db: Db,
  tenant: Tenant,
  rows: readonly InvitationRow[],
): Promise<Invitation[]> {
  const ids = rows.map(row => row.user_id)
  const users =
    ids.length === 0 ? [] : await forTenant(db, tenant).select('users').selectAll().where('id', 'in', ids).execute()
  const byId = new Map(users.map(user => [user.id, user]))
  return rows.flatMap(row => {
    const user = byId.get(row.user_id)
    return user === undefined ? [] : [toInvitation(row, user, now())]
  })
}

const toInvitation = (row: InvitationRow, user: UserRow, now: Date): Invitation =>
  showRow(invitationSchema, row, {
    user_id: user.id,
    email: user.email,
    role: user.role,
    status: statusOf(row, user, now),
  })

/** The status. An administrator may have activated or deactivated the member without the link. */
function statusOf({ accepted_at, expires_at }: InvitationRow, { status }: UserRow, now: Date): string {
  if (accepted_at !== null || status === 'active') return 'accepted'
  if (status === 'deactivated') return 'revoked'
  return expires_at <= now.toISOString() ? 'expired' : 'open'
}

/** Gives an invitation a new link, which replaces any earlier one, and mails it. */
async function offer(
  deps: InvitationDeps,
  trx: Trx,
  context: Context,
  user: UserRow,
  { id, created }: { id: string; created: string },
): Promise<OfferedInvitation> {
  const at = deps.now()
  const token = newSecret(PREFIX)
  const token_hash = sha256(token)
  const expires_at = new Date(at.getTime() + INVITATION_DAYS * DAY_MS).toISOString()
  await forTenant(trx, context).change('invitations', id, { token_hash, expires_at, revoked_at: null })
  const answer: OfferedInvitation = {
    id,
    object: 'invitation',
    livemode: context.livemode,
    user_id: user.id,
    email: user.email,
    role: user.role,
    status: 'open',
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
    // The link in a mail that is still pending is now invalid, so that mail is replaced.
    const mail = { id: `${id}.${token_hash.slice(0, 16)}`, to: user.email, ...mailText(name, answer) }
    await queueMail(trx, deps.vault, mail, { now: at, organisationId: context.organisationId, key: id })
  }
  return answer
}

const mailText = (
  organisation: string,
  { accept_url, expires_at }: OfferedInvitation,
): { subject: string; text: string } => ({
  subject: `Invitation to ${organisation.replaceAll(/[\r\n]+/g, ' ')}`,
  text: `${organisation} invites you to its telephone system.\n\nAccept: ${accept_url}\n\nThe link works until ${expires_at}.\n`,
})
