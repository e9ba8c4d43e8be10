import * as assert from 'uvu/assert'
import { Nonces } from '../../../sip/auth/nonces.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/auth/nonces')
const MINUTE = 60_000

function newNonces(): Nonces {
  let count = 0
  return new Nonces('secret', () => `r${++count}`)
}

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
