import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    model_usage: ModelUsageTable
  }
}

/** The purpose of a request to a model. */
export const PURPOSES = [
  'copilot',
  'copilot_ask',
  'copilot_summary',
  'call_summary',
  'qa_evaluation',
  'embeddings',
] as const
export type Purpose = (typeof PURPOSES)[number]

interface ModelUsageTable extends TenantColumns {
  /** UTC day, `2026-11-21`. */
  day: string
  purpose: Purpose
  model: string
  /** Usage with a known price; usage without one has rows of its own. */
  is_priced: 0 | 1
  input_tokens: number
  output_tokens: number
  /** Millionths of the currency of the prices. */
  cost_micros: number
}
