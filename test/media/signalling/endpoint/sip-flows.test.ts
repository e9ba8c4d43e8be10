import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { freePort } from '../../../../bench/free-port.ts'
import { OwnAddresses } from '../../../../media/kernel/own-addresses.ts'
import { SipEndpoint } from '../../../../media/signalling/endpoint/sip-endpoint.ts'
import { SipFlows } from '../../../../media/signalling/endpoint/sip-flows.ts'
import { Names } from '../../../../media/signalling/names.ts'
import { Registrar } from '../../../../media/signalling/registrar.ts'
import { answerChallenge, ha1, parseChallenge } from '../../../../sip/auth/digest.ts'
import type { Peer, UaEvent } from '../../../../sip/user-agent.ts'
import { suite } from '../../../harness.ts'
import { body } from '../../../sip/pipe.ts'

const test = suite('media/signalling/sip-flows')
const HOST = '127.0.0.1'
const ACCOUNT = { username: 'ann', password: 'correct horse' }
/** An address at which nobody listens. */
const CONTACT = 'sip:ann@127.0.0.9:9;transport=tcp'

/** A user agent whose registrar accepts everybody with the password. */
async function scene() {
  const port = await freePort(HOST)
  const events: UaEvent[] = []
  const registrar = new Registrar({
    emit: event => {
      if (event.name !== 'sip.register') return
      const { registerId, contacts, username, algorithm } = event.body
      queueMicrotask(() => {
        registrar.check({ registerId, ha1: ha1(algorithm, username, 'tandem', ACCOUNT.password) })
        registrar.reply({ registerId, sipCode: 200, contacts, minExpiresS: null })
      })
    },
  })
  const endpoint = new SipEndpoint({
    addresses: new OwnAddresses([HOST], []),
    port,
    names: new Names(),
    productName: 'test',
    optionsStatus: () => ({ status: 200 }),
    onEvent: event => events.push(event),
    registrar: { realm: 'tandem', onRegister: register => registrar.onRegister(register) },
  })
  registrar.attach(endpoint)
  await endpoint.listen()
  const phone = () => TcpPhone.open(port)
  return { endpoint, events, phone }
}

/** One connection of a phone. */
class TcpPhone {
  readonly #got: string[] = []
  readonly socket: Socket
  #cSeq = 0

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', bytes =>
      this.#got.push(...bytes.toString('latin1').split(/(?<![A-Z]|^)(?=SIP\/2\.0 \d|[A-Z]+ sip:)/)),
    )
  }

  static async open(port: number): Promise<TcpPhone> {
    const socket = connect({ host: HOST, port })
    await once(socket, 'connect')
    return new TcpPhone(socket)
  }

  /** The next message that begins so; it is waited for. */
  async next(start: string): Promise<string> {
    for (;;) {
      const at = this.#got.findIndex(text => text.startsWith(start))
      if (at >= 0) return this.#got.splice(at, 1)[0]!
      await new Promise(later => setTimeout(later, 5))
    }
  }

  /** Whether a message has come that begins so. */
  got(start: string): boolean {
    return this.#got.some(text => text.startsWith(start))
  }

  async register(contact = `<${CONTACT}>`, { username, password } = ACCOUNT): Promise<void> {
    const uri = `sip:${HOST}`
    const ask = (...authorization: string[]): void =>
      this.#send([
        `REGISTER ${uri} SIP/2.0`,
        `Via: SIP/2.0/TCP ${HOST}:9;rport;branch=z9hG4bK${username}${this.socket.localPort}${++this.#cSeq}`,
        `From: <sip:${username}@${HOST}>;tag=1`,
        `To: <sip:${username}@${HOST}>`,
        `Call-ID: ${this.socket.localPort}`,
        `CSeq: ${this.#cSeq} REGISTER`,
        ...[`Contact: ${contact}`, 'Max-Forwards: 70', ...authorization],
      ])
    ask()
    const value = /^WWW-Authenticate: (.*)\r$/m.exec(await this.next('SIP/2.0 401'))![1]!
    const request = { method: 'REGISTER', uri }
    ask(`Authorization: ${answerChallenge(parseChallenge(value)!, { username, password }, request, 'c', 1)}`)
    await this.next('SIP/2.0 200')
  }

  /** Answers a request. */
  ok(request: string, ...extra: string[]): void {
    this.answer('200 OK', request, ...extra)
  }

  answer(status: string, request: string, ...extra: string[]): void {
    const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(
      name => new RegExp(`^${name}: .*(?=\r$)`, 'm').exec(request)![0],
    )
    this.#send([`SIP/2.0 ${status}`, ...copied, `To: <${CONTACT}>;tag=phone`, ...extra])
  }

  #send(lines: readonly string[]): void {
    this.socket.write([...lines, 'Content-Length: 0', '', ''].join('\r\n'))
  }

  async close(): Promise<void> {
    this.socket.end()
    await once(this.socket, 'close')
  }
}

