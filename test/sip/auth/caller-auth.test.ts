import * as assert from 'uvu/assert'
import { CallerAuth } from '../../../sip/auth/caller-auth.ts'
import { answerChallenge, ha1, parseChallenge } from '../../../sip/auth/digest.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/auth/caller-auth')
const ANN = { username: 'live-ann', password: 'correct horse' }
const URI = 'sip:200@192.0.2.2'
const HA1 = ha1('MD5', ANN.username, 'tandem', ANN.password)
const HOST = '192.0.2.9'
const FIVE_MINUTES_MS = 5 * 60_000

const auth = (): CallerAuth => {
  let count = 0
  return new CallerAuth('tandem', () => `random${++count}`)
}

function answer(
  callers: CallerAuth,
  { uri = URI, password = ANN.password, nc = 1, at = 0 }: { uri?: string; password?: string; nc?: number; at?: number },
): string {
  const challenge = parseChallenge(callers.challenge(HOST, at, { stale: false }))
  assert.ok(challenge !== null)
  return answerChallenge(challenge, { ...ANN, password }, { method: 'INVITE', uri }, 'c', nc)
}

function verdict(callers: CallerAuth, header: string, now = 0, known: string | null = HA1): string {
  const given = callers.read([header], URI)
  return given === null ? 'none' : callers.check(given, known, HOST, now)
}

test('a caller who knows the password is let in, once for each count of a nonce', () => {
  const callers = auth()
  const header = answer(callers, {})
  assert.is(callers.read([header], URI)?.username, ANN.username)
  assert.is(verdict(callers, header), 'right')
  assert.is(verdict(callers, header), 'stale')
})

test('a wrong password and a stranger are refused alike', () => {
  const callers = auth()
  assert.is(verdict(callers, answer(callers, { password: 'guessed' })), 'wrong')
  assert.is(verdict(callers, answer(callers, {}), 0, null), 'wrong')
})

test('a nonce that has run out, or is not of ours, is asked for anew', () => {
  const callers = auth()
  const header = answer(callers, {})
  assert.is(verdict(callers, header, FIVE_MINUTES_MS + 1), 'stale')
  assert.is(verdict(auth(), header.replace(/nonce="[^"]+"/, 'nonce="made.up"')), 'stale')
})

test('a nonce counts for the host that it was sent to: nobody guesses in the name of another', () => {
  const callers = auth()
  const given = callers.read([answer(callers, { password: 'guessed' })], URI)!
  assert.is(callers.check(given, HA1, '192.0.2.66', 0), 'stale')
  assert.is(callers.check(given, HA1, HOST, 0), 'wrong')
})

test('of several credentials those of our realm count; SHA-256 is judged as it is named (RFC 8760)', () => {
  const callers = auth()
  const challenge = parseChallenge(callers.challenge(HOST, 0, { stale: false, algorithm: 'SHA-256' }))!
  assert.is(challenge.algorithm, 'SHA-256')
  const header = answerChallenge(challenge, ANN, { method: 'INVITE', uri: URI }, 'c', 1)
  const given = callers.read([header.replace('realm="tandem"', 'realm="proxy"'), header], URI)!
  assert.is(callers.check(given, HA1, HOST, 0), 'wrong')
  assert.is(callers.check(given, ha1('SHA-256', ANN.username, 'tandem', ANN.password), HOST, 0), 'right')
})

test('a digest counts for the party that it was made for, whatever host a proxy has written', () => {
  const callers = auth()
  assert.is(verdict(callers, answer(callers, { uri: 'sip:200@tandem.example;transport=udp' })), 'right')
  assert.is(verdict(callers, answer(callers, { uri: 'sip:+15551234567@192.0.2.2' })), 'none')
})

test('a digest of another realm, or without qop, is none', () => {
  const callers = auth()
  const header = answer(callers, {})
  assert.is(verdict(callers, header.replace('realm="tandem"', 'realm="other"')), 'none')
  assert.is(verdict(callers, header.replace(', qop=auth', '')), 'none')
  assert.is(verdict(callers, 'Basic abc'), 'none')
})

test.run()
