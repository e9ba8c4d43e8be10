import type { Kysely, Migration } from 'kysely'

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
    await db.schema
      .createIndex('partner_organisations_of_partner')
      .on('partner_organisations')
      .columns(['organisation_id', 'livemode', 'id'])
      .execute()
  },
}
