import * as assert from 'uvu/assert'
import { Nonces } from '../../../sip/auth/nonces.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/auth/nonces')
const MINUTE = 60_000

function newNonces(): Nonces {
  let count = 0
  return new Nonces(() => `r${++count}`)
}

test('nodes that share a key know the nonces of each other by the time of day; others do not', () => {
  const noon = 1_750_000_000_000
  // Each node has a monotonic clock of its own.
  const node = (startedAt: number, secret = 'shared') =>
    new Nonces(() => 'r', { secret, timeOfDay: now => startedAt + now })
  const [one, other, stranger] = [node(noon), node(noon - 50 * MINUTE), node(noon, 'another')]
  const nonce = one.issue(MINUTE, 'host')
  assert.is(other.check(nonce, 52 * MINUTE, 'host'), 'fresh')
  assert.is(other.check(nonce, 57 * MINUTE, 'host'), 'stale')
  assert.is(other.check(nonce, 51 * MINUTE - 20_000, 'host'), 'fresh', 'their clocks may differ a little')
  assert.is(other.check(nonce, 50 * MINUTE, 'host'), 'stale', 'but not much')
  assert.is(other.check(nonce, 52 * MINUTE, 'elsewhere'), 'foreign')
  assert.is(stranger.check(nonce, MINUTE, 'host'), 'foreign')
  assert.is(other.use('ann', nonce, 1, 52 * MINUTE), true)
  assert.is(other.use('ann', nonce, 1, 52 * MINUTE), false)
})

test('an nc is taken once, and a higher one after it; a nonce of one account says nothing of another', () => {
  const nonces = newNonces()
  const nonce = nonces.issue(0)
  assert.equal(
    [1, 1, 3, 2].map(nc => nonces.use('ann', nonce, nc, 1)),
    [true, false, true, false],
  )
  assert.is(nonces.use('bob', nonce, 1, 1), true)
})

test('one account cannot fill what is remembered for all; what is forgotten of it is not taken again', () => {
  const nonces = newNonces()
  const mine = Array.from({ length: 60_000 }, (_, at) => nonces.issue(at / 1000))
  for (const nonce of mine) nonces.use('ann', nonce, 1, 60)
  assert.is(nonces.use('bob', nonces.issue(61), 1, 61), true, 'another account goes on')
  assert.is(nonces.use('ann', mine[0]!, 1, 62), false, 'a replay of what was forgotten')
  assert.is(nonces.use('ann', mine.at(-1)!, 1, 62), false, 'and of what is remembered')
  assert.is(nonces.use('ann', nonces.issue(62), 1, 62), true, 'the account itself goes on with a new nonce')
})

test('what has run out is forgotten, and is refused by its time', () => {
  const nonces = newNonces()
  const nonce = nonces.issue(0)
  assert.is(nonces.use('ann', nonce, 1, 0), true)
  assert.is(nonces.check(nonce, 5 * MINUTE), 'fresh')
  assert.is(nonces.use('ann', nonce, 1, 5 * MINUTE), false)
  const later = nonces.issue(11 * MINUTE)
  assert.is(nonces.use('ann', later, 1, 11 * MINUTE), true)
  assert.is(nonces.use('ann', later, 1, 11 * MINUTE), false)
  assert.is(nonces.check(nonce, 11 * MINUTE), 'stale')
})

test.run()
