import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import {
  answerChallenge,
  firstAnswerable,
  ha1,
  parseChallenge,
  parseDigestResponse,
  verifyDigest,
} from '../../../sip/auth/digest.ts'
import { suite } from '../../harness.ts'
import { body, Party, Pipe } from '../pipe.ts'

const test = suite('sip/auth/digest')

// RFC 7616 §3.9.1: the same request with both algorithms.
const NONCE = '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v'
const CNONCE = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ'
const FIELDS = `realm="http-auth@example.org", nonce="${NONCE}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
const MUFASA = { username: 'Mufasa', password: 'Circle of Life' }
const REQUEST = { method: 'GET', uri: '/dir/index.html' }

test('the examples of RFC 7616 §3.9.1 come out as printed', () => {
  const expected = {
    MD5: '8ca523f5e9506fed4657c9700eebdbec',
    'SHA-256': '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1',
  }
  for (const [algorithm, response] of Object.entries(expected)) {
    const challenge = parseChallenge(`Digest ${FIELDS}, qop="auth, auth-int", algorithm=${algorithm}`)!
    const answer = answerChallenge(challenge, MUFASA, REQUEST, CNONCE, 1)
    assert.match(answer, `response="${response}"`)
    assert.match(answer, 'nc=00000001')
    const given = parseDigestResponse(answer)!
    const secret = ha1(given.algorithm, 'Mufasa', given.realm, 'Circle of Life')
    assert.ok(verifyDigest(given, secret, 'GET'))
    assert.not(verifyDigest(given, secret, 'PUT'))
    assert.not(verifyDigest(given, ha1(given.algorithm, 'Mufasa', given.realm, 'wrong'), 'GET'))
    assert.not(verifyDigest({ ...given, response: 'ab' }, secret, 'GET'))
  }
})

test('a challenge without qop is answered as RFC 2069 did', () => {
  const challenge = parseChallenge('Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"')!
  const answer = answerChallenge(challenge, { username: 'Mufasa', password: 'CircleOfLife' }, REQUEST, 'x', 1)
  assert.match(answer, 'response="1949323746fe6a43ef61f9606e7febea"')
  assert.not.match(answer, 'qop')
})

test('a challenge that demands `auth-int` is answered for the body too, if there is no other (RFC 7616 §3.4.3)', () => {
  const md5 = (text: string): string => createHash('md5').update(text).digest('hex')
  const only = 'Digest realm="r", nonce="n", qop="auth-int"'
  const body = { type: 'application/sdp', bytes: Buffer.from('v=0\r\n') }
  for (const [sent, text] of [
    [body, 'v=0\r\n'],
    [null, ''],
  ] as const) {
    const request = { method: 'INVITE', uri: 'sip:a@b', body: sent }
    const answer = answerChallenge(firstAnswerable([only])!, { username: 'u', password: 'p' }, request, 'c', 1)
    const expected = md5(`${md5('u:r:p')}:n:00000001:c:auth-int:${md5(`INVITE:sip:a@b:${md5(text)}`)}`)
    assert.match(answer, `response="${expected}"`)
    assert.match(answer, 'qop=auth-int')
  }
  assert.is(firstAnswerable([only, 'Digest realm="r", nonce="n", qop="auth-int,auth"'])?.qop, 'auth')
})

test('challenges that cannot be answered are passed over for the next', () => {
  const values = [
    'Basic realm="x"',
    'Digest realm="x", nonce="1", algorithm=NEW',
    'Digest realm="x", nonce="1", qop="other"',
    'Digest nonce="2"',
    `Digest ${FIELDS}, stale=TRUE`,
  ]
  const challenge = firstAnswerable(values)
  assert.equal([challenge?.realm, challenge?.stale, challenge?.qop], ['http-auth@example.org', true, null])
  assert.is(parseDigestResponse('Digest username="a"'), null)
  assert.is(parseDigestResponse('Digest username="a", realm="r", nonce="n", uri="u", response="r", qop=auth'), null)
})

test('commas, quotes and backslashes inside quoted fields stay inside', () => {
  const challenge = parseChallenge('Digest realm="a, \\"b\\"", nonce="n,1", qop="auth"')!
  assert.equal([challenge.realm, challenge.nonce], ['a, "b"', 'n,1'])
  const given = parseDigestResponse(answerChallenge(challenge, MUFASA, REQUEST, 'c', 255))!
  assert.equal([given.realm, given.nonce, given.nc], ['a, "b"', 'n,1', '000000ff'])
})

function challenged(status: 401 | 407, header: string, credentials = MUFASA): Party {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const request = { to: 'sip:bob@192.0.2.2', from: 'sip:a@192.0.2.1', body: body('offer'), credentials }
  alice.do(alice.agent.invite(request, 0).actions)
  challenge(alice, status, header)
  return alice
}

function challenge(alice: Party, status: number, header: string): void {
  const last = alice.sentLike('INVITE').at(-1)!.text
  const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(name => new RegExp(`^${name}: .*$`, 'm').exec(last)![0].trim())
  const lines = [
    `SIP/2.0 ${status} No`,
    ...copied,
    'To: <sip:bob@192.0.2.2>;tag=b',
    header,
    'Content-Length: 0',
    '',
    '',
  ]
  alice.do(alice.agent.receive(Buffer.from(lines.join('\r\n')), { transport: 'udp', host: '192.0.2.2', port: 5060 }, 5))
}

test('a 401 and then a 407 are answered with a new INVITE each, same Call-ID, next CSeq', () => {
  const alice = challenged(407, `Proxy-Authenticate: Digest ${FIELDS}, qop="auth", algorithm=SHA-256`)
  challenge(alice, 401, 'WWW-Authenticate: Digest realm="bob", nonce="n"')
  const invites = alice.sentLike('INVITE').map(({ text }) => text)
  assert.is(invites.length, 3)
  assert.match(invites[1]!, /CSeq: 2 INVITE[\s\S]*Proxy-Authorization: Digest username="Mufasa"/)
  assert.match(invites[2]!, /CSeq: 3 INVITE/)
  assert.match(invites[2]!, /Proxy-Authorization: /)
  assert.match(invites[2]!, /\r\nAuthorization: Digest username="Mufasa", realm="bob"/)
  assert.is(new Set(invites.map(text => /Call-ID: (\S+)/.exec(text)![1])).size, 1)
  assert.is(alice.sentLike('ACK').length, 2)
})

test('each proxy of a chain is answered for its own realm, and each use of a nonce counts (RFC 3261 §22.3, RFC 7616 §3.4)', () => {
  const alice = challenged(407, 'Proxy-Authenticate: Digest realm="one", nonce="n", qop="auth"')
  challenge(alice, 407, 'Proxy-Authenticate: Digest realm="two", nonce="m", qop="auth"')
  challenge(alice, 401, 'WWW-Authenticate: Digest realm="bob", nonce="o", qop="auth"')
  challenge(alice, 422, 'Min-SE: 7200')
  const counted = alice
    .sentLike('INVITE')
    .map(({ text }) =>
      [...text.matchAll(/^(Proxy-|)Authorization: .*realm="(\w+)".*nc=(\d+)/gm)].map(([, proxy, realm, count]) =>
        [proxy === '' ? 'far end' : 'proxy', realm, Number(count)].join(' '),
      ),
    )
  assert.equal(counted, [
    [],
    ['proxy one 1'],
    ['proxy one 2', 'proxy two 1'],
    ['proxy one 3', 'proxy two 2', 'far end bob 1'],
    ['proxy one 4', 'proxy two 3', 'far end bob 2'],
  ])
})

test('the same challenge again means a wrong password, unless the nonce is stale', () => {
  const alice = challenged(401, 'WWW-Authenticate: Digest realm="bob", nonce="n"')
  challenge(alice, 401, 'WWW-Authenticate: Digest realm="bob", nonce="n2", stale=true')
  assert.is(alice.sentLike('INVITE').length, 3)
  challenge(alice, 401, 'WWW-Authenticate: Digest realm="bob", nonce="n3"')
  assert.is(alice.sentLike('INVITE').length, 3)
  assert.is(alice.event('rejected').status, 401)
})

test.run()
