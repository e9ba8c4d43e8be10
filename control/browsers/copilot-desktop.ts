import { tenantOf } from '../calls/records.ts'
import { ask } from '../copilot/sessions/ask.ts'
import { type CommandParts, checkItem, commandIn, dismiss, nextStep, setField } from '../copilot/sessions/commands.ts'
import type { Feed } from '../copilot/sessions/feed.ts'
import { toMessage } from '../copilot/sessions/message-schema.ts'
import { findSession } from '../copilot/sessions/records.ts'
import { toSession } from '../copilot/sessions/session-schema.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../copilot/tables.ts'
import { isProblem, missing, type Problem, problem } from '../http/errors.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { PassageSearch } from '../knowledge/search.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { BrowserSessionRow } from '../queues/agents/tables.ts'

/** The newest messages of a session that a page gets when it is loaded again. */
const MAX_AGAIN = 500
const MAX_QUESTION = 1000
const MAX_VALUE = 2000

type Log = { warn(fields: object, message: string): void }
type Push = (browserId: string, body: object) => Promise<unknown>

const pushBy =
  (media: MediaPort): Push =>
  (browserId, body) =>
    media.request('browser.send', { browserId, body: { ...body } })

/**
 * Tells the desktops of agents what their copilots tell, in its order. A page drops what it has already, so that all that holds is told
 * again when it may have missed some: when it was loaded again, and when control has been started again.
 */
export class CopilotDesktops {
  readonly #db: Db
  readonly #log: Log
  readonly #push: Push
  /** What is under way, by member: one after the other. */
  readonly #turns = new Map<string, Promise<void>>()

  constructor(parts: { store: { db: Db }; log: Log; feed: Feed; media: MediaPort }) {
    this.#db = parts.store.db
    this.#log = parts.log
    this.#push = pushBy(parts.media)
    parts.feed.onTold((row, messages) => this.#told(row, messages))
  }

  #told(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]): void {
    const { user_id: userId } = row
    if (userId === null) return
    const turn = (this.#turns.get(userId) ?? Promise.resolve()).then(async () => {
      try {
        for (const { id } of await pagesOf(this.#db, row, userId)) {
          if (messages.length === 0) await showWhole(this.#db, this.#push, id, row)
          else
            for (const message of messages)
              await this.#push(id, { type: 'copilot_message', message: toMessage(message) })
        }
      } catch (error) {
        this.#log.warn({ err: error, sessionId: row.id }, 'a desktop could not be told what its copilot tells')
      }
    })
    this.#turns.set(userId, turn)
    void turn.then(() => {
      if (this.#turns.get(userId) === turn) this.#turns.delete(userId)
    })
  }
}

const pagesOf = (db: Db, row: CopilotSessionRow, userId: string): Promise<BrowserSessionRow[]> =>
  forTenant(db, tenantOf(row))
    .select('browser_sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('node', '=', nodeOf(db))
    .execute()

/** The session, and then what it has told, oldest first. */
async function showWhole(db: Db, push: Push, browserId: string, { id, ...of }: CopilotSessionRow): Promise<void> {
  const tenant = tenantOf(of)
  const row = await findSession(db, tenant, id)
  if (row === undefined) return
  await push(browserId, { type: 'copilot_session', session: toSession(row) })
  const told = forTenant(db, tenant).select('copilot_messages').selectAll().where('session_id', '=', id)
  const newest = await told.orderBy('seq', 'desc').limit(MAX_AGAIN).execute()
  for (const message of newest.reverse())
    await push(browserId, { type: 'copilot_message', message: toMessage(message) })
}

export interface DesktopParts extends CommandParts {
  search: PassageSearch
}

type Wish = Record<string, unknown>

/** What an agent wants of the copilot on the desktop. Null: the copilot tells what came of it. */
export async function actOnCopilot(
  parts: DesktopParts,
  media: MediaPort,
  page: BrowserSessionRow,
  wish: Wish,
): Promise<Problem | null> {
  const { store } = parts
  const tenant = tenantOf(page)
  if (wish.do === undefined) {
    const row = await runningOf(store.db, tenant, page.user_id)
    if (row !== undefined) await showWhole(store.db, pushBy(media), page.id, row)
    return null
  }
  const done = await store.transaction(async trx => {
    const row = await findSession(trx, tenant, String(wish.session_id))
    // Another member's is none of this one's business.
    if (row === undefined || row.user_id !== page.user_id) return missing('copilot_session', String(wish.session_id))
    return carryOut(parts, trx, tenant, row.id, wish)
  })
  return isProblem(done) ? done : null
}

function carryOut(
  parts: DesktopParts,
  trx: Trx,
  tenant: Tenant,
  id: string,
  { do: what, key, value, ...wish }: Wish,
): Promise<object | Problem> | Problem {
  switch (what) {
    case 'checklist':
      return commandIn(
        parts,
        trx,
        tenant,
        id,
        checkItem(String(key), { done: wish.done === true, stage: String(wish.stage) }),
      )
    case 'field': {
      const text = typeof value === 'string' && value !== '' ? value.slice(0, MAX_VALUE) : null
      return setField(parts, trx, tenant, id, { key: String(key), value: text })
    }
    case 'dismiss':
      return commandIn(parts, trx, tenant, id, dismiss({ message_id: String(wish.message_id) }))
    case 'script':
      return nextStep(parts, trx, tenant, id, {
        back: wish.back === true,
        ...(typeof wish.choice === 'string' ? { choice: wish.choice } : {}),
      })
    case 'ask':
      return ask(parts, trx, tenant, id, String(wish.question).slice(0, MAX_QUESTION))
    default:
      return problem('parameter_invalid', 'The copilot has no such command.', { param: 'do' })
  }
}

const runningOf = (db: Db, tenant: Tenant, userId: string): Promise<CopilotSessionRow | undefined> =>
  forTenant(db, tenant)
    .select('copilot_sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('status', '=', 'running')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
