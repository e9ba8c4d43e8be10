import { createPublicKey, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import * as assert from 'uvu/assert'
import { newSigningKey, publicKeyPem, signature } from '../../../control/webhooks/sign.ts'
import { suite } from '../../harness.ts'

const test = suite('control/webhooks/sign')

test('v1 is what the official library signs with the same secret', () => {
  const key = newSigningKey('hmac')
  const now = new Date('2026-11-21T10:00:00.000Z')
  const body = '{"text":"שלום, ünï"}'
  assert.match(key.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const ours = signature(key, 'evt_1', now.getTime() / 1000, body)
  assert.is(ours, new Webhook(key.secret).sign('evt_1', now, body))
})

test('v1 of a known secret and message is a known value', () => {
  const key = { algorithm: 'hmac' as const, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
  assert.is(
    signature(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}'),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test('v1a is an Ed25519 signature (RFC 8032) that the PEM verifies, and no other message', () => {
  const key = newSigningKey('ed25519')
  assert.match(key.publicKey ?? '', /^whpk_[A-Za-z0-9+/]{43}=$/)
  const [version, base64] = signature(key, 'evt_1', 1_700_000_000, '{}').split(',')
  assert.is(version, 'v1a')
  const bytes = Buffer.from(base64 ?? '', 'base64')
  assert.is(bytes.length, 64)
  const publicKey = createPublicKey(publicKeyPem(key.publicKey ?? ''))
  assert.is(publicKey.asymmetricKeyType, 'ed25519')
  assert.ok(verify(null, Buffer.from('evt_1.1700000000.{}'), publicKey, bytes))
  assert.not(verify(null, Buffer.from('evt_1.1700000001.{}'), publicKey, bytes))
})

test('the raw public key and its PEM hold the same 32 bytes', () => {
  const { publicKey } = newSigningKey('ed25519')
  const der = createPublicKey(publicKeyPem(publicKey ?? '')).export({ format: 'der', type: 'spki' })
  assert.is(`whpk_${der.subarray(-32).toString('base64')}`, publicKey)
})

test.run()
