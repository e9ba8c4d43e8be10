import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { openStore } from '../../../control/kernel/store/store.ts'
import { suite } from '../../harness.ts'
import { makeDatabase, openMigrating } from '../database.ts'

const test = suite('control/calls/let-in-migration')

test('legs of a running product keep what `admitted` said of them: a PIN proved, dialled from within, waited and let in', async () => {
  const { target, remove } = await makeDatabase({ blank: true })
  const { db: before, migrateTo } = openMigrating(target)
  await migrateTo('411-numbered-flows')
  await sql`insert into organisations (id, name, timezone, pci_enabled, pci_mask_dtmf, pci_max_seconds, live_stream_secret,
    test_stream_secret, created, updated) values ('org_1', 'One', 'UTC', 0, 0, 0, '', '', '', '')`.execute(before)
  const legs = [
    ['inbound', 0, [0, 0]],
    ['inbound', 1, [1, 0]],
    ['inbound', 2, [1, 1]],
    ['outbound', 0, [0, 0]],
    ['outbound', 1, [0, 1]],
  ] as const
  const ids = legs.map((_, i) => `part_${i}`)
  for (const [i, [direction, admitted]] of legs.entries()) {
    await sql`insert into calls (id, organisation_id, livemode, kind, status, direction, to_address, from_address, target, record,
      metadata, created) values (${`call_${i}`}, 'org_1', 1, 'party', 'in_progress', ${direction}, '1', '2', 'room', 0, '{}', '')`.execute(
      before,
    )
    await sql`insert into participants (id, organisation_id, livemode, call_id, step, prompted, pin_tries, role, muted, deaf, created,
      admitted) values (${ids[i]}, 'org_1', 1, ${`call_${i}`}, 'seated', 0, 0, 'member', 0, 0, '', ${admitted})`.execute(
      before,
    )
  }
  await before.destroy()
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
