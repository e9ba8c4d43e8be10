import * as assert from 'uvu/assert'
import { ArrayLease, float64Array, int16Array, uint8Array } from '../../codecs/arrays.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/arrays')

/** Of no other test. */
const LENGTH = 173

const some = (lease: ArrayLease): (Int16Array | Uint8Array | Float64Array)[] =>
  lease.during(() => [int16Array(LENGTH), uint8Array(LENGTH), uint8Array(LENGTH), float64Array(LENGTH)])

test('who comes after another has left gets its arrays, and they are erased', () => {
  const first = new ArrayLease()
  const before = some(first)
  for (const array of before) array.fill(77)
  first.end()
  const after = some(new ArrayLease())
  assert.equal(new Set(after), new Set(before))
  for (const array of after) assert.is(Math.max(...array), 0)
})

test('two that are there at the same time have nothing in common', () => {
  const first = new ArrayLease()
  some(first)
  first.end()
  const [second, third] = [some(new ArrayLease()), some(new ArrayLease())]
  for (const array of second) array.fill(77)
  for (const array of third) assert.is(Math.max(...array), 0)
  assert.is(new Set([...second, ...third]).size, 8)
})

test('what has been given back once is not given back again', () => {
  const lease = new ArrayLease()
  some(lease)
  lease.end()
  lease.end()
  const taken = [...some(new ArrayLease()), ...some(new ArrayLease())]
  assert.is(new Set(taken).size, 8)
})

test('what is made outside belongs to nobody, whatever happens inside', () => {
  const lease = new ArrayLease()
  assert.throws(() =>
    lease.during(() => {
      throw new Error('inside')
    }),
  )
  const outside = int16Array(LENGTH)
  outside.fill(77)
  lease.end()
  assert.is(outside[0], 77)
  assert.is.not(
    new ArrayLease().during(() => int16Array(LENGTH)),
    outside,
  )
})

test('whoever makes more and more does not gather it, and no more than some megabytes wait', () => {
  const gathers = new ArrayLease()
  const made = gathers.during(() => Array.from({ length: 100 }, () => int16Array(LENGTH)))
  gathers.end()
  const next = new ArrayLease().during(() => Array.from({ length: 60 }, () => int16Array(LENGTH)))
  assert.is(next.filter(array => made.includes(array)).length, 60)
  assert.is(
    new ArrayLease().during(() => made.includes(int16Array(LENGTH))),
    true,
  )
  // Five million bytes each: the second is not kept.
  const [one, two] = [new ArrayLease(), new ArrayLease()]
  const large = [one.during(() => uint8Array(5_000_000)), two.during(() => uint8Array(5_000_000))]
  one.end()
  two.end()
  const again = [new ArrayLease(), new ArrayLease()].map(lease => lease.during(() => uint8Array(5_000_000)))
  assert.is(again[0], large[0])
  assert.is(again.includes(large[1]!), false)
})

test.run()
