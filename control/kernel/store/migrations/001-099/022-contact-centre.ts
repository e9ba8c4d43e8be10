import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex, type Columns, createWith, tenantTable } from '../columns.ts'

async function createTable(db: Kysely<unknown>, name: string, { id, ...others }: Columns): Promise<void> {
  const table = tenantTable(db, name)
  if (id === undefined) return createWith(table, others)
  await createWith(
    table.addColumn('id', 'text', column => column.primaryKey()),
    others,
  )
  await index(db, name, ['id'])
}

/** An index whose first columns are the tenant's. */
const index = (db: Kysely<unknown>, table: string, columns: string[], isUnique = false): Promise<void> =>
  addIndex(db, `${table}_by_${columns.join('_')}`, table, ['organisation_id', 'livemode', ...columns], { isUnique })

async function people(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'teams', { id: 'text', name: 'text', created: 'text' })
  await createTable(db, 'users', {
    id: 'text',
    name: 'text',
    email: 'text',
    email_verified: 'integer',
    role: 'text',
    status: 'text',
    team_id: 'text?',
    extension: 'text?',
    billing: 'integer',
    takes_seat: 'integer',
    last_login: 'text?',
    created: 'text',
  })
  await index(db, 'users', ['email'], true)
  await index(db, 'users', ['extension'], true)
  await index(db, 'users', ['team_id'])
  await createTable(db, 'invitations', { id: 'text', user_id: 'text', expires_at: 'text', created: 'text' })
  await createTable(db, 'agent_statuses', { id: 'text', status: 'text', since: 'text' })
}

async function queues(db: Kysely<unknown>): Promise<void> {
  const document: Columns = { settings: 'text', created: 'text', updated: 'text' }
  await createTable(db, 'queues', { id: 'text', name: 'text', ...document })
  await createTable(db, 'queue_calls', { id: 'text', queue_id: 'text', joined_at: 'text', offered_to: 'text?' })
  await index(db, 'queue_calls', ['queue_id'])
  await createTable(db, 'assistants', { id: 'text', name: 'text', flow_id: 'text?', ...document })
  await index(db, 'assistants', ['flow_id'])
  await createTable(db, 'client_tokens', {
    id: 'text',
    assistant_id: 'text?',
    agent_user_id: 'text?',
    origin: 'text?',
    metadata: 'text',
    expires_at: 'text',
    used_at: 'text?',
    created: 'text',
  })
  await createTable(db, 'copilot_profiles', {
    id: 'text',
    name: 'text',
    version: 'integer',
    template_id: 'text?',
    flow_id: 'text?',
    ...document,
  })
  await index(db, 'copilot_profiles', ['flow_id'])
}

async function callbacks(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'callbacks', {
    id: 'text',
    phone: 'text',
    open_phone: 'text?',
    name: 'text',
    status: 'text',
    source: 'text',
    site_id: 'text?',
    due_at: 'text',
    window_end: 'text?',
    priority: 'integer',
    route: 'text',
    queue_id: 'text?',
    agent_id: 'text?',
    assistant_id: 'text?',
    attempts: 'integer',
    max_attempts: 'integer',
    last_attempt_at: 'text?',
    last_result: 'text?',
    call_id: 'text?',
    origin_call_id: 'text?',
    notes: 'text',
    summary: 'text?',
    sla_at: 'text?',
    merged_requests: 'integer',
    web_context: 'text?',
    metadata: 'text',
    completed_at: 'text?',
    created: 'text',
    updated: 'text',
  })
  await index(db, 'callbacks', ['open_phone'], true)
  await index(db, 'callbacks', ['status', 'id'])
  await addIndex(db, 'callbacks_open', 'callbacks', ['status', 'window_end'])
  await createTable(db, 'callback_requests', { origin_call_id: 'text', callback_id: 'text' })
  await index(db, 'callback_requests', ['origin_call_id'], true)
}

/** People, queues, assistants, client tokens, copilot profiles, callbacks, and the organisation's settings for them. */
export const contactCentre: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await people(db)
    await queues(db)
    await callbacks(db)
    await addColumns(db, 'organisations', { country: 'text?', business_hours: 'text?', callbacks: 'text?' })
  },
}
