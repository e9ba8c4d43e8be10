import * as assert from 'uvu/assert'
import { jsonCopy } from '../../../control/kernel/json-copy.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/json-copy')

test('a copy is equal, and shares nothing with what it was made of', () => {
  const value = { text: 'a', none: null, absent: undefined, list: [1, { deep: [true] }], ['__proto__']: { n: 1 } }
  const copy = jsonCopy(value)
  assert.equal(copy, structuredClone(value))
  assert.equal(Object.keys(copy), Object.keys(value))
  assert.is(Object.getPrototypeOf(copy), Object.prototype)
  ;(copy.list[1] as { deep: boolean[] }).deep.push(false)
  assert.equal(value.list, [1, { deep: [true] }])
})

test.run()
