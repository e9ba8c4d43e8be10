import type { Logger } from 'pino'
import { isFailure, isStarted, isUndecided, type MediaEvent, type MediaSnapshot } from '../../../media/protocol.ts'
import type { CallPrograms } from '../../calls/conductor/driver.ts'
import { isPaused } from '../../calls/pci.ts'
import { follow } from '../../calls/steps/follow.ts'
import { type Fact, only } from '../../kernel/store/after-commit.ts'
import { rowBy, rowsOf } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { CopilotSessionRow } from '../tables.ts'
import type { Feed } from './feed.ts'
import { type HearingParts, hearNothing, hearSaid, release } from './hearing.ts'
import { heardIn, inputOf, keepWords, waitingInputs } from './inputs.ts'
import type { KnownVectors } from './meant.ts'
import { apply, type RecordParts, sessionMs, settingsOfSession, stateOf } from './records.ts'
import { CONSENT_REASONS, endSession, refusedBy, type StartParts, startForAnswer } from './start.ts'
import { messagesAfter } from './stream.ts'

interface CopilotParts {
  store: Store
  now: () => Date
  log: Pick<Logger, 'warn' | 'error'>
  feed: Feed
  search: PassageSearch
  vault: Vault
  vectors?: KnownVectors | null
  /** Until when a model may summarise a session that ends, ISO 8601 UTC; absent, or null: no model will. */
  closing?: (row: CopilotSessionRow) => string | null
}

const HEARD = ['leg.answered', 'leg.ended', 'transcript.words', 'transcript.ready'] as const
type Heard = (typeof HEARD)[number]

/** Maximum number of inputs per transaction. */
const AT_ONCE = 20
/** How long the last words of a call may take to be recognised [ms]. */
const LAST_WORDS_MS = 4000

/**
 * The copilots of this node's calls. What is heard is stored as an input of its session in the transaction of the event, and processed in a
 * later one. So no fault here affects a call, and after the death of a process the input is still there.
 */
export class Copilot implements CallPrograms {
  readonly hears = new Set(HEARD)
  readonly #parts: CopilotParts
  /** The processing in progress, by session, one after the other. */
  readonly #busy = new Map<string, Promise<void>>()
  /** Sessions whose last words are awaited, and since when [ms]. */
  readonly #ending = new Map<string, number>()
  #media: MediaPort | null = null