test('a phone whose connection breaks in a call and that registers over another one gets the BYE there', async () => {
  const { endpoint, events, phone } = await scene()
  const first = await phone()
  await first.register()
  const target = { transport: 'tcp', host: HOST, port: first.socket.localPort! } as const
  const sessionId = endpoint.invite({ to: CONTACT, from: 'sip:c@example.com', target, body: body('offer') })
  const invite = await first.next('INVITE')
  first.ok(invite, `Contact: <${CONTACT}>`)
  await first.next('ACK')
  await first.close()
  const second = await phone()
  await second.register()
  endpoint.do((agent, now) => agent.bye(sessionId, now))
  const bye = await second.next('BYE')
  assert.match(bye, new RegExp(`^BYE ${CONTACT} SIP/2\\.0\r\n`))
  second.ok(bye)
  while (endpoint.sessionCount > 0) await new Promise(later => setTimeout(later, 5))
  assert.is(events.filter(({ kind }) => kind === 'rejected').length, 0)
  await second.close()
  endpoint.close()
})

const OUTBOUND = `<${CONTACT}>;+sip.instance="<urn:uuid:00000000-0000-4000-8000-000000000001>";reg-id=1`

for (const { how, contact, over } of [
  { how: 'with its reg-id', contact: OUTBOUND, over: 'second' },
  { how: 'without a reg-id', contact: OUTBOUND.replace(';reg-id=1', ''), over: 'first' },
  { how: 'with another reg-id', contact: OUTBOUND.replace('reg-id=1', 'reg-id=2'), over: 'first' },
] as const) {
  test(`RFC 5626 §5.3: a phone registers again over another connection, ${how}, while the first seems open: the ${over} one gets the BYE`, async () => {
    const { endpoint, phone } = await scene()
    const first = await phone()
    await first.register(OUTBOUND)
    const target = { transport: 'tcp', host: HOST, port: first.socket.localPort! } as const
    const sessionId = endpoint.invite({ to: CONTACT, from: 'sip:c@example.com', target, body: body('offer') })
    first.ok(await first.next('INVITE'), `Contact: <${CONTACT}>`)
    await first.next('ACK')
    const second = await phone()
    await second.register(contact)
    endpoint.do((agent, now) => agent.bye(sessionId, now))
    const found = over === 'first' ? first : second
    found.ok(await found.next('BYE'))
    while (endpoint.sessionCount > 0) await new Promise(later => setTimeout(later, 5))
    await first.close()
    await second.close()
    endpoint.close()
  })
}

test('a response goes back over the connection of its request, also where another one has come in its place', async () => {
  const { endpoint, phone } = await scene()
  const first = await phone()
  await first.register(OUTBOUND)
  const second = await phone()
  await second.register(OUTBOUND)
  // Its challenge and its 200 are waited for there.
  await first.register(OUTBOUND)
  await first.close()
  await second.close()
  endpoint.close()
})

for (const closes of [true, false]) {
  test(`a phone that registers over another connection while it rings is called and cancelled there, and rings once (the first ${closes ? 'has closed' : 'seems open'})`, async () => {
    const { endpoint, phone } = await scene()
    const first = await phone()
    await first.register(OUTBOUND)
    const target = { transport: 'tcp', host: HOST, port: first.socket.localPort! } as const
    const sessionId = endpoint.invite({ to: CONTACT, from: 'sip:c@example.com', target, body: body('offer') })
    const invite = await first.next('INVITE')
    first.answer('180 Ringing', invite)
    await new Promise(later => setTimeout(later, 50))
    if (closes) await first.close()
    const second = await phone()
    await second.register(OUTBOUND)
    assert.is(await second.next('INVITE'), invite, 'of the same transaction: a phone that has it takes it for a repeat')
    endpoint.do((agent, now) => agent.cancel(sessionId, now))
    second.ok(await second.next('CANCEL'))
    second.answer('487 Request Terminated', invite)
    await second.next('ACK')
    while (endpoint.sessionCount > 0) await new Promise(later => setTimeout(later, 5))
    if (!closes) await first.close()
    await second.close()
    endpoint.close()
  })
}

test('a call that was given up before its phone came back is cancelled there, and not called again', async () => {
  const { endpoint, phone } = await scene()
  const first = await phone()
  await first.register()
  const target = { transport: 'tcp', host: HOST, port: first.socket.localPort! } as const
  const sessionId = endpoint.invite({ to: CONTACT, from: 'sip:c@example.com', target, body: body('offer') })
  const invite = await first.next('INVITE')
  first.answer('180 Ringing', invite)
  await new Promise(later => setTimeout(later, 50))
  await first.close()
  endpoint.do((agent, now) => agent.cancel(sessionId, now))
  await new Promise(later => setTimeout(later, 50))
  const second = await phone()
  await second.register()
  second.ok(await second.next('CANCEL'))
  second.answer('487 Request Terminated', invite)
  await second.next('ACK')
  assert.is(second.got('INVITE'), false)
  await second.close()
  endpoint.close()
})

