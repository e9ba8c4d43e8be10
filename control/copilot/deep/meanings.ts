import type { Logger } from 'pino'
import { isPaused } from '../../calls/pci.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import type { Embeddings } from '../../models/embeddings.ts'
import type { ModelMeter } from '../../models/meter.ts'
import { sentencesOf } from '../fast/objections.ts'
import type { Party } from '../fast/state.ts'
import type { Feed } from '../sessions/feed.ts'
import { passagesOnObjections } from '../sessions/knowledge.ts'
import { examplesOf, mayBeMeant, meantBy } from '../sessions/meant.ts'
import { apply, findSession, type RecordParts, sessionMs, settingsOfSession } from '../sessions/records.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'
import { CallLimit } from './call-limit.ts'

interface MeaningParts extends RecordParts {
  store: Store
  log: Pick<Logger, 'warn'>
  feed: Feed
  search: PassageSearch
  vectors: Embeddings
  meter: ModelMeter
}

interface TranscriptBody {
  utterance_id: string
  party: Party
  text: string
  final: boolean
  end_ms: number
}

/** Words of a customer, as they were shown. */
interface Told {
  id: string
  text: string
  toMs: number
}

/**
 * Asks a provider for embeddings of what customers say. The fast path has already judged the words by our own vectors; the provider's then
 * confirm, extend or withdraw its result. If they are late, unusable or missing, that result stays.
 */
export class Meanings {
  readonly #parts: MeaningParts
  readonly #running = new Set<Promise<void>>()
  /** `max_calls_per_minute` applies to these requests separately. */
  readonly #limit = new CallLimit()

  constructor(parts: MeaningParts) {
    this.#parts = parts
    parts.feed.onTold((row, messages) => this.#told(row, messages))
  }

  #told(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]): void {
    if (messages.some(({ type }) => type === 'summary')) this.#limit.forget(row.id)
    const settings = settingsOfSession(row)
    if (!mayBeMeant(tenantOf(row), settings) || examplesOf(settings).length === 0) return
    for (const { type, withdraws, body } of messages) {
      if (type !== 'transcript' || withdraws !== null) continue
      const { party, final, text, utterance_id: id, end_ms: toMs } = JSON.parse(body) as TranscriptBody
      if (party !== 'customer' || text === '' || !(final || settings.model.speculative)) continue
      const running = this.#learn(row, { id, text, toMs })
      this.#running.add(running)
      void running.finally(() => this.#running.delete(running))
    }
  }

  /** Never rejects. */
  async #learn(row: CopilotSessionRow, told: Told): Promise<void> {
    const { vectors, meter, now, log, store } = this.#parts
    const [tenant, settings] = [tenantOf(row), settingsOfSession(row)]
    const isUnknown = (text: string): boolean => vectors.known(text) === undefined
    const [said, examples] = [sentencesOf(told.text).filter(isUnknown), examplesOf(settings).filter(isUnknown)]
    if (said.length + examples.length === 0) return
    if (!this.#limit.take(row.id, settings.model.max_calls_per_minute, sessionMs(store.db, row, now()))) return
    const key = `${tenant.organisationId} ${tenant.livemode}`
    await vectors.learn(said, examples, { key, paid: meter.of(tenant, 'embeddings') })
    try {
      await store.transaction(trx => this.#meant(trx, tenant, row.id, told))
    } catch (error) {
      log.warn({ err: error, sessionId: row.id }, 'what a customer meant could not be told')
    }
  }

  async #meant(trx: Parameters<typeof apply>[1], tenant: Tenant, sessionId: string, told: Told): Promise<void> {
    const { vectors, search, now } = this.#parts
    const row = await findSession(trx, tenant, sessionId)
    if (row?.status !== 'running' || (await isPaused(trx, tenant, row.call_id))) return
    const settings = settingsOfSession(row)
    const meant = meantBy(vectors, tenant, settings, told.text)
    if (Object.keys(meant).length === 0) return
    const onObjection = await passagesOnObjections(search, trx, tenant, settings, told.text, meant)
    const atMs = sessionMs(trx, row, now())
    await apply(this.#parts, trx, row, [{ kind: 'meant', atMs, ...told, meant, onObjection }])
  }

  /** Aborts running requests, and resolves when none is left. */
  async close(): Promise<void> {
    this.#parts.vectors.close()
    await this.idle()
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
