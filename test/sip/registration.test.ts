import * as assert from 'uvu/assert'
import { ha1, parseDigestResponse, verifyDigest } from '../../sip/auth/digest.ts'
import type { Watch, WatchReport } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { message, Party, Pipe } from './pipe.ts'

const test = suite('sip/registration')
const REGISTRAR = { transport: 'udp', host: '192.0.2.50', port: 5060 } as const
const WATCH: Watch = {
  watchId: 'conn_1',
  kind: 'register',
  uri: 'sip:192.0.2.50',
  from: 'sip:ann@192.0.2.50',
  contactUser: 'r123',
  target: REGISTRAR,
  credentials: { username: 'ann', password: 'correct horse' },
}

/** A user agent that registers at a registrar whose answers the test writes. */
class Desk {
  readonly pipe = new Pipe()
  readonly party = new Party(this.pipe, '192.0.2.1')
  get reports(): WatchReport[] {
    return this.party.watched
  }

  static open(more: Partial<Watch> = {}): Desk {
    const desk = new Desk()
    desk.party.do(desk.party.agent.watch({ ...WATCH, ...more }, 0))
    return desk
  }

  get requests(): string[] {
    return this.party.sentLike('REGISTER').map(({ text }) => text)
  }

  answer(status: number, ...extra: string[]): void {
    const copied = ['Via', 'From', 'To', 'Call-ID', 'CSeq'].map(name =>
      new RegExp(`^${name}: .*$`, 'm').exec(this.requests.at(-1)!)![0].trim(),
    )
    const bytes = message(`SIP/2.0 ${status} X`, ...copied, ...extra, 'Content-Length: 0')
    this.party.do(this.party.agent.receive(bytes, REGISTRAR, this.pipe.now))
  }

  /** Time until the next REGISTER that is no retransmission [ms]. */
  untilNext(limitMs: number): number {
    const [before, from] = [this.requests.length, this.pipe.now]
    while (this.requests.length === before && this.pipe.now < from + limitMs) this.pipe.run(this.pipe.now + 500)
    return this.pipe.now - from
  }
}

const field = (text: string, name: string): string => new RegExp(`^${name}: (.*)\r$`, 'm').exec(text)![1]!
const challenge = (algorithm: string, more = ''): string =>
  `WWW-Authenticate: Digest realm="r", nonce="n1", qop="auth", algorithm=${algorithm}${more}`

test('however long a registrar grants, a day is renewed within the day: a timer knows no longer time than 24 of them', () => {
  const desk = Desk.open()
  desk.answer(200, 'Contact: <sip:r123@192.0.2.1>;expires=4294967295')
  const afterMs = desk.untilNext(86_400_000)
  assert.ok(afterMs > 3_600_000 && afterMs < 86_400_000, `${afterMs}`)
})

test('a Service-Route of the 200 is told, a changed one again, and one that is no way of loose routers is none (RFC 3608)', () => {
  const desk = Desk.open()
  const routes = () => desk.reports.map(({ status, serviceRoute }) => [status, serviceRoute])
  const way = ['<sip:edge.carrier.test;lr>', '<sip:orig@scscf.carrier.test:5070;lr>']
  desk.answer(200, `Service-Route: ${way.join(', ')}`, 'Expires: 60')
  assert.equal(routes(), [['registered', way]])
  for (const [said, kept] of [
    [[`Service-Route: ${way[0]}`, `Service-Route: ${way[1]}`], 1],
    [[`Service-Route: ${way[1]}`], 2],
    [['Service-Route: <sip:strict.carrier.test>'], 3],
  ] as const) {
    desk.untilNext(60_000)
    desk.answer(200, ...said, 'Expires: 60')
    assert.is(routes().length, kept, said.join())
  }
  assert.equal(routes().slice(1), [
    ['registered', [way[1]]],
    ['registered', undefined],
  ])
})

