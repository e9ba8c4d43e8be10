import * as assert from 'uvu/assert'
import { RateLimits } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'

const test = suite('media/protocol/rate-limit')

test('each key has a burst and then its steady rate, and is told when to try again', () => {
  const limits = new RateLimits({ burst: 3, perSecond: 0.5 })
  for (let n = 0; n < 3; n++) assert.is(limits.take('a', 1000), 0)
  assert.is(limits.take('a', 1000), 2)
  assert.ok(limits.allow('b', 1000), 'another key has a bucket of its own')
  assert.is(limits.take('a', 3000), 0)
  assert.not.ok(limits.allow('a', 3000))
})

test('of many keys those that asked longest ago are forgotten: memory is bounded', () => {
  const limits = new RateLimits({ burst: 1, perSecond: 0 })
  limits.allow('first', 0)
  limits.allow('kept', 0)
  for (let n = 0; n < 9_999; n++) {
    limits.allow(`other-${n}`, 0)
    limits.allow('kept', 0)
  }
  assert.not.ok(limits.allow('kept', 0), 'it has asked again and again')
  assert.ok(limits.allow('first', 0), 'it begins with a full bucket again')
})

test.run()
