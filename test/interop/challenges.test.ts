import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { product } from '../e2e/shared-suite.ts'
import { inside } from './peers/raw-calls.ts'
import { audioAt, field, type Raw, type RawPeer } from './peers/raw-peer.ts'
import { calls, rawSuite } from './peers/raw-suite.ts'

// Far ends that challenge us in ways that none of the installed SIP programs does.

const test = rawSuite('interop/challenges')
const ACCOUNT = { username: 'tandem', password: 'a secret of both' }

const digest = (more: string): string => `Digest realm="carrier", qop="auth", algorithm=MD5, ${more}`
const authorization = (request: Raw): string => field(request.text, 'authorization')
const cseqOf = (request: Raw): number => Number.parseInt(field(request.text, 'cseq'), 10)

/** What is sent after a request that we have refused, and that may have come again meanwhile. */
async function after(carrier: RawPeer, refused: Raw): Promise<Raw> {
  for (;;) {
    const next = await carrier.next(refused.what)
    if (cseqOf(next) !== cseqOf(refused)) return next
  }
}

/** Whether an Authorization was made with the password (RFC 7616 §3.4). */
function isRight(request: Raw, name = 'authorization'): boolean {
  const given = field(request.text, name)
  const part = (key: string): string => new RegExp(`\\b${key}="?([^",]*)`).exec(given)?.[1] ?? ''
  const algorithm = part('algorithm')
  const digest = algorithm.toLowerCase().replace('-sess', '').replace('sha-', 'sha')
  const hash = (text: string): string => createHash(digest).update(text).digest('hex')
  const account = hash(`${ACCOUNT.username}:${part('realm')}:${ACCOUNT.password}`)
  const ha1 = algorithm.endsWith('-sess') ? hash(`${account}:${part('nonce')}:${part('cnonce')}`) : account
  const ha2 = hash(`${request.what}:${part('uri')}`)
  return part('response') === hash(`${ha1}:${part('nonce')}:${part('nc')}:${part('cnonce')}:auth:${ha2}`)
}