test('a registrar that says 503, or nothing, is passed over for its next host, which is kept while it answers', () => {
  const other = { transport: 'udp' as const, host: '192.0.2.51', port: 5060 }
  const desk = Desk.open({ others: [other] })
  const hosts = () => desk.party.sent.filter(({ text }) => text.startsWith('REGISTER')).map(({ to }) => to.host)
  desk.answer(503)
  assert.equal(hosts(), ['192.0.2.50', '192.0.2.51'])
  desk.answer(200, 'Contact: <sip:r123@192.0.2.1:5060>;expires=600')
  assert.equal(
    desk.reports.map(({ status }) => status),
    ['registered'],
  )
  desk.untilNext(700_000)
  assert.is(hosts().at(-1), '192.0.2.51')
  desk.pipe.run(desk.pipe.now + 33_000)
  assert.is(hosts().at(-1), '192.0.2.50', 'silent for 32 s')
})

test('the To of a REGISTER is the address-of-record, its URI the registrar, and its Contact ours', () => {
  const [text] = Desk.open().requests
  assert.match(text!, /^REGISTER sip:192\.0\.2\.50 SIP\/2\.0\r\n/)
  assert.is(field(text!, 'To'), '<sip:ann@192.0.2.50>')
  assert.match(field(text!, 'From'), /^<sip:ann@192\.0\.2\.50>;tag=/)
  assert.is(field(text!, 'Contact'), '<sip:r123@192.0.2.1:5060>')
  assert.is(field(text!, 'Expires'), '600')
})

for (const algorithm of ['MD5', 'SHA-256'] as const) {
  test(`a challenge by ${algorithm} is answered with the same Call-ID and a higher CSeq`, () => {
    const desk = Desk.open()
    desk.answer(401, challenge(algorithm))
    const [first, second] = desk.requests
    assert.is(field(second!, 'Call-ID'), field(first!, 'Call-ID'))
    assert.is(field(second!, 'CSeq'), '2 REGISTER')
    const given = parseDigestResponse(field(second!, 'Authorization'))
    assert.ok(given !== null && verifyDigest(given, ha1(algorithm, 'ann', 'r', 'correct horse'), 'REGISTER'))
    desk.answer(200, 'Contact: <sip:r123@192.0.2.1:5060>;expires=300')
    assert.equal(desk.reports, [{ watchId: 'conn_1', status: 'registered', sipCode: null }])
  })
}

test('a wrong password is not tried again at once, and a stale nonce is', () => {
  const desk = Desk.open()
  desk.answer(401, challenge('MD5'))
  desk.answer(401, challenge('MD5', ', stale=true'))
  assert.is(desk.requests.length, 3)
  desk.answer(401, challenge('MD5'))
  assert.is(desk.requests.length, 3)
  assert.equal(desk.reports, [{ watchId: 'conn_1', status: 'unreachable', sipCode: 401 }])
})

test('the binding is refreshed before the time runs out that was granted to our own contact', () => {
  const desk = Desk.open()
  desk.answer(200, 'Contact: <sip:other@10.0.0.1>;expires=20, <sip:r123@192.0.2.1:5060>;expires=100')
  const waited = desk.untilNext(100_000)
  assert.ok(waited >= 70_000 && waited <= 85_500, `refreshed after ${waited} ms`)
  desk.answer(200, 'Expires: 200')
  assert.ok(desk.untilNext(200_000) >= 140_000)
  assert.is(desk.reports.length, 1, 'a refresh is no news')
})

test('423 is answered with the time that it asks for', () => {
  const desk = Desk.open()
  desk.answer(423, 'Min-Expires: 1800')
  assert.is(field(desk.requests[1]!, 'Expires'), '1800')
  desk.answer(423, 'Min-Expires: 1800')
  assert.is(desk.requests.length, 2, 'a registrar that contradicts itself gets no flood')
})

test('a failure is tried again after pauses that grow, and not before Retry-After', () => {
  const desk = Desk.open()
  const waits: number[] = []
  for (let i = 0; i < 4; i++) {
    desk.answer(500)
    waits.push(desk.untilNext(700_000))
  }
  waits.forEach((wait, i) => {
    assert.ok(wait >= 5000 * 2 ** i && wait <= 10_500 * 2 ** i, `${waits}`)
  })
  desk.answer(503, 'Retry-After: 300')
  assert.ok(desk.untilNext(700_000) >= 300_000)
  desk.answer(200)
  const statuses = desk.reports.map(({ status, sipCode }) => `${status} ${sipCode}`)
  assert.equal(statuses, ['unreachable 500', 'unreachable 503', 'registered null'])
})

