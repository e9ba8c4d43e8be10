import type { ColumnDefinitionBuilder, CreateTableBuilder, Kysely, Migration } from 'kysely'

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull()

const tenantTable = (db: Kysely<unknown>, name: string): CreateTableBuilder<string, string> =>
  db.schema
    .createTable(name)
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
    .addColumn('livemode', 'integer', required) as CreateTableBuilder<string, string>

/** What leads calls, what happened to it, what it did, and the messages that callers left. */
export const programs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'call_programs')
      .addColumn('leg_id', 'text', required)
      .addColumn('kind', 'text', required)
      .addColumn('flow_id', 'text')
      .addColumn('flow_version', 'integer')
      .addColumn('assistant_id', 'text')
      .addColumn('status', 'text', required)
      .addColumn('state', 'text')
      .addColumn('child_leg', 'text')
      .addColumn('end_reason', 'text')
      .addColumn('hops', 'integer', required)
      .addColumn('created', 'text', required)
      .addColumn('ended_at', 'text')
      .execute()
    await tenantTable(db, 'call_inputs')
      .addColumn('call_id', 'text', required)
      .addColumn('body', 'text', required)
      .execute()
    await tenantTable(db, 'call_steps')
      .addColumn('call_id', 'text', required)
      .addColumn('kind', 'text', required)
      .addColumn('entry', 'text', required)
      .addColumn('timing', 'text')
      .addColumn('at', 'text', required)
      .execute()
    await tenantTable(db, 'voicemails')
      .addColumn('call_id', 'text', required)
      .addColumn('queue_id', 'text')
      .addColumn('user_id', 'text')
      .addColumn('from_address', 'text', required)
      .addColumn('status', 'text', required)
      .addColumn('file', 'text')
      .addColumn('duration_ms', 'integer')
      .addColumn('created', 'text', required)
      .execute()
    await db.schema.createIndex('call_programs_leg').on('call_programs').columns(['leg_id']).execute()
    await db.schema.createIndex('call_programs_child').on('call_programs').columns(['child_leg']).execute()
    await db.schema.createIndex('call_programs_status').on('call_programs').columns(['status']).execute()
    await db.schema.createIndex('call_inputs_call').on('call_inputs').columns(['call_id', 'id']).execute()
    await db.schema.createIndex('call_steps_call').on('call_steps').columns(['call_id', 'id']).execute()
    await db.schema
      .createIndex('voicemails_tenant')
      .on('voicemails')
      .columns(['organisation_id', 'livemode', 'id'])
      .execute()
  },
}
