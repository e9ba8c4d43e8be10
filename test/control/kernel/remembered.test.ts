import * as assert from 'uvu/assert'
import { remembered } from '../../../control/kernel/remembered.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/remembered')

test('what is asked for again and again is made once, while others come and go', () => {
  const made: string[] = []
  const length = remembered(4, text => made.push(text))
  for (let i = 0; i < 100; i++) for (const text of ['often', `once ${i}`]) length(text)
  assert.is(made.filter(text => text === 'often').length, 1)
  assert.is(made.length, 101)
})

test('what was not asked for while as many others came as are remembered is made anew', () => {
  const made: string[] = []
  const length = remembered(4, text => made.push(text))
  for (const text of ['a', 'b', 'c', 'd', 'e', 'f', 'a']) length(text)
  assert.equal(made, ['a', 'b', 'c', 'd', 'e', 'f', 'a'])
})

test.run()
