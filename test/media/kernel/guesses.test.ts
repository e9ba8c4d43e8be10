import * as assert from 'uvu/assert'
import { Guesses } from '../../../media/kernel/guesses.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/guesses')
const [HOST, NEIGHBOUR] = ['192.0.2.9', '198.51.100.7']
const MINUTE_MS = 60_000

test('after ten wrong passwords of one network an account is judged no more for ten minutes; from elsewhere it is', () => {
  let now = 1
  const guesses = new Guesses(() => now)
  for (let n = 0; n < 10; n++) {
    assert.not(guesses.isLocked('pbx', HOST))
    guesses.wrong('pbx', HOST)
  }
  assert.ok(guesses.isLocked('pbx', HOST))
  assert.not(guesses.isLocked('pbx', NEIGHBOUR))
  assert.not(guesses.isLocked('other', HOST))
  now += 10 * MINUTE_MS + 1
  assert.not(guesses.isLocked('pbx', HOST))
})

test('a right password forgives what was wrong before it, of its account alone', () => {
  const guesses = new Guesses(() => 0)
  for (let n = 0; n < 9; n++) guesses.wrong('pbx', HOST)
  guesses.right('pbx', HOST)
  guesses.wrong('pbx', HOST)
  assert.not(guesses.isLocked('pbx', HOST))
})

test('who tries many accounts is not judged for any after a hundred', () => {
  const guesses = new Guesses(() => 0)
  for (let n = 0; n < 100; n++) guesses.wrong(`account-${n}`, HOST)
  assert.ok(guesses.isLocked('pbx', HOST))
  assert.not(guesses.isLocked('pbx', NEIGHBOUR))
})

test.run()