test('no answer at all is a failure by 408', () => {
  const desk = Desk.open()
  desk.pipe.run(33_000)
  assert.equal(desk.reports, [{ watchId: 'conn_1', status: 'unreachable', sipCode: 408 }])
})

test('a registration that is ended is taken back with Expires 0, and nothing follows', () => {
  const desk = Desk.open()
  desk.answer(200)
  desk.party.do(desk.party.agent.unwatch('conn_1', 0))
  assert.is(field(desk.requests[1]!, 'Expires'), '0')
  assert.is(desk.party.agent.watchCount, 1)
  desk.answer(401, challenge('MD5'))
  desk.answer(200)
  assert.is(desk.party.agent.watchCount, 0)
  desk.pipe.run(2_000_000)
  assert.is(desk.requests.length, 3)
})

test('one that is ended while its REGISTER is under way is taken back when that succeeds', () => {
  const desk = Desk.open()
  desk.party.do(desk.party.agent.unwatch('conn_1', 0))
  assert.is(desk.requests.length, 1)
  desk.answer(200)
  assert.is(field(desk.requests[1]!, 'Expires'), '0')
})

test('a changed one begins when the old one has been taken back', () => {
  const desk = Desk.open()
  desk.answer(200)
  desk.party.do(desk.party.agent.watch({ ...WATCH, from: 'sip:bob@192.0.2.50' }, 0))
  assert.is(desk.requests.length, 2)
  desk.answer(200)
  assert.is(field(desk.requests[2]!, 'To'), '<sip:bob@192.0.2.50>')
  assert.is(field(desk.requests[2]!, 'Expires'), '600')
})

test('while it lasts, something passes every 24 to 29 s, so that NATs and firewalls let calls in (RFC 5626 §4.4.2)', () => {
  const desk = Desk.open()
  const kept = () => desk.party.sent.filter(({ text }) => text === '\r\n\r\n')
  desk.answer(200, 'Contact: <sip:r123@192.0.2.1>;expires=600')
  desk.pipe.run(300_000)
  assert.ok(kept().length >= 10 && kept().length <= 12, String(kept().length))
  assert.ok(kept().every(({ to }) => to.host === REGISTRAR.host && to.port === REGISTRAR.port))
  desk.untilNext(400_000)
  const before = kept().length
  desk.answer(403)
  desk.pipe.run(desk.pipe.now + 5000)
  assert.is(kept().length, before, 'not of one that was refused')
})

test('that is no more often after it was refreshed, however many times', () => {
  const desk = Desk.open()
  const kept = () => desk.party.sent.filter(({ text }) => text === '\r\n\r\n').length
  desk.answer(200, 'Expires: 120')
  for (let n = 0; n < 10; n++) {
    const [before, from] = [kept(), desk.pipe.now]
    desk.untilNext(120_000)
    const most = Math.ceil((desk.pipe.now - from) / 24_000)
    assert.ok(kept() - before <= most, `${kept() - before} after ${n} refreshes, ${most} at most`)
    desk.answer(200, 'Expires: 120')
  }
})

test('when its connection is closed, it registers again at once, or a minute after the last time, and other connections mean nothing (RFC 5626 §4.5)', () => {
  const desk = Desk.open()
  const close = (port: number) => desk.party.do(desk.party.agent.disconnected({ ...REGISTRAR, port }, desk.pipe.now))
  const granted = 'Contact: <sip:r123@192.0.2.1>;expires=600'
  desk.answer(200, granted)
  desk.pipe.run(90_000)
  close(REGISTRAR.port + 1)
  desk.pipe.run(95_000)
  assert.is(desk.requests.length, 1)
  close(REGISTRAR.port)
  const afterMs = desk.untilNext(60_000)
  assert.ok(afterMs >= 1000 && afterMs <= 2500, `${afterMs}`)
  desk.answer(200, granted)
  desk.pipe.run(desk.pipe.now + 5000)
  close(REGISTRAR.port)
  const soonMs = desk.untilNext(600_000)
  assert.ok(soonMs >= 54_000 && soonMs <= 56_000, `${soonMs}`)
})

