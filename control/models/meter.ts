import type { Logger } from 'pino'
import { newId } from '../kernel/ids.ts'
import type { Store } from '../kernel/store/store.ts'
import { ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { count } from '../usage/ledger.ts'
import type { TokenCounts } from './model.ts'
import { costMicros, type Prices } from './prices.ts'
import type { Purpose } from './tables.ts'

interface MeterParts {
  store: Store
  now: () => Date
  log: Pick<Logger, 'warn'>
  prices: Prices
}

/** Counts the paid usage of models, at the prices of that time, because prices change. */
export class ModelMeter {
  readonly #parts: MeterParts
  readonly #running = new Set<Promise<void>>()

  constructor(parts: MeterParts) {
    this.#parts = parts
  }

  /** For `paid` of `ask`. Priority processing has a price of its own, under the name `model:priority`. */
  of(tenant: Tenant, purpose: Purpose, { priority = false } = {}): (model: string, tokens: TokenCounts) => void {
    return (model, tokens) => {
      const running = this.#add(tenant, purpose, priority ? `${model}:priority` : model, tokens)
      this.#running.add(running)
      void running.finally(() => this.#running.delete(running))
    }
  }

  /** Never rejects. */
  async #add(tenant: Tenant, purpose: Purpose, model: string, tokens: TokenCounts): Promise<void> {
    const { store, now, log, prices } = this.#parts
    const cost = costMicros(prices, model, tokens)
    const { inputTokens: input_tokens, outputTokens: output_tokens } = tokens
    const used = { input_tokens, output_tokens, cost_micros: cost ?? 0 }
    try {
      const at = now().toISOString()
      // An answer has no ID, and is reported once.
      const sourceId = newId('usage_entry')
      const amounts = { model_input_tokens: input_tokens, model_output_tokens: output_tokens }
      await store.transaction(async trx => {
        await count(trx, tenant, { sourceId, at, amounts })
        await trx
          .insertInto('model_usage')
          .values({
            ...ownedBy(tenant),
            day: at.slice(0, 10),
            purpose,
            model: model.slice(0, 200),
            is_priced: cost === null ? 0 : 1,
            ...used,
          })
          .onConflict(conflict =>
            conflict
              .columns(['organisation_id', 'livemode', 'day', 'purpose', 'model', 'is_priced'])
              .doUpdateSet(({ eb, ref }) => ({
                input_tokens: eb(ref('model_usage.input_tokens'), '+', input_tokens),
                output_tokens: eb(ref('model_usage.output_tokens'), '+', output_tokens),
                cost_micros: eb(ref('model_usage.cost_micros'), '+', used.cost_micros),
              })),
          )
          .execute()
      })
    } catch (error) {
      log.warn({ err: error, purpose }, 'the tokens of a model could not be counted')
    }
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