/** Places a call over a connection with a password, which this far end answers without a challenge. */
async function answered(carrier: RawPeer, more: string[] = []): Promise<string> {
  const id = await calls.callOver(carrier, { auth: ACCOUNT })
  await carrier.takes('INVITE', '200 OK', [...contact(carrier), ...more], audioAt(6000))
  await carrier.next('ACK')
  await product.until('it is answered', async () =>
    (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
  )
  return id
}

const contact = ({ port }: RawPeer): string[] => [
  `Contact: <sip:far@127.0.0.1:${port}>`,
  'Content-Type: application/sdp',
]

test('a BYE is answered a proxy, a far end, and a nonce that is too old (RFC 3261 §22.3, RFC 7616 §3.3)', async () => {
  const carrier = await calls.peer()
  const id = await answered(carrier)
  await product.ok('POST', `/calls/${id}/hangup`)
  const first = await carrier.takes('BYE', '407 Proxy Authentication Required', [
    `Proxy-Authenticate: ${digest('nonce="n1"')}`,
  ])
  const second = await after(carrier, first)
  assert.ok(isRight(second, 'proxy-authorization'))
  second.answer('401 Unauthorized', [`WWW-Authenticate: ${digest('nonce="n2"')}`])
  const third = await after(carrier, second)
  assert.ok(isRight(third) && isRight(third, 'proxy-authorization'))
  third.answer('401 Unauthorized', [`WWW-Authenticate: ${digest('nonce="n3", stale=true')}`])
  const fourth = await after(carrier, third)
  assert.ok(isRight(fourth) && isRight(fourth, 'proxy-authorization'))
  assert.match(authorization(fourth), 'nonce="n3"')
  fourth.answer('200 OK')
  assert.equal(
    [second, third, fourth].map(cseqOf),
    [1, 2, 3].map(more => cseqOf(first) + more),
  )
})

/** Answers a request with a challenge. */
const challenge = (request: Raw, more: string): string =>
  request.answer('401 Unauthorized', [`WWW-Authenticate: ${digest(more)}`])

test('a hold is answered a challenge and a nonce that is too old; a wrong password is not tried again, and the call lives', async () => {
  const carrier = await calls.peer()
  const id = await answered(carrier)
  await product.ok('POST', `/calls/${id}/hold`)
  const first = await carrier.next('INVITE')
  challenge(first, 'nonce="n1"')
  const second = await after(carrier, first)
  assert.ok(isRight(second))
  challenge(second, 'nonce="n2", stale=true')
  const third = await after(carrier, second)
  assert.ok(isRight(third))
  assert.match(authorization(third), 'nonce="n2"')
  third.answer('200 OK', contact(carrier), audioAt(6000))
  const ack = await carrier.next('ACK')
  assert.is(cseqOf(ack), cseqOf(third))
  assert.is(authorization(ack), authorization(third))

  await product.ok('POST', `/calls/${id}/unhold`)
  const fourth = await carrier.next('INVITE')
  challenge(fourth, 'nonce="n4"')
  const fifth = await after(carrier, fourth)
  challenge(fifth, 'nonce="n5"')
  await carrier.next('ACK')
  await product.ok('POST', `/calls/${id}/hangup`)
  const bye = await carrier.next('BYE')
  assert.is(cseqOf(bye), cseqOf(fifth) + 1, 'no more INVITE before it')
  bye.answer('200 OK')
})

/** Hangs up the call as soon as it runs. @returns its ID */
async function hangUpLatest(): Promise<string> {
  const id = await product.until('its call', async () => {
    const [latest] = (await product.ok('GET', '/calls?status=in_progress')).data
    return latest?.id ?? null
  })
  await product.ok('POST', `/calls/${id}/hangup`)
  return id
}

test('a call that has come from our registrar is hung up with the password where that is asked for', async () => {
  const carrier = await calls.peer()
  await calls.connection(carrier, { kind: 'registration', auth: ACCOUNT })
  const register = await carrier.next('REGISTER')
  register.answer('200 OK', [`Contact: ${field(register.text, 'contact')};expires=600`])
  const called = /<([^>]*)>/.exec(field(register.text, 'contact'))![1]!
  await calls.answered(carrier, { to: called })
  await hangUpLatest()
  const bye = await carrier.next('BYE')
  challenge(bye, 'nonce="n1"')
  const again = await after(carrier, bye)
  assert.ok(isRight(again))
  again.answer('200 OK')
})

test('a call that a trunk has made is hung up with the password of the connection; not where it comes from another network than is let in, nor at another host', async () => {
  const nonce = 'nonce="n1"'
  for (const [allowed, contactHost, isAnswered] of [
    ['127.0.0.1/32', '127.0.0.1', true],
    ['0.0.0.0/0', '127.0.0.1', false],
    ['127.0.0.1/32', '127.0.0.2', false],
  ] as const) {
    const carrier = await calls.peer('udp', contactHost === '127.0.0.1' ? '127.0.0.1' : '0.0.0.0')
    await calls.connection(carrier, { auth: ACCOUNT, allowed_ips: [allowed] })
    // From now on media knows its network.
    await carrier.next('OPTIONS')
    const invite = calls.inviteFrom(carrier, 'UDP', audioAt(6000))
    carrier.send(
      invite.replace(/^Contact: .*$/m, `Contact: <sip:far@${contactHost}:${carrier.port}>`),
      product.sip.port,
    )
    const answer = await carrier.next('[2-6]\\d\\d')
    answer.reply(inside(answer, 'ACK', 1))
    const id = await hangUpLatest()
    const bye = await carrier.next('BYE')
    challenge(bye, nonce)
    if (isAnswered) {
      const again = await after(carrier, bye)
      assert.ok(isRight(again))
      again.answer('200 OK')
    } else {
      await calls.endOf(id)
      // A second BYE would arrive before anything that we send to it later.
      await carrier.next('OPTIONS')
      const byes = carrier.received.filter(({ what }) => what === 'BYE')
      assert.is(new Set(byes.map(cseqOf)).size, 1, `${allowed} ${contactHost}`)
    }
    await calls.leave()
  }
})

for (const algorithm of ['MD5-sess', 'SHA-256-sess', 'SHA-512-256']) {
  test(`a call is made where the password is asked for by ${algorithm} (RFC 7616 §3.4.2)`, async () => {
    const carrier = await calls.peer()
    const id = await calls.callOver(carrier, { auth: ACCOUNT })
    const first = await carrier.next('INVITE')
    const asked = `WWW-Authenticate: Digest realm="carrier", qop="auth", algorithm=${algorithm}, nonce="n"`
    // A server that offers several algorithms prefers the first; an unknown one is skipped (RFC 8760 §2.4).
    const unknown = 'WWW-Authenticate: Digest realm="carrier", qop="auth", algorithm=SHA3-512, nonce="n"'
    const last = 'WWW-Authenticate: Digest realm="carrier", qop="auth", algorithm=MD5, nonce="n"'
    first.answer('401 Unauthorized', [unknown, asked, last])
    const second = await after(carrier, first)
    assert.match(authorization(second), `algorithm=${algorithm}`)
    assert.ok(isRight(second))
    second.answer('486 Busy Here')
    assert.is((await calls.endOf(id)).status, 'busy')
  })
}

test.run()