/** A registration whose registrar answers each OPTIONS as the test says. */
function asking(): { desk: Desk; asked: () => number; answer: (rport?: number) => void } {
  const desk = Desk.open()
  const questions = () => desk.party.sentLike('OPTIONS').map(({ text }) => text)
  // A retransmission has the same branch.
  const asked = () => new Set(questions().map(text => /branch=(\w+)/.exec(text)![1])).size
  const answer = (rport = 5060): void => {
    const copied = ['Via', 'From', 'To', 'Call-ID', 'CSeq'].map(name =>
      new RegExp(`^${name}: .*$`, 'm').exec(questions().at(-1)!)![0].trim(),
    )
    const via = copied[0]!.replace('rport', `rport=${rport};received=192.0.2.1`)
    const bytes = message('SIP/2.0 404 X', via, ...copied.slice(1), 'Content-Length: 0')
    desk.party.do(desk.party.agent.receive(bytes, REGISTRAR, desk.pipe.now))
  }
  return { desk, asked, answer }
}

/** Runs until the next OPTIONS was sent. */
function untilAsked({ desk, asked }: Pick<ReturnType<typeof asking>, 'desk' | 'asked'>): void {
  const before = asked()
  while (asked() === before && desk.pipe.now < 300_000) desk.pipe.run(desk.pipe.now + 100)
}

test('over UDP it registers again when OPTIONS is not answered any more; a registrar that never answers any is asked once', () => {
  const silent = asking()
  silent.desk.answer(200, 'Contact: <sip:r123@192.0.2.1>;expires=600')
  silent.desk.pipe.run(290_000)
  assert.equal([silent.asked(), silent.desk.requests.length], [1, 1])

  const gone = asking()
  gone.desk.answer(200, 'Contact: <sip:r123@192.0.2.1>;expires=600')
  for (let n = 0; n < 3; n++) {
    untilAsked(gone)
    gone.answer()
  }
  untilAsked(gone)
  assert.is(gone.desk.requests.length, 1)
  const afterMs = gone.desk.untilNext(60_000)
  assert.ok(afterMs >= 11_000 && afterMs <= 12_500, `${afterMs}`)
})

test('over UDP it registers again when the registrar sees it come from elsewhere: a NAT has forgotten it', () => {
  const { desk, asked, answer } = asking()
  const via = /^Via: .*$/m.exec(desk.requests[0]!)![0].trim()
  const seen = `${via};received=192.0.2.1`.replace('rport', 'rport=5060')
  const granted = message(
    'SIP/2.0 200 X',
    seen,
    ...['From', 'To', 'Call-ID', 'CSeq'].map(name => `${name}: ${field(desk.requests[0]!, name)}`),
    'Contact: <sip:r123@192.0.2.1>;expires=600',
    'Content-Length: 0',
  )
  desk.party.do(desk.party.agent.receive(granted, REGISTRAR, desk.pipe.now))
  for (let n = 0; n < 3; n++) {
    untilAsked({ desk, asked })
    answer()
  }
  assert.is(desk.requests.length, 1)
  untilAsked({ desk, asked })
  answer(40_000)
  const afterMs = desk.untilNext(60_000)
  assert.ok(afterMs >= 1000 && afterMs <= 2500, `${afterMs}`)
})

test('nothing of a question is left when the registration ends', () => {
  const ending = asking()
  ending.desk.answer(200, 'Contact: <sip:r123@192.0.2.1>;expires=600')
  untilAsked(ending)
  ending.desk.party.do(ending.desk.party.agent.unwatch('conn_1', ending.desk.pipe.now))
  ending.desk.answer(200)
  ending.desk.pipe.run(ending.desk.pipe.now + 60_000)
  assert.equal([ending.desk.party.agent.transactionCount, ending.desk.party.agent.watchCount], [0, 0])
})

test.run()
