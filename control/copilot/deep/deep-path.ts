import type { Logger } from 'pino'
import { isPaused } from '../../calls/pci.ts'
import { newId } from '../../kernel/ids.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import { ask } from '../../models/ask.ts'
import type { ModelMeter } from '../../models/meter.ts'
import { type ChatModel, isModelFailure } from '../../models/model.ts'
import type { Purpose } from '../../models/tables.ts'
import { count } from '../../usage/ledger.ts'
import { passagesOn } from '../sessions/knowledge.ts'
import { apply, findSession, type RecordParts, sessionMs, settingsOfSession, stateOf } from '../sessions/records.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'
import type { ModelParts } from './answer.ts'
import { CLOSING_MS, closingWords } from './closing.ts'
import { type Judgement, type Line, linesOf, questionOf } from './question.ts'
import { verdictsOf } from './verdicts.ts'

interface DeepParts extends RecordParts, ModelParts {
  store: Store
  log: Pick<Logger, 'warn'>
  search: PassageSearch
}

/** A slower answer is about a conversation that has moved on [ms]. */
const TIMEOUT_MS = 8000

/** A request to a model for a session. */
interface Asking {
  /** Identifies the words that it is about. */
  key: string
  given: AbortController
  isSpeculative: boolean
}

interface Busy {
  asking: Asking | null
  /** Whether more was said meanwhile, so that the next request follows. */
  isWanted: boolean
}

/**
 * The deep path: after words were heard, a model is asked about them, without delaying anything else. A session has one request at a time,
 * and the next one includes what was said meanwhile. A late, bad or missing answer changes nothing.
 */
export class DeepPath {
  readonly #parts: DeepParts
  readonly #sessions = new Map<string, Busy>()
  readonly #running = new Set<Promise<void>>()

  constructor(parts: DeepParts) {
    this.#parts = parts
    parts.feed.onTold((row, messages) => this.#told(row, messages))
  }

  #told(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]): void {
    const said = messages.findLast(({ type, withdraws }) => type === 'transcript' && withdraws === null)
    if (said === undefined) {
      const summary = messages.find(({ type, path }) => type === 'summary' && path === 'fast')
      if (summary !== undefined) this.#follow(this.#close(row, summary))
      return
    }
    const { deep_path, speculative } = settingsOfSession(row).model
    const { final, text } = JSON.parse(said.body) as { final: boolean; text: string }
    if (!deep_path || text === '' || !(final || speculative)) return
    this.#follow(this.#consider(row, !final))
  }

  #follow(running: Promise<void>): void {
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  /** Until when a model may summarise this session, which is ending; null: no model will be asked. */
  closing(row: CopilotSessionRow): string | null {
    const { now, models } = this.#parts
    const { model } = settingsOfSession(row)
    if (!model.deep_path || linesOf(stateOf(row)).length === 0 || models.for(tenantOf(row), model).length === 0)
      return null
    return new Date(now().getTime() + CLOSING_MS).toISOString()
  }

  /** Replaces the session's summary by a model's summary of the whole call. Never rejects. */
  async #close(told: CopilotSessionRow, summary: CopilotMessageRow): Promise<void> {
    const { store, log, models, limit, now } = this.#parts
    this.#sessions.get(told.id)?.asking?.given.abort()
    const [tenant, settings] = [tenantOf(told), settingsOfSession(told)]
    try {
      const row = await findSession(store.db, tenant, told.id)
      if (row === undefined || row.deep === null) return
      const given = new AbortController()
      this.#sessions.set(row.id, { asking: { key: 'summary', given, isSpeculative: false }, isWanted: false })
      const isLeft = limit.take(row.id, settings.model.max_calls_per_minute, sessionMs(store.db, row, now()))
      const words = isLeft
        ? await closingWords(models.for(tenant, settings.model), settings, linesOf(stateOf(row)), {
            signal: given.signal,
            paid: this.#paid(row, 'copilot_summary'),
          })
        : null
      await store.transaction(trx => this.#closed(trx, tenant, row.id, summary, words))
    } catch (error) {
      log.warn({ err: error, sessionId: told.id }, 'a call could not be summed up by a model')
    } finally {
      this.#forget(told.id)
    }
  }

