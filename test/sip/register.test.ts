import * as assert from 'uvu/assert'
import { answerChallenge, type DigestAlgorithm, ha1, parseChallenge } from '../../sip/auth/digest.ts'
import type { Peer, RegisterReply, UserAgentOptions } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { message, Party, Pipe } from './pipe.ts'

const test = suite('sip/register')
const PHONE: Peer = { transport: 'udp', host: '198.51.100.7', port: 40_000 }
const REALM = 'tandem'
const ANN = { username: 'ann', password: 'correct horse' }
const URI = 'sip:192.0.2.2'
const OK: RegisterReply = { status: 200, contacts: [], minExpiresS: null, retryAfterS: null }
const MINUTE = 60_000
const NAMES_SHA256 =
  'Authorization: Digest username="ann", realm="tandem", nonce="", uri="sip:192.0.2.2", response="", algorithm=SHA-256'

const registrar = (nonceKey?: UserAgentOptions['nonceKey']): Party =>
  new Party(new Pipe(), '192.0.2.2', { registrarRealm: REALM, ...(nonceKey === undefined ? {} : { nonceKey }) })

let cseq = 0
function register(extra: string[] = [], contact = '<sip:ann@10.0.0.5:5060>'): Uint8Array {
  cseq++
  return message(
    `REGISTER ${URI} SIP/2.0`,
    `Via: SIP/2.0/UDP 10.0.0.5:5060;rport;branch=z9hG4bKreg${cseq}`,
    'From: <sip:ann@192.0.2.2>;tag=p',
    'To: <sip:ann@192.0.2.2>',
    'Call-ID: reg1',
    `CSeq: ${cseq} REGISTER`,
    ...(contact === '' ? [] : [`Contact: ${contact}`]),
    ...extra,
    'Content-Length: 0',
  )
}

function feed(party: Party, bytes: Uint8Array, now = 0): string {
  const before = party.sent.length
  party.do(party.agent.receive(bytes, PHONE, now))
  return party.sent
    .slice(before)
    .map(({ text }) => text)
    .join('')
}

const statusOf = (text: string): number => Number(/^SIP\/2\.0 (\d+)/.exec(text)?.[1] ?? 0)

function challengeOf(text: string, algorithm: DigestAlgorithm = 'MD5') {
  const values = [...text.matchAll(/^WWW-Authenticate: (.*)\r$/gm)].map(match => match[1]!)
  const challenge = values.map(value => parseChallenge(value)).find(one => one?.algorithm === algorithm)
  if (challenge == null) throw new Error(`no ${algorithm} challenge in ${text}`)
  return challenge
}

interface Answer {
  nc?: number
  algorithm?: DigestAlgorithm
  password?: string
  contact?: string
  extra?: string[]
  uri?: string
}

/** A REGISTER that answers the challenge of `text`. */
function answered(
  text: string,
  { nc = 1, algorithm, password = ANN.password, contact, extra = [], uri = URI }: Answer = {},
) {
  const challenge = challengeOf(text, algorithm)
  const credentials = { username: ANN.username, password }
  const digest = answerChallenge(challenge, credentials, { method: 'REGISTER', uri }, 'c0ffee', nc)
  return register([`Authorization: ${digest}`, ...extra], contact)
}

const ha1Of = (algorithm: DigestAlgorithm): string => ha1(algorithm, ANN.username, REALM, ANN.password)

function judge(party: Party, registerId: string, secret: string | null, now = 0): boolean | null {
  const { isRight, actions } = party.agent.checkRegister(registerId, secret, now)
  party.do(actions)
  return isRight
}

test('a REGISTER without a digest is challenged once, by MD5; a phone that names SHA-256 by that', () => {
  const party = registrar()
  for (const [extra, expected] of [
    [[], ['MD5']],
    [[NAMES_SHA256], ['SHA-256']],
  ] as const) {
    const text = feed(party, register([...extra]))
    assert.is(statusOf(text), 401)
    assert.equal(
      [...text.matchAll(/algorithm=([\w-]+)/g)].map(match => match[1]),
      expected,
    )
  }
  assert.is(party.registers.length, 0)
})

