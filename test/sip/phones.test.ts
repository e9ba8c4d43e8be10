import * as assert from 'uvu/assert'
import { answerChallenge, ha1, parseChallenge } from '../../sip/auth/digest.ts'
import type { AskReply, Peer } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { message, Party, Pipe } from './pipe.ts'

const test = suite('sip/phones')
const PHONE: Peer = { transport: 'udp', host: '198.51.100.7', port: 40_000 }
const ANN = { username: 'ann', password: 'correct horse' }
const HA1 = ha1('MD5', ANN.username, 'tandem', ANN.password)
const BUSY = { package: 'dialog', dialogs: [{ id: 'r1', direction: 'recipient', state: 'confirmed' }] } as const
const FREE = { package: 'dialog', dialogs: [] } as const
const OK = (state: AskReply['state']): AskReply => ({ status: 200, retryAfterS: null, state })

/** The product's user agent, and a phone whose messages are text of the test. */
class Scene {
  readonly pipe = new Pipe()
  readonly server = new Party(this.pipe, '192.0.2.2', { registrarRealm: 'tandem' })
  #cseq = 0

  ask(method: string, extra: string[], { toTag = '', content = '', uri = 'sip:bob@192.0.2.2' } = {}): string {
    const headers = (more: string[]) =>
      message(
        `${method} ${uri} SIP/2.0`,
        `Via: SIP/2.0/UDP 10.0.0.5:5060;rport;branch=z9hG4bKask${++this.#cseq}`,
        'From: <sip:ann@192.0.2.2>;tag=p',
        `To: <sip:bob@192.0.2.2>${toTag}`,
        'Call-ID: sub1',
        `CSeq: ${this.#cseq} ${method}`,
        'Contact: <sip:ann@198.51.100.7:40000>',
        ...extra,
        ...more,
        `Content-Length: ${content.length}`,
      )
    const feed = (more: string[]) => this.feed(Buffer.concat([headers(more), Buffer.from(content, 'latin1')]))
    const refused = feed([])
    const challenge = parseChallenge(/^WWW-Authenticate: (.*)\r$/m.exec(refused)?.[1] ?? '')
    if (challenge === null) return refused
    return feed([`Authorization: ${answerChallenge(challenge, ANN, { method, uri }, 'c0ffee', 1)}`])
  }

  feed(bytes: Uint8Array): string {
    const before = this.server.sent.length
    this.server.do(this.server.agent.receive(bytes, PHONE, this.pipe.now))
    return this.server.sent
      .slice(before)
      .map(({ text }) => text)
      .join('')
  }

  /** Answers the last request for a decision, with the right password. */
  grant(reply: AskReply): string | null {
    const { askId } = this.server.asks.at(-1)!
    const judged = this.server.agent.checkAsk(askId, HA1, this.pipe.now)
    this.server.do(judged.actions)
    assert.is(judged.isRight, true)
    const answered = this.server.agent.answerAsk(askId, reply, this.pipe.now)
    this.server.do(answered.actions)
    return answered.subscriptionId
  }

  subscribe(expiresS = 600, event = 'dialog'): string {
    this.ask('SUBSCRIBE', [`Event: ${event}`, `Expires: ${expiresS}`])
    return this.grant(OK(BUSY))!
  }

  get notifies(): string[] {
    return this.server.sentLike('NOTIFY').map(({ text }) => text)
  }

  /** The phone's answer to the last NOTIFY. */
  answer(status: number, extra: string[] = []): void {
    const copied = ['Via', 'From', 'To', 'Call-ID', 'CSeq'].map(name =>
      new RegExp(`^${name}: .*$`, 'm').exec(this.notifies.at(-1)!)![0].trim(),
    )
    this.feed(message(`SIP/2.0 ${status} X`, ...copied, ...extra, 'l: 0'))
  }
}

