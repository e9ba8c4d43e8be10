import type { Logger } from 'pino'
import { tenantOf } from '../../calls/records.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import { ask } from '../../models/ask.ts'
import type { Models } from '../../models/choice.ts'
import { isModelFailure } from '../../models/model.ts'
import { passagesOn } from '../sessions/knowledge.ts'
import {
  apply,
  findSession,
  isPaused,
  type RecordParts,
  sessionMs,
  settingsOfSession,
  stateOf,
} from '../sessions/records.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'
import { type Judgement, type Line, linesOf, questionOf } from './question.ts'
import { verdictsOf } from './verdicts.ts'

export interface DeepParts extends RecordParts {
  store: Store
  log: Pick<Logger, 'warn'>
  models: Models
  search: PassageSearch
}

/** A model that takes longer tells of a conversation that has moved on [ms]. */
const TIMEOUT_MS = 8000
const MINUTE_MS = 60_000

/** What is being asked of a session. */
interface Asking {
  /** The words that it is about. */
  key: string
  given: AbortController
  isSpeculative: boolean
}

interface Busy {
  asking: Asking | null
  /** More was said meanwhile. */
  isWanted: boolean
  /** When models were asked, of the last minute [ms]. */
  asked: number[]
}

/**
 * The deep path: after words were told a model is asked what it makes of them, beside everything else. One question of a session is under
 * way at a time, and what was said meanwhile is in the next one; what a model says late, badly or not at all changes nothing.
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
      if (messages.some(({ type }) => type === 'summary')) this.#forget(row.id)
      return
    }
    const { deep_path, speculative } = settingsOfSession(row).model
    const { final, text } = JSON.parse(said.body) as { final: boolean; text: string }
    if (!deep_path || text === '' || !(final || speculative)) return
    const running = this.#consider(row, !final)
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  #forget(sessionId: string): void {
    this.#sessions.get(sessionId)?.asking?.given.abort()
    this.#sessions.delete(sessionId)
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
      const busy = this.#sessions.get(row.id) ?? { asking: null, isWanted: false, asked: [] }
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
    models: ReturnType<Models['for']>,
  ): Promise<void> {
    const { store, search } = this.#parts
    const settings = settingsOfSession(row)
    const now = this.#parts.now().getTime()
    busy.asked = busy.asked.filter(at => at > now - MINUTE_MS)
    if (busy.asked.length >= settings.model.max_calls_per_minute) return
    busy.asked.push(now)
    busy.asking = asking
    const last = lines.findLast(({ party }) => party === 'customer')?.text ?? ''
    const passages = await passagesOn(search, store.db, tenantOf(row), settings, last, 1)
    const question = questionOf(
      settings,
      stateOf(row),
      lines,
      passages.map(({ text }) => text),
    )
    const answer = await ask(models, question, {
      signal: asking.given.signal,
      timeoutMs: TIMEOUT_MS,
      paid: (_model, tokens) => void this.#meter(row, tokens),
    })
    if (busy.asking === asking) busy.asking = null
    // What was guessed of words that turned out to be others, or are not certain yet, is thrown away.
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
      // The words that were judged are still those that were said, and nobody is in the middle of them.
      const current = new Map(linesOf(state).map(({ id, text }) => [id, text]))
      if (lines.some(({ id, text }) => current.has(id) && current.get(id) !== text)) return
      const last = lines.at(-1)
      const isOpen = state.spans.some(({ id, isFinal }) => id === last?.id && !isFinal)
      if (asking.isSpeculative && isOpen) return
      const verdicts = verdictsOf(judgement, settingsOfSession(row), state, lines)
      const atMs = sessionMs(row, now())
      const wordsEndMs = state.spans.find(({ id }) => id === last?.id)?.toMs ?? null
      const utterances = last === undefined ? [] : [last.id]
      await apply(this.#parts, trx, row, [{ kind: 'judged', atMs, utterances, wordsEndMs, verdicts }])
    })
  }

  /** Bad answers are paid for too. Never rejects. */
  async #meter(row: CopilotSessionRow, { inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) {
    const { store, log } = this.#parts
    try {
      await store.db
        .updateTable('copilot_sessions')
        .set(({ eb }) => ({
          input_tokens: eb('input_tokens', '+', inputTokens),
          output_tokens: eb('output_tokens', '+', outputTokens),
        }))
        .where('id', '=', row.id)
        .execute()
    } catch (error) {
      log.warn({ err: error, sessionId: row.id }, 'the tokens of a copilot could not be counted')
    }
  }

  /** Gives up what is under way, and resolves when nothing is. */
  async close(): Promise<void> {
    for (const id of [...this.#sessions.keys()]) this.#forget(id)
    await this.idle()
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