test('the challenge of one node is answered at another that shares its key; where that was a replay it is challenged anew', () => {
  const key = { secret: 'of both', timeOfDay: (now: number) => now }
  const [one, other] = [registrar(key), registrar(key)]
  const challenged = feed(one, register())
  assert.is(feed(other, answered(challenged)), '')
  const { registerId, nonce } = other.registers[0]!
  assert.equal(nonce, { value: challengeOf(challenged).nonce, count: 1 })
  assert.is(judge(other, registerId, ha1Of('MD5')), true)
  other.do(other.agent.answerRegister(registerId, { ...OK, status: 401 }, 0))
  const { text } = other.sent.at(-1)!
  assert.is(statusOf(text), 401)
  assert.match(text, /^WWW-Authenticate: .*stale=true/m)
  assert.is(statusOf(feed(registrar(), answered(challenged))), 401, 'a node with a key of its own')
})

for (const algorithm of ['MD5', 'SHA-256'] as const) {
  test(`a right ${algorithm} digest is handed on, judged and answered with the contacts`, () => {
    const party = registrar()
    const challenged = feed(party, register(algorithm === 'MD5' ? [] : [NAMES_SHA256]))
    assert.is(feed(party, answered(challenged, { algorithm })), '')
    const { registerId, user, username, contacts, peer } = party.registers[0]!
    assert.equal([user, username, peer.port], ['ann', 'ann', 40_000])
    assert.equal(contacts, [{ uri: 'sip:ann@10.0.0.5:5060', expiresS: 3600 }])
    assert.is(judge(party, registerId, ha1Of(algorithm)), true)
    const contact = { uri: 'sip:ann@10.0.0.5:5060', expiresS: 600 }
    party.do(party.agent.answerRegister(registerId, { ...OK, contacts: [contact] }, 0))
    const { text, to } = party.sent.at(-1)!
    assert.is(statusOf(text), 200)
    assert.match(text, 'Contact: <sip:ann@10.0.0.5:5060>;expires=600\r\n')
    assert.equal([to.host, to.port], [PHONE.host, PHONE.port])
  })
}

test('a phone is the same as before by its instance, else by the user and host of its Contact', () => {
  const instance = '+sip.instance="<urn:uuid:1>"'
  for (const [contact, phone, regId] of [
    ['<sip:ann@10.0.0.5:5060>', 'ann@10.0.0.5'],
    ['<sip:ann@PC.test:5071;transport=tcp>;expires=60', 'ann@pc.test'],
    [`<sip:x1@y.invalid;transport=ws>;${instance};reg-id=1`, '<urn:uuid:1>', 1],
    [`<sip:x1@y.invalid;transport=ws>;reg-id=2147483647;${instance}`, '<urn:uuid:1>', 2_147_483_647],
    [`<sip:ann@10.0.0.5>;${instance};reg-id=0`, '<urn:uuid:1>'],
    [`<sip:ann@10.0.0.5>;${instance};reg-id=2147483648`, '<urn:uuid:1>'],
    [`<sip:ann@10.0.0.5>;${instance};reg-id`, '<urn:uuid:1>'],
    ['<sip:ann@10.0.0.5>;reg-id=1', 'ann@10.0.0.5'],
    [`<sip:ann@10.0.0.5>;+sip.instance="${'u'.repeat(501)}";reg-id=1`, 'ann@10.0.0.5'],
    ['<sip:ann@10.0.0.5>;expires=0, <sip:10.0.0.6>', '@10.0.0.6'],
  ] as const) {
    const party = registrar()
    feed(party, answered(feed(party, register()), { contact }))
    const { bindings, contacts } = party.registers[0]!
    const { uri } = contacts.at(-1)!
    assert.equal(bindings, [{ phone, uri, ...(regId === undefined ? {} : { regId }) }], contact)
    assert.equal(contacts.at(-1)!.flow, regId === undefined ? undefined : { instance: phone, regId }, contact)
  }
})

test('a wrong password, and an account that does not exist, are answered 403', () => {
  for (const [password, secret] of [
    ['wrong', ha1Of('MD5')],
    [ANN.password, null],
  ] as const) {
    const party = registrar()
    feed(party, answered(feed(party, register()), { password }))
    assert.is(judge(party, party.registers[0]!.registerId, secret), false)
    assert.is(statusOf(party.sent.at(-1)!.text), 403)
    assert.is(judge(party, party.registers[0]!.registerId, ha1Of('MD5')), null)
  }
})

test('a nonce is stale after five minutes: the challenge says so, and the phone need not ask for the password', () => {
  const party = registrar()
  const first = feed(party, register())
  const again = feed(party, answered(first), 5 * MINUTE + 1)
  assert.is(statusOf(again), 401)
  assert.match(again, 'stale=true')
  assert.is(feed(party, answered(again), 5 * MINUTE + 2), '')
})