const flow = (connectionId: string, more: Partial<Peer> = {}): Peer => ({
  ...{ transport: 'tcp', host: '192.0.2.2', port: 49_152, connectionId, isTheirs: true },
  ...more,
})

test('the newest connection of a binding comes after all its former ones', () => {
  const flows = new SipFlows()
  for (const id of ['c1', 'c2', 'c3']) flows.registered(flow(id), [{ phone: 'ann a@b', uri: CONTACT }])
  for (const id of ['c1', 'c2']) assert.is(flows.after(flow(id))?.connectionId, 'c3')
  assert.is(flows.after(flow('c4')), null)
})

test("no connection comes after another account's, another phone's, one of another transport, or one that we opened", () => {
  for (const [next, binding] of [
    [flow('c2'), 'bob a@b'],
    [flow('c2'), 'ann c@d'],
    [flow('c2', { transport: 'tls' }), 'ann a@b'],
    [flow('c2', { isTheirs: false }), 'ann a@b'],
  ] as const) {
    const flows = new SipFlows()
    flows.registered(flow('c1'), [{ phone: 'ann a@b', uri: CONTACT }])
    flows.registered(next, [{ phone: binding, uri: CONTACT }])
    assert.is(flows.after(flow('c1')), null, JSON.stringify([next, binding]))
  }
})

test('a connection is that of a phone until all who have registered over it are forgotten', () => {
  const flows = new SipFlows()
  flows.registered(flow('c1'), [{ phone: 'ann a@b', uri: CONTACT }])
  flows.registered(flow('c1'), [{ phone: 'bob a@b', uri: 'sip:bob@127.0.0.9' }])
  flows.forget(flow('c2'), CONTACT)
  flows.forget(flow('c1'), CONTACT)
  assert.is(flows.has(flow('c1')), true, 'a second account of the same phone')
  flows.forget(flow('c1'), 'sip:bob@127.0.0.9')
  assert.is(flows.has(flow('c1')), false)
  flows.registered(flow('c2'), [{ phone: 'ann a@b', uri: CONTACT }])
  assert.is(flows.after(flow('c1')), null, 'nothing that was said to it is said to who comes later')
})

test('over UDP the same Contact from another address is the same phone, unless another one has that address too', () => {
  const at = (port: number): Peer => ({ transport: 'udp', host: '192.0.2.2', port })
  const ann = { phone: 'ann a@10.0.0.7', uri: 'sip:a@10.0.0.7:5060' }
  const flows = new SipFlows()
  assert.equal(flows.registered(at(1), [ann]), [])
  assert.equal(flows.registered(at(2), [{ ...ann, uri: 'sip:a@10.0.0.7:5062' }]), [], 'another phone of the account')
  assert.equal(flows.registered(at(3), [ann]), [at(1)])
  assert.equal(flows.after(at(1)), at(3))
  flows.registered(at(1), [{ phone: 'bob b@10.0.0.8', uri: 'sip:b@10.0.0.8' }])
  assert.is(flows.after(at(1)), null)
})

test('phones that share a connection are followed where they all have gone', () => {
  const flows = new SipFlows()
  flows.registered(flow('c1'), [
    { phone: 'ann a@b', uri: CONTACT },
    { phone: 'bob a@b', uri: CONTACT },
  ])
  flows.registered(flow('c2'), [{ phone: 'ann a@b', uri: CONTACT }])
  assert.is(flows.after(flow('c1')), null)
  flows.registered(flow('c2'), [{ phone: 'bob a@b', uri: CONTACT }])
  assert.is(flows.after(flow('c1'))?.connectionId, 'c2')
})

test('an open connection is replaced once all phones that registered over it, each with its reg-id, have gone to one and the same', () => {
  const [ann, bob] = [
    { phone: 'ann i', uri: CONTACT, regId: 1 },
    { phone: 'bob i', uri: CONTACT, regId: 1 },
  ]
  const flows = new SipFlows()
  flows.registered(flow('c1'), [ann, bob])
  flows.registered(flow('c2'), [ann])
  assert.is(flows.inPlaceOf(flow('c1')), null)
  flows.registered(flow('c2'), [bob])
  assert.is(flows.inPlaceOf(flow('c1'))?.connectionId, 'c2')
  flows.registered(flow('c1'), [ann, bob])
  assert.is(flows.inPlaceOf(flow('c1')), null, 'it is the newest again')
  assert.is(flows.inPlaceOf(flow('c2'))?.connectionId, 'c1')
  const mixed = new SipFlows()
  mixed.registered(flow('c1'), [ann, { phone: 'eve i', uri: CONTACT }])
  mixed.registered(flow('c2'), [ann, { phone: 'eve i', uri: CONTACT }])
  assert.is(mixed.inPlaceOf(flow('c1')), null, 'one without a reg-id may be another phone')
})

test.run()
