import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    model_usage: ModelUsageTable
  }
}

/** What a model is asked for. */
export const PURPOSES = [
  'copilot',
  'copilot_ask',
  'copilot_summary',
  'call_summary',
  'qa_evaluation',
  'embeddings',
] as const
export type Purpose = (typeof PURPOSES)[number]

export interface ModelUsageTable extends TenantColumns {
  /** Of UTC, `2026-11-21`. */
  day: string
  purpose: Purpose
  model: string
  /** What it cost is known; what is not has rows of its own. */
  is_priced: 0 | 1
  input_tokens: number
  output_tokens: number
  /** Millionths of the currency of the prices. */
  cost_micros: number
}
