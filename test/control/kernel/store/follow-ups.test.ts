import * as assert from 'uvu/assert'
import { followUp } from '../../../../control/kernel/store/after-commit.ts'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase } from '../../database.ts'

const test = suite('control/kernel/store/follow-ups')

async function opened(): Promise<{ store: Store; told: string[]; close: () => Promise<void> }> {
  const database = await makeDatabase()
  const store = await openStore(database.target)
  store.followUps.performedBy(({ run }) => run({} as never))
  const close = async (): Promise<void> => {
    await store.close()
    await database.remove()
  }
  return { store, told: [], close }
}

test('what follows a commit is done once, after it, in the order in which it was asked for', async () => {
  const { store, told, close } = await opened()
  await store.transaction(async trx => {
    followUp(trx, 'call_1', async () => void told.push('first'))
    followUp(trx, 'call_1', async () => void told.push('second'), 'the same')
    followUp(trx, 'call_1', async () => void told.push('asked for twice'), 'the same')
    assert.equal(told, [])
  })
  await store.followUps.idle()
  assert.equal(told, ['first', 'second'])
  await close()
})

test('what was to follow is not done after a rollback, and once where the transaction was run again', async () => {
  const { store, told, close } = await opened()
  const failing = store.transaction(async trx => {
    followUp(trx, 'call_1', async () => void told.push('rolled back'))
    throw new Error('a bug')
  })
  await failing.catch(() => {})
  let tries = 0
  await store.transaction(async trx => {
    followUp(trx, 'call_1', async () => void told.push('committed'))
    if (tries++ === 0) throw Object.assign(new Error('in the way of another'), { code: '40001' })
  })
  await store.followUps.idle()
  assert.is(tries, 2)
  assert.equal(told, ['committed'])
  await close()
})

test('what hangs holds up its own call alone', async () => {
  const { store, told, close } = await opened()
  let release = (): void => {}
  const hung = new Promise<void>(resolve => {
    release = resolve
  })
  await store.transaction(async trx => {
    followUp(trx, 'call_1', () => hung)
    followUp(trx, 'call_1', async () => void told.push('call_1'))
    followUp(trx, 'call_2', async () => void told.push('call_2'))
  })
  await store.followUps.done('call_2')
  assert.equal(told, ['call_2'])
  release()
  await store.followUps.done('call_1')
  assert.equal(told, ['call_2', 'call_1'])
  await close()
})

test.run()
