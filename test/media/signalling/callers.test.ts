import * as assert from 'uvu/assert'
import { Callers } from '../../../media/signalling/callers.ts'
import { answerChallenge, ha1, parseChallenge } from '../../../sip/auth/digest.ts'
import { type Peer, UserAgent } from '../../../sip/user-agent.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/callers')
const STRANGER: Peer = { transport: 'udp', host: '198.51.100.9', port: 5060 }
const PBX = { username: 'pbx-berlin', password: 'correct horse battery' }
const URI = 'sip:200@192.0.2.2'
const HA1 = ha1('MD5', PBX.username, 'tandem', PBX.password)

function scene() {
  const clock = { now: 1 }
  const byContact = (user: string) => (user === 'c0ffee' ? 'conn_1' : undefined)
  const callers = new Callers({ farEnds: { byContact }, now: () => clock.now })
  callers.strangers = 'challenged'
  const knock = (authorizations: string[] = [], requestUri = URI, peer = STRANGER) =>
    callers.atTheDoor({ requestUri, authorizations, peer })
  const answer = (password = PBX.password, nc = 1): string => {
    const challenge = parseChallenge(callers.challenge(STRANGER, { stale: false }).headers[0]![1])!
    return answerChallenge(challenge, { ...PBX, password }, { method: 'INVITE', uri: URI }, 'c', nc)
  }
  return { clock, callers, knock, answer }
}

test('a stranger is asked for a password; who is known, and who calls a registration of ours, comes in', () => {
  const { callers, knock } = scene()
  assert.is(knock()?.status, 401)
  assert.is(knock([], URI, { ...STRANGER, isKnown: true }), null)
  assert.is(knock([], 'sip:c0ffee@192.0.2.2'), null)
  callers.strangers = 'asked'
  assert.is(knock(), null, 'control says what becomes of it')
})

test('of strangers who cannot be let in control hears of a few calls; the others are refused before anybody is asked', () => {
  const { callers, clock, knock } = scene()
  callers.strangers = 'refused'
  const knocks = (count: number) => Array.from({ length: count }, () => knock()?.status ?? null)
  assert.equal(knocks(25), [...Array(20).fill(null), ...Array(5).fill(403)])
  assert.is(knock([], URI, { ...STRANGER, isKnown: true }), null)
  assert.is(knock([], 'sip:c0ffee@192.0.2.2'), null)
  assert.is(callers.refused, 5)
  clock.now += 2000
  assert.equal(knocks(4), [null, null, 403, 403])
})

test('an answer to a challenge comes in to be judged; one to no challenge of ours, or to an old one, is asked for anew', () => {
  const { clock, knock, answer } = scene()
  const header = answer()
  assert.is(knock([header]), null)
  const elsewhere = knock([header], URI, { ...STRANGER, host: '198.51.100.66' })
  assert.match(elsewhere!.headers[0]![1], /stale=true/)
  assert.is(knock([header.replace(/nonce="[^"]+"/, 'nonce="made.up"')])?.status, 401)
  clock.now += 5 * 60_000 + 1
  assert.match(knock([header])!.headers[0]![1], /stale=true/)
})

test('who has guessed ten times is refused before anybody is asked, for ten minutes', () => {
  const { clock, callers, knock, answer } = scene()
  for (let n = 0; n < 10; n++) {
    const given = callers.read([answer('guessed')], URI)!
    assert.is(callers.check(given, HA1, STRANGER), 'wrong')
  }
  assert.is(knock([answer()])?.status, 403)
  const right = callers.read([answer()], URI)!
  assert.is(callers.check(right, HA1, STRANGER), 'wrong', 'not even the right one')
  clock.now += 10 * 60_000 + 1
  assert.is(knock([answer()]), null)
  assert.is(callers.check(callers.read([answer()], URI)!, HA1, STRANGER), 'right')
})

test('a stranger without a password costs no transaction, and is told the same when it asks again', () => {
  const { callers } = scene()
  let count = 0
  const agent = new UserAgent({
    name: 'test',
    local: () => ({ host: '192.0.2.2', port: 5060 }),
    random: () => `random${++count}`,
    inviteDoor: invite => callers.atTheDoor(invite),
  })
  const invite = [
    'INVITE sip:200@192.0.2.2 SIP/2.0',
    'Via: SIP/2.0/UDP 198.51.100.9:5060;branch=z9hG4bK1',
    'Max-Forwards: 70',
    'From: <sip:+15550100200@198.51.100.9>;tag=a',
    'To: <sip:200@192.0.2.2>',
    'Call-ID: one',
    'CSeq: 1 INVITE',
    'Contact: <sip:x@198.51.100.9>',
    'Content-Length: 0',
    '\r\n',
  ].join('\r\n')
  const answers = [1, 2].map(n => {
    const [sent, ...more] = agent.receive(Buffer.from(invite), STRANGER, n)
    assert.equal(more, [], 'nothing is told of it, nothing is started')
    return sent?.kind === 'send' ? Buffer.from(sent.bytes).toString() : ''
  })
  assert.match(answers[0]!, /^SIP\/2\.0 401 [\s\S]*^WWW-Authenticate: Digest realm="tandem"/m)
  const tag = /^To: .*tag=(\S+)/m
  assert.is(tag.exec(answers[0]!)![1], tag.exec(answers[1]!)![1])
  assert.is(agent.transactionCount, 0)
})

test.run()