test('a nonce that is not ours is challenged', () => {
  const party = registrar()
  const foreign = feed(new Party(new Pipe(), '192.0.2.9', { registrarRealm: REALM }), register())
  assert.is(statusOf(feed(party, answered(foreign))), 401)
  assert.is(party.registers.length, 0)
})

test('the same nc again is a replay and challenged; a higher one refreshes (RFC 7616 §3.4)', () => {
  const party = registrar()
  const challenged = feed(party, register())
  for (const [nc, expected] of [
    [1, true],
    [1, false],
    [2, true],
    [2, false],
    [1, false],
  ] as const) {
    feed(party, answered(challenged, { nc }))
    const { registerId } = party.registers.at(-1)!
    assert.is(judge(party, registerId, ha1Of('MD5')), expected, `nc ${nc}`)
    if (expected) party.do(party.agent.answerRegister(registerId, OK, 0))
    else assert.match(party.sent.at(-1)!.text, 'stale=true')
  }
})

test('a digest without qop has no count and is not taken', () => {
  const party = registrar()
  const { nonce } = challengeOf(feed(party, register()), 'MD5')
  const old = `Digest username="ann", realm="${REALM}", nonce="${nonce}", uri="${URI}", response="${'0'.repeat(32)}"`
  assert.is(statusOf(feed(party, register([`Authorization: ${old}`]))), 401)
  assert.is(party.registers.length, 0)
})

test('a contact may ask for its own time; Expires holds for the others (RFC 3261 §10.2.1.1)', () => {
  const party = registrar()
  const contact = '<sip:a@10.0.0.5>;expires=120, "Ann, upstairs" <sip:b@10.0.0.6;transport=tcp>'
  feed(party, answered(feed(party, register()), { contact, extra: ['Expires: 300'] }))
  assert.equal(party.registers[0]!.contacts, [
    { uri: 'sip:a@10.0.0.5', expiresS: 120 },
    { uri: 'sip:b@10.0.0.6;transport=tcp', expiresS: 300 },
  ])
})

test('"*" stands alone and with Expires 0, else 400; without Contact the registrations are asked for', () => {
  const party = registrar()
  const challenged = feed(party, register())
  feed(party, answered(challenged, { contact: '*', extra: ['Expires: 0'] }))
  assert.equal(party.registers.at(-1)!.contacts, [{ uri: '*', expiresS: 0 }])
  feed(party, answered(challenged, { contact: '' }))
  assert.equal(party.registers.at(-1)!.contacts, [])
  assert.is(statusOf(feed(party, answered(challenged, { contact: '*' }))), 400)
  assert.is(statusOf(feed(party, answered(challenged, { contact: '*, <sip:a@b>', extra: ['Expires: 0'] }))), 400)
  assert.is(party.registers.length, 2)
})

test('contacts that are no SIP URIs, or too many, are refused', () => {
  const party = registrar()
  const challenged = feed(party, register())
  const many = Array.from({ length: 11 }, (_, i) => `<sip:a${i}@b>`).join(',')
  for (const [contact, status] of [
    ['<mailto:a@b>', 400],
    ['<tel:+15551234>', 400],
    ['<<<', 400],
    [`<sip:${'a'.repeat(600)}@b>`, 400],
    [many, 403],
  ] as const) {
    assert.is(statusOf(feed(party, answered(challenged, { contact }))), status, contact.slice(0, 30))
  }
})

test('423 carries Min-Expires, 503 Retry-After', () => {
  const party = registrar()
  const challenged = feed(party, register())
  feed(party, answered(challenged))
  party.do(party.agent.answerRegister(party.registers[0]!.registerId, { ...OK, status: 423, minExpiresS: 60 }, 0))
  assert.match(party.sent.at(-1)!.text, /^SIP\/2\.0 423 Interval Too Brief\r\n[\s\S]*Min-Expires: 60\r\n/)
  feed(party, answered(challenged, { nc: 2 }))
  party.do(party.agent.answerRegister(party.registers[1]!.registerId, { ...OK, status: 503, retryAfterS: 5 }, 0))
  assert.match(party.sent.at(-1)!.text, 'Retry-After: 5\r\n')
})

