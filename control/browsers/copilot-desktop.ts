import { cutTo } from '../../media/protocol.ts'
import { type AskParts, ask } from '../copilot/deep/ask.ts'
import { type Command, carryOut, checkItem, dismiss, nextStep, setField } from '../copilot/sessions/commands.ts'
import type { Feed } from '../copilot/sessions/feed.ts'
import { heldBy } from '../copilot/sessions/held.ts'
import { toMessage } from '../copilot/sessions/message-schema.ts'
import { findSession } from '../copilot/sessions/records.ts'
import { toSession } from '../copilot/sessions/session-schema.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../copilot/tables.ts'
import { invalid, isProblem, missing, type Problem } from '../http/errors.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { BrowserSessionRow } from '../queues/agents/tables.ts'

/** Maximum number of messages, the newest ones, that a page gets after a reload. */
const MAX_AGAIN = 500
/** Maximum number of messages waiting for a member's desktops. Beyond it, whole sessions are sent. */
const MAX_WAITING = 100
const MAX_QUESTION = 1000
const MAX_VALUE = 2000

type Log = { warn(fields: object, message: string): void }
/** A page, and the other node that it is connected to. */
type Place = { browserId: string; node?: string }
type Push = (place: Place, body: object) => Promise<unknown>

const pushBy =
  (media: MediaPort): Push =>
  (place, body) =>
    media.request('browser.send', { ...place, body: { ...body } })

/** An empty list: the whole session is to be sent. */
interface Told {
  row: CopilotSessionRow
  messages: readonly CopilotMessageRow[]
}

/**
 * Sends copilots' messages to the desktops of their agents, in order. A page ignores repeated messages, so all current ones are sent
 * again after a reload of the page or a restart of control.
 */
export class CopilotDesktops {
  readonly #db: Db
  readonly #log: Log
  readonly #push: Push
  /** Pending work by member, done one after the other. */
  readonly #waiting = new Map<string, Told[]>()

  constructor(parts: { store: { db: Db }; log: Log; feed: Feed; media: MediaPort }) {
    this.#db = parts.store.db
    this.#log = parts.log
    this.#push = pushBy(parts.media)
    parts.feed.onTold((row, messages) => this.#told(row, messages))
  }

  #told(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]): void {
    const { user_id: userId } = row
    if (userId === null) return
    const waiting = this.#waiting.get(userId)
    if (waiting === undefined) {
      const first = [{ row, messages }]
      this.#waiting.set(userId, first)
      void this.#work(userId, first)
    } else add(waiting, { row, messages })
  }

  async #work(userId: string, waiting: Told[]): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { row, messages } = next
      try {
        for (const page of await pagesOf(this.#db, row, userId)) {
          if (messages.length === 0) await showWhole(this.#db, this.#push, page, userId, row)
          for (const message of messages)
            await this.#push(page, { type: 'copilot_message', message: toMessage(message) })
        }
      } catch (error) {
        this.#log.warn({ err: error, sessionId: row.id }, 'a desktop could not be told what its copilot tells')
      }
    }
    this.#waiting.delete(userId)
  }
}

/** Adds work. If the whole session is to be sent, single messages are not needed. */
function add(waiting: Told[], told: Told): void {
  if (waiting.some(({ row, messages }) => row.id === told.row.id && messages.length === 0)) return
  waiting.push(told)
  if (waiting.length <= MAX_WAITING) return
  const sessions = new Map(waiting.map(({ row }) => [row.id, row]))
  waiting.splice(0, waiting.length, ...[...sessions.values()].map(row => ({ row, messages: [] })))
}

async function pagesOf(db: Db, row: CopilotSessionRow, userId: string): Promise<Place[]> {
  const pages = forTenant(db, tenantOf(row)).select('browser_sessions').leftJoin('nodes', 'nodes.id', 'node')
  const found = await pages.select(['browser_sessions.id', 'node', 'ws']).where('user_id', '=', userId).execute()
  return found.flatMap(({ id: browserId, node, ws }) =>
    node === nodeOf(db) ? { browserId } : ws === null ? [] : { browserId, node: ws },
  )
}

/** Sends the session, then its messages, oldest first. A desktop of a member without a session any more is told so. */
async function showWhole(db: Db, push: Push, page: Place, userId: string, { id, ...of }: CopilotSessionRow) {
  const row = await findSession(db, tenantOf(of), id)
  if (row === undefined) return
  if (row.user_id !== userId) return void (await push(page, { type: 'copilot_gone', session_id: id }))
  await push(page, { type: 'copilot_session', session: toSession(row) })
  for (const message of await toldAgain(db, row)) {
    await push(page, { type: 'copilot_message', message: toMessage(message) })
  }
}

/** The newest messages, and earlier ones that are still valid, such as a warning from the beginning of a long call. */
async function toldAgain(db: Db, row: CopilotSessionRow): Promise<CopilotMessageRow[]> {
  const messages = () =>
    forTenant(db, tenantOf(row)).select('copilot_messages').selectAll().where('session_id', '=', row.id)
  const newest = await messages().orderBy('seq', 'desc').limit(MAX_AGAIN).execute()
  const from = newest.at(-1)?.seq ?? 0
  if (newest.length < MAX_AGAIN) return newest.reverse()
  const before = messages().where('seq', '<', from).orderBy('seq')
  const holding = await before.where('id', 'in', heldBy(row)).where('type', '!=', 'transcript').execute()
  const steps = messages().where('seq', '<', from).where('type', '=', 'script').orderBy('seq', 'desc')
  const step = await steps.limit(1).execute()
  return [...holding, ...step, ...newest.reverse()]
}

type DesktopParts = AskParts

type Wish = Record<string, unknown>

/** An agent's command to the copilot from the desktop. Null: the copilot's own message reports the result. */
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
    if (row !== undefined) await showWhole(store.db, pushBy(media), { browserId: page.id }, page.user_id, row)
    return null
  }
  const row = await findSession(store.db, tenant, String(wish.session_id))
  // A session of another member does not exist for this one.
  if (row === undefined || row.user_id !== page.user_id) return missing('copilot_session', String(wish.session_id))
  if (wish.do === 'ask') {
    const question = cutTo(String(wish.question), MAX_QUESTION)
    const answer = await ask(parts, tenant, row.id, question, run => store.transaction(run))
    return isProblem(answer) ? answer : null
  }
  const command = commandOf(wish)
  if (isProblem(command)) return command
  const done = await store.transaction(trx => carryOut(parts, trx, tenant, row.id, command))
  return isProblem(done) ? done : null
}

function commandOf({ do: what, key, value, ...wish }: Wish): Command | Problem {
  switch (what) {
    case 'checklist':
      return checkItem(String(key), { done: wish.done === true, stage: String(wish.stage) })
    case 'field': {
      const text = typeof value === 'string' && value !== '' ? cutTo(value, MAX_VALUE) : null
      return setField({ key: String(key), value: text })
    }
    case 'dismiss':
      return dismiss({ message_id: String(wish.message_id) })
    case 'script':
      return nextStep({ back: wish.back === true, ...(typeof wish.choice === 'string' && { choice: wish.choice }) })
    default:
      return invalid('do', 'The copilot has no such command.')
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
