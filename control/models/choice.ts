import type { Tenant } from '../kernel/tenancy.ts'
import type { ChatModel } from './model.ts'
import { type ModelProvider, OpenAiClient } from './openai-client.ts'
import type { WireSettings } from './openai-wire.ts'

/** A wish for a model: by a flow's node, an assistant or a copilot profile. Absent or empty fields are left to others. */
export interface ModelWish {
  model?: string | null
  /** Asked when the model fails. */
  fallback_model?: string | null
  temperature?: number | null
  api?: WireSettings['api']
  priority?: boolean
}

/** The operator's provider, and the model of those who name none. */
export type OperatorsModels = ModelProvider & { defaultModel: string }

/** How a wish names the model that the operator has chosen. */
export const OPERATORS_CHOICE = 'default'

/** The language models of this installation, and the one place that says which of them is asked. */
export class Models {
  readonly #defaultModel: string
  readonly #client: OpenAiClient | null

  constructor(operators: OperatorsModels | null) {
    this.#defaultModel = operators?.defaultModel ?? ''
    this.#client = operators === null ? null : new OpenAiClient(operators)
  }

  /**
   * The models to ask, in order. Wishes go from specific to general, and the first that sets a field wins; the operator's choice comes
   * last. None in test mode, and none without a provider.
   */
  for({ livemode }: Pick<Tenant, 'livemode'>, ...wishes: readonly (ModelWish | null)[]): ChatModel[] {
    const client = this.#client
    if (!livemode || client === null) return []
    const first = <T>(of: (wish: ModelWish) => T | null | undefined): T | undefined =>
      wishes.map(wish => (wish === null ? null : of(wish))).find(value => value != null && value !== '') ?? undefined
    const fallback = first(wish => wish.fallback_model)
    const settings = {
      temperature: first(wish => wish.temperature) ?? null,
      api: first(wish => wish.api) ?? 'chat',
      priority: first(wish => wish.priority) ?? false,
    } as const
    return [first(wish => wish.model) ?? OPERATORS_CHOICE, ...(fallback === undefined ? [] : [fallback])].map(name =>
      client.model({ ...settings, model: name === OPERATORS_CHOICE ? this.#defaultModel : name }),
    )
  }
}