  constructor(parts: CopilotParts) {
    this.#parts = parts
    parts.store.within.add(only(['call.transferred'], (trx: Trx, fact: Fact) => this.#within(trx, fact)))
  }

  get feed(): Feed {
    return this.#parts.feed
  }

  get #records(): RecordParts {
    const { now, feed } = this.#parts
    return { now, feed }
  }

  get #hearing(): HearingParts {
    const { search, vault, vectors = null } = this.#parts
    return { ...this.#records, search, vault, vectors }
  }

  get starting(): StartParts {
    return { ...this.#records, begun: row => void this.#listen(row) }
  }

  async on(trx: Trx, event: MediaEvent & { name: Heard }): Promise<void> {
    switch (event.name) {
      case 'leg.answered': {
        const ring = await rowBy(trx, 'rings', { leg_id: event.body.legId })
        if (ring !== undefined) await startForAnswer(this.starting, trx, ring)
        return
      }
      case 'leg.ended':
        if (await hasSession(trx, event.body.legId)) follow(trx, event.body.legId, async () => void this.#endOver())
        return
      case 'transcript.words': {
        const sessionId = await keepWords(this.#parts.vault, trx, event, this.#parts.now())
        if (sessionId !== null) follow(trx, sessionId, async () => void this.deal(sessionId))
        return
      }
      // The last words have been reported before this event.
      case 'transcript.ready':
        follow(trx, event.body.transcriptId, async () => void this.#ready(event.body.transcriptId))
    }
  }

  /** After a transfer, the consulted party has the call; or an agent's leg leads to another node, and the agent has left it. */
  async #within(trx: Trx, { object, tenant }: Fact): Promise<void> {
    const { id: callId } = object as { id: string }
    const ring = await forTenant(trx, tenant).findBy('rings', { open_call: callId })
    if (ring !== undefined) await startForAnswer(this.starting, trx, ring)
    const running = trx
      .selectFrom('copilot_sessions as s')
      .where('s.call_id', '=', callId)
      .where('s.status', '=', 'running')
    const legs = running.innerJoin('participants as p', 'p.id', 's.participant_id').where('p.role', '=', 'party')
    for (const { id, hearing } of await legs.select(['s.id', 'hearing']).where('s.user_id', 'is not', null).execute())
      follow(trx, id, async () => void this.#end(id, hearing === 'running'))
  }

  /** After a connection to media: listens again, and processes inputs that were left. */
  async resume(_snapshot: MediaSnapshot, media: MediaPort): Promise<void> {
    this.#media = media
    await this.#endOver()
    for (const row of await this.#running()) {
      this.#parts.feed.told(row, [])
      void this.#listen(row)
      void this.deal(row.id)
    }
  }

  #running(): Promise<CopilotSessionRow[]> {
    const { db } = this.#parts.store
    return rowsOf(
      db,
      'running copilot sessions',
      place =>
        db
          .selectFrom('copilot_sessions')
          .selectAll()
          .where('status', '=', 'running')
          .where('node_id', '=', place('node')),
      { node: nodeOf(db) },
    )
  }

  /** Makes media report what is said in the call. Never rejects. */
  async #listen(row: CopilotSessionRow): Promise<void> {
    if (this.#media === null || row.hearing === 'none') return
    const { language } = settingsOfSession(row)
    const target = { roomId: row.call_id }
    const reply = await this.#media.request('transcript.start', { transcriptId: row.id, target, language, live: true })
    if (!isFailure(reply) || isStarted(reply) || isUndecided(reply)) return
    const change = { hearing: 'none' as const, hearing_reason: reply.message }
    await this.#guarded(row.id, () =>
      forTenant(this.#parts.store.db, tenantOf(row)).change('copilot_sessions', row.id, change),
    )
  }

  /** Processes the inputs of a session in order. Never rejects. */
  deal(sessionId: string): Promise<void> {
    return this.#inTurn(sessionId, async () => {
      while ((await this.#dealOnce(sessionId)) === AT_ONCE);
    })
  }

  /** Runs tasks of a session one after the other. Never rejects. */
  #inTurn(sessionId: string, run: () => Promise<unknown>): Promise<void> {
    const before = this.#busy.get(sessionId) ?? Promise.resolve()
    const turn = before.then(() => this.#guarded(sessionId, run))
    this.#busy.set(sessionId, turn)
    void turn.then(() => {
      if (this.#busy.get(sessionId) === turn) this.#busy.delete(sessionId)
    })
    return turn
  }

  async #guarded(sessionId: string, run: () => Promise<unknown>): Promise<void> {
    try {
      await run()
    } catch (error) {
      this.#parts.log.error({ err: error, sessionId }, 'a copilot could not deal with what was heard')
    }
  }

  async #dealOnce(sessionId: string): Promise<number> {
    const { store, vault, now } = this.#parts
    return store.transaction(async trx => {
      const inputs = await waitingInputs(trx, sessionId, AT_ONCE)
      let row = await runningSession(trx, sessionId)
      for (const waiting of inputs) {
        await trx.deleteFrom('copilot_inputs').where('id', '=', waiting.id).execute()
        if (row === undefined) continue
        const input = await inputOf(trx, row, heardIn(vault, waiting), now())
        if (input === null) continue
        row =
          input.kind === 'said'
            ? await hearSaid(this.#hearing, trx, row, input)
            : await hearNothing(this.#hearing, trx, row, input)
      }
      return inputs.length
    })
  }

  /** Called once a second, for what depends on time only. Never rejects. */
  async tick(): Promise<void> {
    await this.#endOver()
    for (const row of await this.#running()) {
      const { id } = row
      await this.#guarded(id, () => this.#askWhetherHeard(row))
      await this.#guarded(id, () => this.#catchUp(row))
      await this.#inTurn(id, () => this.#tickOne(id))
    }
  }

  /** Notifies listeners here of messages that another node has written. */
  async #catchUp(row: CopilotSessionRow): Promise<void> {
    const { store, feed } = this.#parts
    const last = feed.lastOf(row.id)
    if (last === undefined || last >= stateOf(row).seq) return
    feed.told(row, await messagesAfter(store.db, tenantOf(row), row.id, last))
  }

  /** Starts or stops listening if the caller's consent to recording has changed. */
  async #askWhetherHeard(row: CopilotSessionRow): Promise<void> {
    const { store, feed, now } = this.#parts
    const isOurs = row.hearing === 'running' || CONSENT_REASONS.includes(row.hearing_reason ?? '')
    const call = isOurs ? await forTenant(store.db, tenantOf(row)).find('calls', row.call_id) : undefined
    if (call === undefined) return
    const reason = await refusedBy(store.db, tenantOf(row), call, now().toISOString())
    if (reason === row.hearing_reason) return
    const change = { hearing: reason === null ? ('running' as const) : ('none' as const), hearing_reason: reason }
    await forTenant(store.db, tenantOf(row)).change('copilot_sessions', row.id, change)
    const next = { ...row, ...change }
    feed.told(next, [])
    if (reason === null) await this.#listen(next)
    else if (row.hearing === 'running') await this.#media?.request('transcript.stop', { transcriptId: row.id })
  }

  #tickOne(id: string): Promise<void> {
    const { store, now } = this.#parts
    return store.transaction(async trx => {
      const row = await runningSession(trx, id)
      if (row === undefined) return
      const atMs = sessionMs(trx, row, now())
      const next = await release(this.#hearing, trx, row, atMs)
      await apply(this.#records, trx, next, [{ kind: 'tick', atMs, isQuiet: await isQuiet(trx, next) }])
    })
  }

  /** Ends the sessions whose agents have left, however that became known. */
  async #endOver(): Promise<void> {
    const { store } = this.#parts
    const over = await rowsOf(
      store.db,
      'copilot sessions that are over',
      place =>
        store.db
          .selectFrom('copilot_sessions as s')
          .leftJoin('participants as p', 'p.id', 's.participant_id')
          .leftJoin('calls as c', 'c.id', 's.call_id')
          .select(['s.id', 's.hearing'])
          .where('s.status', '=', 'running')
          .where('s.node_id', '=', place('node'))
          .where(({ or, eb }) =>
            or([
              eb('p.step', '=', 'ended'),
              eb('p.id', 'is', null),
              eb('c.id', 'is', null),
              eb('c.ended_at', 'is not', null),
            ]),
          ),
      { node: nodeOf(store.db) },
    )
    await Promise.all(over.map(({ id, hearing }) => this.#end(id, hearing === 'running')))
  }

  /** Ends a session, after waiting for its last words for a limited time. */
  async #end(id: string, isHeard: boolean): Promise<void> {
    const since = this.#ending.get(id)
    if (since !== undefined && performance.now() - since < LAST_WORDS_MS) return
    if (since === undefined && isHeard && this.#media !== null) {
      this.#ending.set(id, performance.now())
      const reply = await this.#media.request('transcript.stop', { transcriptId: id })
      if (!isFailure(reply) || !this.#ending.has(id)) return
    }
    this.#ending.delete(id)
    await this.#finish(id)
  }

  /** Never rejects. */
  async #ready(id: string): Promise<void> {
    if (this.#ending.delete(id)) await this.#finish(id)
  }

  #finish(id: string): Promise<void> {
    const { store } = this.#parts
    return this.#inTurn(id, async () => {
      while ((await this.#dealOnce(id)) === AT_ONCE);
      await store.transaction(async trx => {
        const row = await runningSession(trx, id)
        if (row === undefined) return
        await endSession(this.#records, trx, await release(this.#hearing, trx, row, null), this.#parts.closing)
      })
      this.#parts.feed.over(id)
    })
  }

  /** Resolves when nothing is being processed. */
  async idle(): Promise<void> {
    await Promise.all(this.#busy.values())
  }
}

const runningSession = (db: Db, id: string): Promise<CopilotSessionRow | undefined> =>
  db.selectFrom('copilot_sessions').selectAll().where('id', '=', id).where('status', '=', 'running').executeTakeFirst()

async function hasSession(db: Db, legId: string): Promise<boolean> {
  return (await rowBy(db, 'copilot_sessions', { participant_id: legId, status: 'running' })) !== undefined
}

/** Whether silence is expected: on hold, or in a card-payment pause. */
async function isQuiet(db: Db, row: CopilotSessionRow): Promise<boolean> {
  const tenant = tenantOf(row)
  if (await isPaused(db, tenant, row.call_id)) return true
  const held = forTenant(db, tenant).select('participants').select('id').where('call_id', '=', row.call_id)
  return (await held.where('on_hold', '=', 1).where('step', '!=', 'ended').executeTakeFirst()) !== undefined
}