test('an event package that we do not have is answered 489 with Allow-Events, before any password is asked for', () => {
  const text = new Scene().ask('SUBSCRIBE', ['Event: presence'])
  assert.match(text, /^SIP\/2\.0 489 [\s\S]*Allow-Events: message-summary, dialog/)
})

test('a subscription to what becomes of a REFER begins with that alone (RFC 3515 §2.4.4): 403', () => {
  assert.match(new Scene().ask('SUBSCRIBE', ['Event: refer']), /^SIP\/2\.0 403 /)
})

test('OPTIONS says which events there are (RFC 6665 §4.4.4)', () => {
  assert.match(new Scene().ask('OPTIONS', []), /^SIP\/2\.0 200 [\s\S]*\r\nAllow-Events: message-summary, dialog\r\n/)
})

test('a SUBSCRIBE without a digest is challenged; a wrong one is answered 403', () => {
  const scene = new Scene()
  scene.ask('SUBSCRIBE', ['Event: dialog'])
  assert.equal(
    scene.server.asks.map(({ username, to }) => [username, to]),
    [['ann', 'bob']],
  )
  const { askId } = scene.server.asks[0]!
  const { isRight, actions } = scene.server.agent.checkAsk(askId, 'f'.repeat(32), 0)
  scene.server.do(actions)
  assert.is(isRight, false)
  assert.match(scene.server.sent.at(-1)!.text, /^SIP\/2\.0 403 /)
})

test('a SUBSCRIBE is answered 200 with its time, and the state follows at once (RFC 6665 §4.2.1)', () => {
  const scene = new Scene()
  scene.subscribe(600, 'dialog;id=7')
  assert.match(scene.server.sentLike('SIP/2.0 200')[0]!.text, /To: .*;tag=[\s\S]*Contact: [\s\S]*Expires: 600\r\n/)
  const [notify] = scene.notifies
  assert.match(notify!, /^NOTIFY sip:ann@198\.51\.100\.7:40000 /)
  assert.match(notify!, /Event: dialog;id=7\r\nSubscription-State: active;expires=600\r\n/)
  assert.match(notify!, 'Content-Type: application/dialog-info+xml')
  assert.match(notify!, /version="0" state="full" entity="sip:bob@192\.0\.2\.2"/)
  assert.match(notify!, '<dialog id="r1" direction="recipient"><state>confirmed</state></dialog>')
})

test('while a NOTIFY is under way the latest state waits, what was between is left out, and the same is not told twice', () => {
  const scene = new Scene()
  const id = scene.subscribe()
  const ringing = { package: 'dialog', dialogs: [{ id: 'r2', direction: 'recipient', state: 'early' }] } as const
  for (const state of [ringing, FREE]) scene.server.do(scene.server.agent.notify(id, state, 0))
  assert.is(scene.notifies.length, 1)
  scene.answer(200)
  assert.is(scene.notifies.length, 2)
  assert.match(scene.notifies[1]!, 'version="1"')
  assert.not.match(scene.notifies[1]!, '<dialog ')
  scene.answer(200)
  scene.server.do(scene.server.agent.notify(id, FREE, 0))
  assert.is(scene.notifies.length, 2)
})

test('it is refreshed inside of its dialog, told all again, and ends with Expires: 0 and a last NOTIFY', () => {
  const scene = new Scene()
  const id = scene.subscribe(120)
  const toTag = `;tag=${/^From: .*;tag=(\w+)/m.exec(scene.notifies[0]!)![1]}`
  const inside = { toTag, uri: 'sip:192.0.2.2:5060' }
  scene.answer(200)
  scene.pipe.run(100_000)
  scene.ask('SUBSCRIBE', ['Event: dialog', 'Expires: 120'], inside)
  assert.is(scene.grant(OK(BUSY)), id)
  assert.is(scene.notifies.length, 2)
  scene.answer(200)
  scene.pipe.run(210_000)
  assert.equal(scene.server.unsubscribed, [], 'the refresh has moved its end')
  scene.ask('SUBSCRIBE', ['Event: dialog', 'Expires: 0'], inside)
  scene.grant(OK(BUSY))
  assert.match(scene.notifies.at(-1)!, 'Subscription-State: terminated;reason=timeout')
  scene.answer(200)
  assert.equal(scene.server.agent.subscriptionIds, [])
  assert.match(scene.ask('SUBSCRIBE', ['Event: dialog'], inside), /^SIP\/2\.0 481 /)
})

