import * as assert from 'uvu/assert'
import { Turns } from '../../../control/kernel/turns.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/turns')

test('what is of one key is done in order, also after a failure; what is of another does not wait for it', async () => {
  const turns = new Turns()
  const done: string[] = []
  let open = (): void => {}
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const slow = turns.take('a', async () => {
    await gate
    throw new Error('a bug')
  })
  const next = turns.take('a', async () => void done.push('a'))
  await turns.take('b', async () => void done.push('b'))
  assert.equal(done, ['b'])
  open()
  let failure: unknown
  await slow.catch(error => {
    failure = error
  })
  await next
  assert.equal(done, ['b', 'a'])
  assert.is((failure as Error).message, 'a bug')
})

test.run()
