import { cutTo } from '../../media/protocol.ts'
import type { CallingDeps } from '../campaigns/calling.ts'
import { claim, dial, skip } from '../campaigns/preview/actions.ts'
import { type Desk, deskOf } from '../campaigns/preview/desk.ts'
import { invalid, isProblem } from '../http/errors.ts'
import type { Trx } from '../kernel/store/store.ts'
import { tenantOf } from '../kernel/tenancy.ts'
import type { BrowserSessionRow } from '../queues/agents/tables.ts'

/** Maximum length of a reason for skipping a contact [characters]. */
const MAX_REASON = 500
const MAX_MINUTES = 43_200

/** `refused`: why the request could not be carried out. */
export type PreviewSaid = { type: 'preview'; refused: string | null } & Desk

type Wish = Record<string, unknown>

/** An agent's command to campaigns from the desktop: claim, dial or skip a contact. Returns the new state. */
export async function actOnPreview(deps: CallingDeps, session: BrowserSessionRow, wish: Wish): Promise<PreviewSaid> {
  const { store, now } = deps
  const done = wish.do === undefined ? null : await store.transaction(trx => carryOut(deps, trx, session, wish))
  const desk = await deskOf(store.db, tenantOf(session), session.user_id, now())
  return { type: 'preview', refused: done === null ? null : refusal(done, wish), ...desk }
}

type Done = Awaited<ReturnType<typeof carryOut>>

/** Carries out a command. What the agent may do is decided by the rows, not by the page. */
async function carryOut(deps: CallingDeps, trx: Trx, session: BrowserSessionRow, wish: Wish) {
  const by = tenantOf(session)
  const { user_id: userId } = session
  const id = String(wish.campaign_id)
  const wanted = { id, contactId: String(wish.contact_id), userId }
  switch (wish.do) {
    case 'claim':
      return claim(deps, trx, by, id, userId)
    case 'call':
      return dial(deps, trx, by, wanted)
    case 'skip':
      return skip(deps, trx, by, wanted, skipOf(wish))
    default:
      return invalid('do', 'Campaigns have no such command.')
  }
}

function skipOf({ reason, retry_minutes: minutes }: Wish): Parameters<typeof skip>[4] {
  const text = typeof reason === 'string' ? cutTo(reason.trim(), MAX_REASON) : ''
  const isTime = Number.isInteger(minutes) && Number(minutes) >= 1 && Number(minutes) <= MAX_MINUTES
  return { ...(text === '' ? {} : { reason: text }), retry_minutes: isTime ? Number(minutes) : null }
}

/** What the agent is told. For the API it is no error if the do-not-call list, hours or caps prevent a call, but an agent has to know. */
function refusal(done: Done, wish: Wish): string | null {
  if (isProblem(done)) return done.message
  if (wish.do !== 'call' || done.status === 'calling') return null
  return done.status === 'pending' ? 'This contact must not be called now.' : 'This contact must not be called.'
}