test('an answer is given once: what is not open any more does nothing', () => {
  const party = registrar()
  feed(party, answered(feed(party, register())))
  const { registerId } = party.registers[0]!
  party.do(party.agent.answerRegister(registerId, OK, 0))
  assert.equal(party.agent.answerRegister(registerId, OK, 0), [])
  assert.equal(party.agent.checkRegister(registerId, ha1Of('MD5'), 0), { isRight: null, actions: [] })
})

test('a retransmission gets the same answer and is handed on once', () => {
  const party = registrar()
  const bytes = answered(feed(party, register()))
  feed(party, bytes)
  party.do(party.agent.answerRegister(party.registers[0]!.registerId, OK, 0))
  assert.is(statusOf(feed(party, bytes)), 200)
  assert.is(party.registers.length, 1)
})

test('an agent that is no registrar answers 405', () => {
  assert.is(statusOf(feed(new Party(new Pipe(), '192.0.2.2'), register())), 405)
})

test('a digest that was made for another registrar is answered 400; port, parameters and user of its uri are as the phone likes', () => {
  const party = registrar()
  const challenge = feed(party, register())
  const uris = ['sip:192.0.2.2:5060', 'sip:192.0.2.2;transport=udp', 'sip:ann@192.0.2.2', 'SIP:192.0.2.2']
  for (const [i, uri] of uris.entries()) {
    assert.is(feed(party, answered(challenge, { uri, nc: i + 1 })), '', uri)
    assert.is(judge(party, party.registers.at(-1)!.registerId, ha1Of('MD5')), true, uri)
  }
  assert.is(statusOf(feed(party, answered(challenge, { uri: 'sip:198.51.100.9', nc: 9 }))), 400)
  assert.is(statusOf(feed(party, answered(challenge, { uri: 'tel:+15551234567', nc: 9 }))), 400)
})

test('Path is taken, also where it is required, handed on in its order, and what is kept of it is in the 200 (RFC 3327)', () => {
  const party = registrar()
  const first = feed(party, register())
  const path = ['Path: <sip:10.0.0.9;lr>, <sip:edge.test;lr>', 'Path: <sip:far.test;lr>', 'Require: path']
  feed(party, answered(first, { extra: path }))
  const [one] = party.registers
  assert.equal(one?.path, ['<sip:10.0.0.9;lr>', '<sip:edge.test;lr>', '<sip:far.test;lr>'])
  const { actions } = party.agent.checkRegister(one!.registerId, ha1('MD5', ANN.username, REALM, ANN.password), 0)
  party.do(actions)
  const before = party.sent.length
  party.do(party.agent.answerRegister(one!.registerId, { ...OK, path: ['<sip:10.0.0.9;lr>'] }, 0))
  assert.match(party.sent[before]!.text, /^Path: <sip:10\.0\.0\.9;lr>\r$/m)
})

test('an INVITE takes the Route that is known before, and its CANCEL too', () => {
  const party = new Party(new Pipe(), '192.0.2.2')
  const target = { transport: 'udp' as const, host: '10.0.0.9', port: 5060 }
  const request = {
    to: 'sip:ann@192.0.2.7',
    from: 'sip:b@192.0.2.2',
    target,
    route: ['<sip:10.0.0.9;lr>', '<sip:far.test;lr>'],
  }
  const { sessionId, actions } = party.agent.invite(request, 0)
  party.do(actions)
  const invite = party.sent[0]!.text
  assert.match(invite, /^INVITE sip:ann@192\.0\.2\.7 SIP/)
  assert.match(invite, /Route: <sip:10\.0\.0\.9;lr>\r\nRoute: <sip:far\.test;lr>\r\n/)
  const via = /^Via: (.*)\r$/m.exec(invite)![1]!
  const from = /^From: (.*)\r$/m.exec(invite)![1]!
  const callId = /^Call-ID: (.*)\r$/m.exec(invite)![1]!
  const trying = message(
    'SIP/2.0 100 Trying',
    `Via: ${via}`,
    `From: ${from}`,
    'To: <sip:ann@192.0.2.7>',
    `Call-ID: ${callId}`,
    'CSeq: 1 INVITE',
    'Content-Length: 0',
  )
  party.do(party.agent.receive(trying, target, 1))
  party.do(party.agent.cancel(sessionId, 2))
  assert.match(party.sent.at(-1)!.text, /^CANCEL [\s\S]*Route: <sip:10\.0\.0\.9;lr>/)
})

test.run()
