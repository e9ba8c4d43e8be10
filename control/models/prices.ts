import type { TokenCounts } from './model.ts'

/** For a million tokens, by model. */
export type Prices = ReadonlyMap<string, { input: number; output: number }>

/** What an answer costs, in millionths of the currency; null: nobody has said what its model costs. */
export function costMicros(prices: Prices, model: string, { inputTokens, outputTokens }: TokenCounts): number | null {
  const price = prices.get(model)
  return price === undefined ? null : Math.round(inputTokens * price.input + outputTokens * price.output)
}
