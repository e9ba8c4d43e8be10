import * as assert from 'uvu/assert'
import { noteUse } from '../../../../control/kernel/nodes/digest-uses.ts'
import { suite } from '../../../harness.ts'
import { openTestStore, testEngine } from '../../database.ts'

const test = suite(`control/kernel/nodes/digest-uses on ${testEngine}`)
const MINUTE = 60_000

test('a use of a nonce counts once at all nodes together, in whatever order they come; a lone node leaves that to media', async () => {
  const store = await openTestStore()
  const noon = Date.parse('2026-03-02T12:00:00Z')
  const note = (value: string, count: number, afterMs = 0): Promise<boolean> =>
    noteUse(store, { value, count }, new Date(noon + afterMs))
  const uses = [await note('a', 1), await note('a', 1), await note('b', 1), await note('a', 3), await note('a', 2)]
  assert.equal(uses, store.engine === 'postgres' ? [true, false, true, true, true] : [true, true, true, true, true])
  // Two nodes at once.
  const both = await Promise.all([note('c', 1), note('c', 1)])
  if (store.engine === 'postgres') assert.equal(both.sort(), [false, true])
  await note('d', 1, 11 * MINUTE)
  const kept = await store.db.selectFrom('digest_uses').select('nonce').execute()
  assert.is(kept.length, store.engine === 'postgres' ? 1 : 0, 'what has run out is forgotten')
  await store.close()
})

test.run()
