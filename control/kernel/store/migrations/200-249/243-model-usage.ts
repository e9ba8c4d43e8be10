import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** Paid usage of language models, by day, purpose and model. */
export const modelUsage: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'model_usage')
      .addColumn('day', 'text', column => column.notNull())
      .addColumn('purpose', 'text', column => column.notNull())
      .addColumn('model', 'text', column => column.notNull())
      .addColumn('is_priced', 'integer', column => column.notNull())
      .addColumn('input_tokens', 'bigint', column => column.notNull())
      .addColumn('output_tokens', 'bigint', column => column.notNull())
      .addColumn('cost_micros', 'bigint', column => column.notNull())
      .addPrimaryKeyConstraint('model_usage_key', [
        'organisation_id',
        'livemode',
        'day',
        'purpose',
        'model',
        'is_priced',
      ])
      .execute()
  },
}
