import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { insertParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { openStore, type Store } from '../../../control/kernel/store/store.ts'
import { insertOrganisation } from '../../../control/organisation/routes.ts'
import { suite } from '../../harness.ts'
import { makeDatabase } from '../database.ts'

const test = suite('control/calls/let-in-migration')

/** The indexes of 425, and those in whose place they are. */
async function undoOfOneCall(db: Store['db']): Promise<void> {
  for (const index of [
    'events_of_call',
    'events_of_type',
    'call_marks_own_call',
    'copilot_sessions_of_call',
    'call_steps_of_call',
  ])
    await db.schema.dropIndex(index).execute()
  for (const index of ['usage_entries_of_source', 'calls_unusual', 'calls_conferences'])
    await db.schema.dropIndex(index).execute()
  const index = (name: string, table: string, column: string) =>
    db.schema.createIndex(name).on(table).column(column).execute()
  await index('events_call', 'events', 'call_id')
  await index('events_time', 'events', 'timestamp')
  await index('call_steps_call', 'call_steps', 'call_id')
  await index('call_marks_of_call', 'call_marks', 'call_id')
  await index('copilot_sessions_own_call_id', 'copilot_sessions', 'call_id')
}

test('legs of a running product keep what `admitted` said of them: a PIN proved, dialled from within, waited and let in', async () => {
  const { target, remove } = await makeDatabase()
  const before = await openStore(target)
  const organisationId = await insertOrganisation(before.db, { name: 'One', pciEnabled: false, now: new Date() })
  const tenant = { organisationId, livemode: true }
  const legs = [
    ['inbound', 0, [0, 0]],
    ['inbound', 1, [1, 0]],
    ['inbound', 2, [1, 1]],
    ['outbound', 0, [0, 0]],
    ['outbound', 1, [0, 1]],
  ] as const
  const ids = legs.map(() => newId('participant'))
  await before.transaction(async trx => {
    for (const [i, [direction]] of legs.entries()) {
      const party = { direction, to: '1', from: '2', target: 'room' as const, roomId: 'room_1', connectionId: null }
      const call = { callId: newId('call'), legId: ids[i]!, metadata: {}, role: 'member' as const, muted: false }
      await insertParty(trx, tenant, { ...party, ...call }, '2026-11-27T10:00:00.000Z')
    }
  })
  // Everything since, backwards.
  await undoOfOneCall(before.db)
  // 426 and 427.
  await before.db.schema.alterTable('queue_calls').dropColumn('back_at').execute()
  for (const index of ['client_tokens_expiry', 'browser_guests_created'])
    await before.db.schema.dropIndex(index).execute()
  for (const table of ['copilot_sessions', 'call_steps'])
    await before.db.schema.dropIndex(`${table}_with_words`).execute()
  await before.db.schema.alterTable('copilot_sessions').dropColumn('forgotten').execute()
  for (const table of ['api_keys', 'copilot_sessions', 'transcript_segments']) {
    await before.db.schema.dropIndex(`${table}_own_id`).execute()
    if (table !== 'api_keys') await before.db.schema.dropIndex(`${table}_own_call_id`).execute()
  }
  await before.db.schema.alterTable('nodes').dropColumn('ws').execute()
  await before.db.schema.alterTable('nodes').dropColumn('sip').execute()
  await before.db.schema.alterTable('media_streams').dropColumn('ended_detail').execute()
  await before.db.schema.alterTable('nodes').dropColumn('url').execute()
  const legsBefore = before.db.schema.alterTable('participants')
  await legsBefore.dropColumn('ended_by').execute()
  await legsBefore.dropColumn('revision').execute()
  await legsBefore.dropColumn('admitted').execute()
  await before.db.schema.alterTable('rings').dropColumn('holds').execute()
  await legsBefore.renameColumn('pin_proved', 'admitted').execute()
  await legsBefore.dropColumn('let_in').execute()
  await legsBefore.dropColumn('holds').execute()
  for (const [i, [, admitted]] of legs.entries()) {
    await sql`update participants set admitted = ${admitted} where id = ${ids[i]}`.execute(before.db)
  }
  await sql`delete from kysely_migration where name >= '412'`.execute(before.db)
  await before.close()
  const after = await openStore(target)
  const rows = await after.db.selectFrom('participants').select(['id', 'pin_proved', 'let_in']).execute()
  const known = new Map(rows.map(row => [row.id, [row.pin_proved, row.let_in]]))
  assert.equal(
    ids.map(id => known.get(id)),
    legs.map(([, , facts]) => facts),
  )
  const { rows: forOlder } = await sql<{ id: string; admitted: number }>`select id, admitted from participants`.execute(
    after.db,
  )
  assert.equal(
    ids.map(id => forOlder.find(row => row.id === id)?.admitted),
    [0, 1, 1, 0, 1],
    'older nodes find it where it was',
  )
  await after.close()
  await remove()
})

test.run()
