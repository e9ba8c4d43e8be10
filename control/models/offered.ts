import Type from 'typebox'
import { catalogueRoutes } from '../http/catalogue.ts'
import { didYouMean } from '../http/did-you-mean.ts'
import { invalid, type Problem } from '../http/errors.ts'
import { operations, type Route } from '../http/route.ts'
import type { Config } from '../kernel/config/settings.ts'
import { nullable } from '../kernel/schema.ts'
import { OPERATORS_CHOICE } from './choice.ts'

type ModelConfig = Partial<Pick<Config, 'modelUrl' | 'modelName' | 'modelNames' | 'modelPrices'>>

const price = (which: string) =>
  nullable(
    Type.Number({ description: `Price of a million tokens that ${which}, as set by the operator. Null: not set.` }),
  )

const modelSchema = Type.Object({
  id: Type.String({ description: 'Name it as `model.model` of an assistant or a copilot profile, or in a flow.' }),
  object: Type.Literal('model'),
  livemode: Type.Boolean(),
  name: Type.String(),
  provider: Type.String({
    description: 'Host of the provider. `offline`: the built-in model, which answers from the knowledge base.',
  }),
  is_default: Type.Boolean({ description: 'The default model.' }),
  input_price: price('go in'),
  output_price: price('come out'),
})

/** The language models that settings may name: the operator's default, and those that the operator lists or has set a price for. */
export class OfferedModels {
  readonly #config: ModelConfig
  readonly #ids: readonly string[]

  constructor(config: ModelConfig) {
    this.#config = config
    const { modelUrl = null, modelName = '', modelNames = [], modelPrices = new Map() } = config
    // Priority processing has a price of its own, but is not another model.
    const priced = [...modelPrices.keys()].map(name => name.replace(/:priority$/, ''))
    const named = modelUrl === null ? [] : [modelName, ...modelNames, ...priced]
    this.#ids = [...new Set([OPERATORS_CHOICE, ...named])].filter(id => id !== '')
  }

  /** Why a model cannot be named. Empty, null and absent leave the choice to others. */
  problem(param: string, model: string | null | undefined): Problem | null {
    if (model == null || model === '' || this.#ids.includes(model)) return null
    if ((this.#config.modelUrl ?? null) === null) {
      const offline = `No such model: ${model}. No provider is configured (TANDEM_MODEL_URL), so the only model is \`default\`.`
      return invalid(param, offline)
    }
    const meant = didYouMean(model, this.#ids)
    const hint = meant === null ? '`GET /models` lists those that there are.' : `Did you mean ${meant}?`
    return invalid(param, `No such model: ${model}. ${hint}`)
  }

  all({ livemode }: { livemode: boolean }) {
    const { modelUrl = null, modelName = '', modelPrices = new Map() } = this.#config
    const provider = modelUrl === null ? 'offline' : new URL(modelUrl).host
    return this.#ids.map(id => {
      const isDefault = id === OPERATORS_CHOICE
      const name = !isDefault ? id : modelUrl === null ? 'Offline' : modelName
      const cost = modelPrices.get(name)
      return {
        ...{ id, object: 'model' as const, livemode, name, provider, is_default: isDefault },
        ...{ input_price: cost?.input ?? null, output_price: cost?.output ?? null },
      }
    })
  }
}

/** Routes of the offered models. */
export const modelRoutes = (models: OfferedModels): Route[] =>
  catalogueRoutes({
    api: operations('Voices and models', 'assistants'),
    reply: modelSchema,
    description:
      "The language models that assistants, copilot profiles and flows may name. Other names are refused. `default` is the operator's choice.",
    all: of => models.all(of),
  })
