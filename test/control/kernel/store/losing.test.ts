import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { openStore, type Trx } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase, testEngine } from '../../database.ts'

const test = suite(`control/kernel/store/losing on ${testEngine}`)

const NAME = 'a transaction that loses to those of other nodes again and again is carried out, and they go on'

if (testEngine !== 'postgres') test.skip(NAME, 'SQLite has one node')
else {
  test(NAME, async () => {
    const database = await makeDatabase()
    const [ours, theirs] = [await openStore(database.target), await openStore(database.target)]
    const read = (trx: Trx, name: string) =>
      trx.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirstOrThrow()
    const write = (trx: Trx, name: string, value: string) =>
      trx.updateTable('settings').set({ value }).where('name', '=', name).execute()
    await ours.transaction(trx =>
      trx
        .insertInto('settings')
        .values(['a', 'b0', 'b1', 'b2', 'b3'].map(name => ({ name, value: '' })))
        .execute(),
    )

    // Each reads what the other one writes, and theirs is the quicker one.
    let isOver = false
    let count = 0
    const others = Array.from({ length: 4 }, async (_, i) => {
      while (!isOver) {
        await theirs.transaction(async trx => {
          await read(trx, 'a')
          await write(trx, `b${i}`, String(count++))
        })
      }
    })
    const lose = async (trx: Trx): Promise<void> => {
      for (let i = 0; i < 4; i++) await read(trx, `b${i}`)
      await sleep(40)
      await write(trx, 'a', 'ours')
    }
    try {
      await ours.transaction(lose)
      const before = count
      while (count < before + 10) await sleep(5)
    } finally {
      isOver = true
      await Promise.all(others)
    }
    assert.equal(await ours.db.selectFrom('settings').select('value').where('name', '=', 'a').execute(), [
      { value: 'ours' },
    ])
    await Promise.all([ours.close(), theirs.close()])
    await database.remove()
  })
}

test.run()