  async #closed(
    trx: Trx,
    tenant: Tenant,
    id: string,
    { seq, body }: CopilotMessageRow,
    words: object | null,
  ): Promise<void> {
    const row = await findSession(trx, tenant, id)
    // What was said may have been deleted meanwhile.
    if (row === undefined || row.deep === null) return
    await forTenant(trx, tenant).change('copilot_sessions', id, { deep: null })
    const { nowMs: atMs } = stateOf(row)
    const told = { kind: 'told', atMs, type: 'summary', path: 'deep', replaces: seq } as const
    if (words === null) afterCommit(trx, () => this.#parts.feed.wake(id))
    else await apply(this.#parts, trx, row, [{ ...told, body: { ...JSON.parse(body), ...words } }])
  }

  #forget(sessionId: string): void {
    this.#sessions.get(sessionId)?.asking?.given.abort()
    this.#sessions.delete(sessionId)
    this.#parts.limit.forget(sessionId)
  }

  /** Never rejects. */
  async #consider(told: CopilotSessionRow, isSpeculative: boolean): Promise<void> {
    const { store, log, models } = this.#parts
    try {
      const row = await findSession(store.db, tenantOf(told), told.id)
      if (row?.status !== 'running') return
      const wish = settingsOfSession(row).model
      const chosen = models.for(tenantOf(row), wish)
      if (chosen.length === 0) return
      const lines = linesOf(stateOf(row))
      const key = JSON.stringify(lines.map(({ id, text }) => [id, text]))
      const busy = this.#sessions.get(row.id) ?? { asking: null, isWanted: false }
      this.#sessions.set(row.id, busy)
      if (busy.asking !== null && busy.asking.key === key) {
        busy.asking.isSpeculative &&= isSpeculative
        return
      }
      if (busy.asking?.isSpeculative === true) busy.asking.given.abort()
      else if (busy.asking !== null) {
        busy.isWanted = true
        return
      }
      await this.#ask(row, busy, { key, given: new AbortController(), isSpeculative }, lines, chosen)
      if (!busy.isWanted || this.#sessions.get(row.id) !== busy) return
      busy.isWanted = false
      await this.#consider(row, false)
    } catch (error) {
      log.warn({ err: error, sessionId: told.id }, 'what a model made of a call could not be used')
    }
  }

  async #ask(
    row: CopilotSessionRow,
    busy: Busy,
    asking: Asking,
    lines: readonly Line[],
    models: readonly ChatModel[],
  ): Promise<void> {
    const { store, search, limit, now } = this.#parts
    const settings = settingsOfSession(row)
    if (!limit.take(row.id, settings.model.max_calls_per_minute, sessionMs(store.db, row, now()))) return
    busy.asking = asking
    const last = lines.findLast(({ party }) => party === 'customer')?.text ?? ''
    const answer = await passagesOn(search, store.db, tenantOf(row), settings, last, 1)
      .then(passages => {
        const knowledge = passages.map(({ text }) => text)
        const question = questionOf(settings, stateOf(row), lines, knowledge)
        const paid = this.#paid(row, 'copilot')
        return ask(models, question, { signal: asking.given.signal, timeoutMs: TIMEOUT_MS, paid })
      })
      .finally(() => {
        if (busy.asking === asking) busy.asking = null
      })
    // An answer about words that have changed meanwhile is discarded.
    if (asking.given.signal.aborted || isModelFailure(answer) || answer.value === null) return
    await this.#judge(row, answer.value, lines, asking)
  }

  #judge(told: CopilotSessionRow, judgement: Judgement, lines: readonly Line[], asking: Asking): Promise<void> {
    const { store, now } = this.#parts
    return store.transaction(async trx => {
      const tenant = tenantOf(told)
      const row = await findSession(trx, tenant, told.id)
      if (row?.status !== 'running' || (await isPaused(trx, tenant, row.call_id))) return
      const state = stateOf(row)
      // Discarded if the judged words have changed, or are still being spoken.
      const current = new Map(linesOf(state).map(({ id, text }) => [id, text]))
      if (lines.some(({ id, text }) => current.has(id) && current.get(id) !== text)) return
      const last = lines.at(-1)
      const isOpen = state.spans.some(({ id, isFinal }) => id === last?.id && !isFinal)
      if (asking.isSpeculative && isOpen) return
      const verdicts = verdictsOf(judgement, settingsOfSession(row), state, lines)
      const atMs = sessionMs(trx, row, now())
      const wordsEndMs = state.spans.find(({ id }) => id === last?.id)?.toMs ?? null
      const utterances = last === undefined ? [] : [last.id]
      await apply(this.#parts, trx, row, [{ kind: 'judged', atMs, utterances, wordsEndMs, verdicts }])
    })
  }

  /** For `paid` of `ask`: unusable answers cost too. */
  #paid(row: CopilotSessionRow, purpose: Purpose): ReturnType<ModelMeter['of']> {
    const { store, log, meter } = this.#parts
    const metered = meter.of(tenantOf(row), purpose, settingsOfSession(row).model)
    return (model, tokens) => {
      metered(model, tokens)
      // An answer has no ID and is counted once, so its source gets a new one.
      const sourceId = newId('usage_entry')
      const amounts = { copilot_input_tokens: tokens.inputTokens, copilot_output_tokens: tokens.outputTokens }
      const counted = store.transaction(trx => count(trx, tenantOf(row), { sourceId, at: row.created, amounts }))
      const lost = 'the tokens of a copilot could not be counted'
      this.#follow(counted.catch(error => log.warn({ err: error, sessionId: row.id }, lost)))
    }
  }

  /** Aborts running requests, and resolves when none is left. */
  async close(): Promise<void> {
    for (const id of [...this.#sessions.keys()]) this.#forget(id)
    await this.idle()
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
