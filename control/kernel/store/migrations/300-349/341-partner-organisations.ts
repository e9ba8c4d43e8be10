import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Organisations that another one has made and runs. */
export const partnerOrganisations: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('partner_organisations')
      .addColumn('id', 'text', column => column.primaryKey().references('organisations.id'))
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('suspended', 'integer', column => column.notNull())
      .addColumn('limits', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .addColumn('updated', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'partner_organisations_of_partner', 'partner_organisations', [
      'organisation_id',
      'livemode',
      'id',
    ])
  },
}
