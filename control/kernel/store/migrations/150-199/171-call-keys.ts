import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

interface OldCall {
  id: string
  organisation_id: string
  livemode: number
  kind: string
  to_address: string
  from_address: string
  metadata: string
}

interface Old {
  calls: OldCall
  call_keys: { organisation_id: string; livemode: number; name: string; value: string; call_id: string }
}

const BATCH = 500
const SIP_USER = /^sips?:([^@;]+)@/i

/** As `calls/call-keys.ts` had it when this was written. */
function keysOf({ to_address, from_address, metadata }: OldCall): { name: string; value: string }[] {
  const numbers = [to_address, from_address].flatMap(address => [address, SIP_USER.exec(address)?.[1] ?? address])
  const pairs = Object.entries(JSON.parse(metadata) as Record<string, string>)
  return [
    ...[...new Set(numbers)].map(value => ({ name: 'number', value })),
    ...pairs.map(([key, value]) => ({ name: `metadata.${key}`, value })),
  ]
}

/** Search keys of calls: their numbers and metadata, and who had them, in the order of the list. */
export const callKeys: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'call_keys')
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('value', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull().references('calls.id').onDelete('cascade'))
      .addPrimaryKeyConstraint('call_keys_pk', ['organisation_id', 'livemode', 'name', 'value', 'call_id'])
      .execute()
    await addIndex(db, 'call_keys_of_call', 'call_keys', ['call_id'])
    const index = (table: string, column: string) =>
      addIndex(db, `${table}_of_${column}`, table, ['organisation_id', 'livemode', column, 'id'])
    for (const column of ['user_id', 'queue_id', 'ended_reason']) await index('calls', column)
    await index('call_programs', 'assistant_id')
    await keyOld(db as Kysely<Old>)
  },
}

/** The calls that were there before. */
async function keyOld(db: Kysely<Old>): Promise<void> {
  for (let after = ''; ; ) {
    const calls = await db.selectFrom('calls').selectAll().where('id', '>', after).orderBy('id').limit(BATCH).execute()
    const last = calls.at(-1)
    if (last === undefined) return
    after = last.id
    const keys = calls
      .filter(({ kind }) => kind === 'party')
      .flatMap(call =>
        keysOf(call).map(key => ({
          ...key,
          organisation_id: call.organisation_id,
          livemode: call.livemode,
          call_id: call.id,
        })),
      )
    for (const row of keys) await db.insertInto('call_keys').values(row).execute()
  }
}
