import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'
import { addIndex, objectTable } from '../columns.ts'

/** The usage ledger, filled with what was counted from the objects themselves so far. */
export const usageEntries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await objectTable(db, 'usage_entries')
      .addColumn('meter', 'text', column => column.notNull())
      .addColumn('quantity', 'bigint', column => column.notNull())
      .addColumn('source_id', 'text', column => column.notNull())
      .addColumn('at', 'text', column => column.notNull())
      .addUniqueConstraint('usage_entries_source', ['source_id', 'meter'])
      .execute()
    const index = (name: string, columns: string[]) => addIndex(db, `usage_entries_${name}`, 'usage_entries', columns)
    await index('of_time', ['organisation_id', 'livemode', 'at', 'meter', 'quantity'])
    await index('of_meter', ['organisation_id', 'livemode', 'meter', 'at', 'quantity'])
    await index('of_tenant', ['organisation_id', 'livemode', 'id'])
    const isServer = db.getExecutor().adapter instanceof PostgresAdapter
    for (const [code, old] of OLD.entries()) await sql.raw(enter(old, code, isServer)).execute(db)
  },
}

interface Old {
  meter: string
  from: string
  quantity: string
  source: string
  where?: string
  at?: string
}

const LASTED = 'LASTED'
const OLD: Old[] = [
  { meter: 'calls', from: 'calls', quantity: '1', source: 'id', where: "kind = 'party'" },
  {
    meter: 'answered_calls',
    from: 'calls',
    quantity: '1',
    source: 'id',
    where: "kind = 'party' and answered_at is not null",
  },
  {
    meter: 'call_ms',
    from: 'calls',
    quantity: LASTED,
    source: 'id',
    where: "kind = 'party' and answered_at is not null and ended_at is not null",
  },
  {
    meter: 'conference_sessions',
    from: 'calls',
    quantity: '1',
    source: 'id',
    where: "kind = 'conference' and answered_at is not null",
  },
  {
    meter: 'conference_ms',
    from: 'calls',
    quantity: LASTED,
    source: 'id',
    where: "kind = 'conference' and answered_at is not null and ended_at is not null",
  },
  { meter: 'media_streams', from: 'media_streams', quantity: '1', source: 'id' },
  {
    meter: 'stream_frames',
    from: 'media_streams',
    quantity: 'frames_sent',
    source: 'id',
    where: 'ended_reason is not null',
  },
  { meter: 'recordings', from: 'recordings', quantity: '1', source: 'call_id', where: "status = 'ready'" },
  { meter: 'recorded_ms', from: 'recordings', quantity: 'duration_ms', source: 'call_id', where: "status = 'ready'" },
  { meter: 'stored_bytes', from: 'recordings', quantity: 'size_bytes', source: 'call_id', where: "status = 'ready'" },
  { meter: 'stored_bytes', from: 'kb_documents', quantity: 'size_bytes', source: 'id' },
  { meter: 'stored_bytes', from: 'audio_assets', quantity: '44 + duration_ms * sample_rate / 500', source: 'id' },
  { meter: 'transcripts', from: 'transcripts', quantity: '1', source: 'id', where: "status = 'ready'" },
  { meter: 'transcribed_ms', from: 'transcripts', quantity: 'duration_ms', source: 'id', where: "status = 'ready'" },
  { meter: 'messages', from: 'messages', quantity: '1', source: 'id' },
  { meter: 'callbacks', from: 'callbacks', quantity: '1', source: 'id' },
  { meter: 'copilot_sessions', from: 'copilot_sessions', quantity: '1', source: 'id' },
  { meter: 'copilot_input_tokens', from: 'copilot_sessions', quantity: 'input_tokens', source: 'id' },
  { meter: 'copilot_output_tokens', from: 'copilot_sessions', quantity: 'output_tokens', source: 'id' },
]

/** IDs that sort by the time of the metered object and are unique: the first digit of such a time is 0, the last is the meter's. */
function enter({ meter, from, quantity, source, where = '1 = 1' }: Old, code: number, isServer: boolean): string {
  const lasted = isServer
    ? 'greatest(0, extract(epoch from (ended_at::timestamptz - answered_at::timestamptz)) * 1000)'
    : 'max(0, (julianday(ended_at) - julianday(answered_at)) * 86400000)'
  const amount = quantity === LASTED ? `coalesce(duration_ms, ${lasted})` : `coalesce(${quantity}, 0)`
  const ulid = `substr(${source}, length(${source}) - 24)`
  return `insert into usage_entries (id, organisation_id, livemode, meter, quantity, source_id, at)
    select 'use_' || '0' || substr(${ulid}, 1, 9) || '${code.toString(36)}' || substr(${ulid}, 11, 15), organisation_id, livemode, '${meter}',
      cast(round(${amount}) as bigint), ${source}, created from ${from} where ${where}`
}