test('a SUBSCRIBE for another package inside of a subscription refreshes nothing, and is answered 481', () => {
  const scene = new Scene()
  const id = scene.subscribe()
  const toTag = `;tag=${/^From: .*;tag=(\w+)/m.exec(scene.notifies[0]!)![1]}`
  const inside = { toTag, uri: 'sip:192.0.2.2:5060' }
  assert.match(scene.ask('SUBSCRIBE', ['Event: message-summary', 'Expires: 600'], inside), /^SIP\/2\.0 481 /)
  scene.ask('SUBSCRIBE', ['Event: dialog', 'Expires: 300'], inside)
  assert.is(scene.grant(OK(BUSY)), id)
})

test('one that is not refreshed ends when its time is over, with a NOTIFY that says so', () => {
  const scene = new Scene()
  const id = scene.subscribe(60)
  scene.answer(200)
  scene.pipe.run(60_100)
  assert.match(scene.notifies.at(-1)!, 'terminated;reason=timeout')
  assert.equal(scene.server.unsubscribed, [id])
  scene.pipe.run(200_000)
  assert.equal([scene.server.agent.transactionCount, scene.server.agent.nextDeadline()], [0, null])
})

test('RFC 6665 §4.1.3: one that we end is told so by `rejected`, also if a NOTIFY was still unanswered: the phone is not to ask again', () => {
  for (const isAnswered of [true, false]) {
    const scene = new Scene()
    const id = scene.subscribe()
    if (isAnswered) scene.answer(200)
    scene.server.do(scene.server.agent.endSubscription(id, 0))
    if (!isAnswered) scene.answer(200)
    assert.is(scene.notifies.length, 2)
    assert.match(scene.notifies[1]!, 'Subscription-State: terminated;reason=rejected')
  }
})

test('a NOTIFY that is answered 481, or not at all, ends it; one that is answered 503 with Retry-After does not', () => {
  for (const [status, extra, ends] of [
    [481, [], true],
    [503, ['Retry-After: 10'], false],
    [0, [], true],
  ] as const) {
    const scene = new Scene()
    const id = scene.subscribe()
    if (status === 0) scene.pipe.run(40_000)
    else scene.answer(status, [...extra])
    assert.equal([scene.server.unsubscribed, scene.server.agent.subscriptionIds], ends ? [[id], []] : [[], [id]])
  }
})

test('Expires: 0 outside of a dialog fetches the state once', () => {
  const scene = new Scene()
  scene.ask('SUBSCRIBE', ['Event: message-summary', 'Expires: 0'])
  scene.grant(OK({ package: 'message-summary', waiting: 2, heard: 0 }))
  assert.match(
    scene.notifies[0]!,
    /terminated;reason=timeout[\s\S]*Messages-Waiting: yes\r\n[\s\S]*Voice-Message: 2\/0 \(0\/0\)\r\n$/,
  )
  assert.equal(scene.server.agent.subscriptionIds, [])
})

test('a time below a minute is answered 423 with Min-Expires, above an hour it gets an hour; other types than ours are 406', () => {
  assert.match(new Scene().ask('SUBSCRIBE', ['Event: dialog', 'Expires: 30']), /^SIP\/2\.0 423 [\s\S]*Min-Expires: 60/)
  const scene = new Scene()
  scene.subscribe(100_000)
  assert.match(scene.server.sentLike('SIP/2.0 200')[0]!.text, 'Expires: 3600')
  assert.match(new Scene().ask('SUBSCRIBE', ['Event: dialog', 'Accept: text/html']), /^SIP\/2\.0 406 /)
})

