import * as assert from 'uvu/assert'
import { FairQueue } from '../../../media/kernel/fair-queue.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/fair-queue')

const all = (queue: FairQueue<string>): string => {
  let order = ''
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) order += next
  return order
}

test('each has its turn, and its own in the order in which they came', () => {
  const queue = new FairQueue<string>(10)
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.push(item[0]!, item)
  assert.is(queue.size, 6)
  assert.is(all(queue), 'a1b1c1a2b2a3')
  assert.is(queue.size, 0)
})

test('who comes while another one is served is next, and not oftener than the other', () => {
  const queue = new FairQueue<string>(10)
  for (const item of ['a1', 'a2', 'a3']) queue.push('a', item)
  assert.is(queue.shift(), 'a1')
  queue.push('b', 'b1')
  assert.is(queue.shift(), 'b1')
  queue.push('b', 'b2')
  assert.is(all(queue), 'a2b2a3')
})

test('when it is full, who has the most gives up its last; who would have as many is refused', () => {
  const queue = new FairQueue<string>(3)
  for (const item of ['a1', 'a2', 'a3']) assert.is(queue.push('a', item), null)
  assert.is(queue.push('a', 'a4'), 'a4')
  assert.is(queue.push('b', 'b1'), 'a3')
  assert.is(queue.push('b', 'b2'), 'b2')
  assert.is(queue.push('c', 'c1'), 'a2')
  assert.is(queue.push('d', 'd1'), 'd1')
  assert.is(queue.size, 3)
  assert.is(all(queue), 'a1b1c1')
})

test('a queue of none takes none', () => {
  assert.is(new FairQueue<string>(0).push('a', 'a1'), 'a1')
})

test.run()
