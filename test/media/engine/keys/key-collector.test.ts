import * as assert from 'uvu/assert'
import { KeyCollector, type KeyRules } from '../../../../media/engine/key-collector.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/engine/key-collector')

const RULES: KeyRules = { maxDigits: 4, terminators: '#', firstDigitTimeoutMs: 5000, interDigitTimeoutMs: 2000 }

test('the collection ends by length with the last key', () => {
  const keys = new KeyCollector(RULES, false, 0)
  assert.is(keys.key('1', 10), null)
  assert.is(keys.key('2', 20), null)
  assert.is(keys.key('3', 30), null)
  assert.equal(keys.key('4', 40), { digits: '1234', ended: 'length' })
})

test('the collection ends by a terminator, which is no digit of the result', () => {
  const keys = new KeyCollector(RULES, false, 0)
  keys.key('1', 10)
  assert.equal(keys.key('#', 20), { digits: '1', ended: 'terminator' })
})

test('a terminator as the first key gives no digits', () => {
  assert.equal(new KeyCollector(RULES, true, 0).key('#', 20), { digits: '', ended: 'terminator' })
})

test('each of several terminators ends it, and keys that are none are digits', () => {
  const rules = { ...RULES, terminators: '*#' }
  assert.equal(new KeyCollector(rules, false, 0).key('*', 1), { digits: '', ended: 'terminator' })
  const none = new KeyCollector({ ...RULES, terminators: '' }, false, 0)
  none.key('#', 1)
  none.key('*', 2)
  assert.equal(none.advance(2002), { digits: '#*', ended: 'timeout' })
})

test('without a prompt the time for the first digit counts from the start', () => {
  const keys = new KeyCollector(RULES, false, 100)
  assert.is(keys.advance(5099), null)
  assert.equal(keys.advance(5100), { digits: '', ended: 'timeout' })
})

test('with a prompt the time for the first digit counts from its end', () => {
  const keys = new KeyCollector(RULES, true, 0)
  assert.is(keys.advance(60_000), null)
  keys.promptEnded(60_000)
  assert.is(keys.advance(64_999), null)
  assert.equal(keys.advance(65_000), { digits: '', ended: 'timeout' })
})

test('each key starts the time between digits again', () => {
  const keys = new KeyCollector(RULES, false, 0)
  keys.key('1', 4900)
  assert.is(keys.advance(6899), null)
  keys.key('2', 6899)
  assert.is(keys.advance(8898), null)
  assert.equal(keys.advance(8899), { digits: '12', ended: 'timeout' })
})

test('the first key stops the prompt, and its end has no meaning any more', () => {
  const keys = new KeyCollector(RULES, true, 0)
  assert.ok(keys.prompting)
  keys.key('1', 1000)
  assert.not(keys.prompting)
  keys.promptEnded(2900)
  assert.equal(keys.advance(3000), { digits: '1', ended: 'timeout' })
})

test('a terminator stops the prompt too', () => {
  const keys = new KeyCollector(RULES, true, 0)
  keys.key('#', 1000)
  assert.not(keys.prompting)
})

test('a card-payment pause forgets the keys before it, and no time-out runs in it', () => {
  const keys = new KeyCollector(RULES, false, 0)
  keys.key('1', 1000)
  for (let now = 1000; now <= 9000; now += 1000) keys.standStill(now)
  assert.is(keys.advance(13_999), null)
  assert.equal(keys.advance(14_000), { digits: '', ended: 'timeout' })
})

test('who was busy with something else has the time between digits anew; while the prompt plays, none runs', () => {
  const keys = new KeyCollector(RULES, false, 0)
  keys.key('1', 1000)
  keys.rearm(2900)
  assert.is(keys.advance(4899), null)
  assert.equal(keys.advance(4900), { digits: '1', ended: 'timeout' })
  const prompted = new KeyCollector(RULES, true, 0)
  prompted.rearm(100)
  assert.is(prompted.advance(60_000), null)
})

test('the result is given once', () => {
  const keys = new KeyCollector({ ...RULES, maxDigits: 1 }, false, 0)
  assert.ok(keys.key('1', 1))
  assert.ok(keys.over)
  assert.is(keys.key('2', 2), null)
  assert.is(keys.key('#', 2), null)
  assert.is(keys.advance(99_999), null)
})

test.run()