test('a MESSAGE of a phone is handed on with its text, and answered as its owner says', () => {
  const scene = new Scene()
  scene.ask('MESSAGE', ['Content-Type: text/plain'], { content: 'hello Bob' })
  assert.equal(scene.server.asks[0]!.what, { method: 'MESSAGE', text: 'hello Bob' })
  scene.grant({ status: 202, retryAfterS: null, state: null })
  assert.match(scene.server.sent.at(-1)!.text, /^SIP\/2\.0 202 [\s\S]*CSeq: 2 MESSAGE/)
})

test('a MESSAGE of another type is answered 415, one too long 413, and one inside of a call 405', () => {
  assert.match(
    new Scene().ask('MESSAGE', ['Content-Type: text/html'], { content: '<p>' }),
    /^SIP\/2\.0 415 [\s\S]*Accept: text\/plain/,
  )
  assert.match(
    new Scene().ask('MESSAGE', ['Content-Type: text/plain'], { content: 'x'.repeat(1301) }),
    /^SIP\/2\.0 413 /,
  )
})

test('a MESSAGE without a text is answered 400: its type is the one that is taken', () => {
  for (const type of [[], ['Content-Type: text/plain']])
    assert.match(new Scene().ask('MESSAGE', type), /^SIP\/2\.0 400 /)
  assert.match(new Scene().ask('MESSAGE', ['Content-Type: text/html']), /^SIP\/2\.0 415 /)
})

test('a MESSAGE is read in the character set that it names; one that is compressed or in an unknown set is answered 415', () => {
  for (const [type, content, text] of [
    ['text/plain;charset=ISO-8859-1', 'gr\xfc\xdfe', 'grüße'],
    ['text/plain; charset="utf-8"', 'gr\xc3\xbc\xc3\x9fe', 'grüße'],
  ] as const) {
    const scene = new Scene()
    scene.ask('MESSAGE', [`Content-Type: ${type}`], { content })
    assert.equal(scene.server.asks[0]!.what, { method: 'MESSAGE', text })
  }
  const refused = (...headers: string[]): string => new Scene().ask('MESSAGE', headers, { content: 'x' })
  assert.match(refused('Content-Type: text/plain;charset=klingon'), /^SIP\/2\.0 415 /)
  const zipped = refused('Content-Type: text/plain', 'Content-Encoding: gzip')
  assert.match(zipped, /^SIP\/2\.0 415 [\s\S]*Accept-Encoding: identity/)
})

test('a text of ours is a MESSAGE to the phone, by the proxies of its Path, and its end is told once', () => {
  const pipe = new Pipe()
  const server = new Party(pipe, '192.0.2.2', { registrarRealm: 'tandem' })
  const text = {
    messageId: 'm1',
    to: 'sip:ann@198.51.100.7:40000',
    from: 'sip:bob@192.0.2.2',
    target: PHONE,
    route: ['<sip:edge.example.com;lr>'],
    text: 'grüß dich',
  }
  server.do(server.agent.message(text, 0))
  const [sent] = server.sent
  assert.match(
    Buffer.from(sent!.text, 'latin1').toString('utf8'),
    /^MESSAGE sip:ann@198\.51\.100\.7:40000 [\s\S]*Route: <sip:edge\.example\.com;lr>\r\n[\s\S]*Content-Type: text\/plain;charset=UTF-8\r\n[\s\S]*grüß dich$/,
  )
  pipe.run(40_000)
  assert.equal(server.messages, [{ messageId: 'm1', sipCode: 408 }])
})

test('a phone cannot reach another’s subscription: the dialog is looked up by both tags', () => {
  const scene = new Scene()
  scene.subscribe()
  assert.match(scene.ask('SUBSCRIBE', ['Event: dialog'], { toTag: ';tag=guessed' }), /^SIP\/2\.0 481 /)
})

test.run()
