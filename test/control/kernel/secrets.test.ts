import { scryptSync } from 'node:crypto'
import * as assert from 'uvu/assert'
import { hashPin, verifyPin } from '../../../control/kernel/secrets.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/secrets')

test('a PIN is kept as a salted scrypt hash that names its cost, and only that PIN fits it', async () => {
  const [hash, other] = [await hashPin('4711'), await hashPin('4711')]
  assert.match(hash, /^scrypt\$14\$[\w-]{22}\$[\w-]{43}$/)
  assert.is.not(hash, other)
  assert.is(await verifyPin('4711', hash), true)
  assert.is(await verifyPin('4712', hash), false)
  const salt = hash.split('$')[2]!
  const expected = scryptSync('4711', Buffer.from(salt, 'base64url'), 32, { N: 2 ** 14, r: 8, p: 1 })
  assert.is(hash.split('$')[3], expected.toString('base64url'))
})

test('a hash of another cost fits by its own', async () => {
  const cheap = await hashPin('4711', 4)
  assert.match(cheap, /^scrypt\$4\$/)
  assert.is(await verifyPin('4711', cheap), true)
  assert.is(await verifyPin('4711', cheap.replace('$4$', '$5$')), false)
})

test('hashes that were stored before they named their cost are of the same', async () => {
  const [scheme, , ...rest] = (await hashPin('4711')).split('$')
  assert.is(await verifyPin('4711', [scheme, ...rest].join('$')), true)
  assert.is(await verifyPin('4712', [scheme, ...rest].join('$')), false)
})

test('nothing fits a hash of an unknown form', async () => {
  for (const hash of ['', 'scrypt', 'scrypt$a$b$c', 'scrypt$$a$b', 'scrypt$14$a', 'bcrypt$14$a$b', 'scrypt$999$a$b']) {
    assert.is(await verifyPin('4711', hash), false, hash)
  }
})

test.run()
