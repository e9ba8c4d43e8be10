import type { FastifyInstance, FastifyReply } from 'fastify'
import { sha256 } from '../kernel/secrets.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { type InvitationState, invitationPage } from './invitation-page.ts'

/**
 * `/invitations/{token}`: without a key, because whoever has the token has read the mail. A GET only shows the button: mail
 * programs follow links by themselves.
 */
export function serveInvitations(app: FastifyInstance, { store, now }: { store: Store; now: () => Date }): void {
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
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; frame-ancestors 'none'",
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
  // An administrator may have activated or deactivated the member meanwhile.
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
