import type { Tenant } from '../kernel/tenancy.ts'
import type { ChatModel } from './model.ts'
import { type ModelProvider, OpenAiClient } from './openai-client.ts'
import type { WireSettings } from './openai-wire.ts'

/** Model settings of a flow's node, an assistant or a copilot profile. Absent or empty fields are left to the next one. */
export interface ModelWish {
  model?: string | null
  /** The model to ask if `model` fails. */
  fallback_model?: string | null
  temperature?: number | null
  api?: WireSettings['api']
  priority?: boolean
}

/** The operator's provider and default model. */
type OperatorsModels = ModelProvider & { defaultModel: string }

/** Name by which settings refer to the operator's default model. */
export const OPERATORS_CHOICE = 'default'

/** The language models of this installation. Only here is it decided which of them is asked. */
export class Models {
  readonly #defaultModel: string
  readonly #client: OpenAiClient | null

  constructor(operators: OperatorsModels | null) {
    this.#defaultModel = operators?.defaultModel ?? ''
    this.#client = operators === null ? null : new OpenAiClient(operators)
  }

  /**
   * The models to ask, in order. `wishes` go from specific to general, and the first one that sets a field counts; the operator's default
   * comes last. Empty in test mode and without a provider.
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
