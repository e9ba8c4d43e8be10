import type { TokenCounts } from './model.ts'

/** Prices for a million tokens, by model. */
export type Prices = ReadonlyMap<string, { input: number; output: number }>

/** The cost of an answer, in millionths of the currency; null: the model has no known price. */
export function costMicros(prices: Prices, model: string, { inputTokens, outputTokens }: TokenCounts): number | null {
  const price = prices.get(model)
  return price === undefined ? null : Math.round(inputTokens * price.input + outputTokens * price.output)
}
