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
/** It listens nowhere. */
const CONTACT = 'sip:ann@127.0.0.9:9;transport=tcp'

/** A user agent whose registrar takes everybody with the password. */
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
    socket.on('data', bytes => this.#got.push(...bytes.toString('latin1').split(/(?<=\r\n\r\n)(?=[A-Z])/)))
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
    const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(
      name => new RegExp(`^${name}: .*(?=\r$)`, 'm').exec(request)![0],
    )
    this.#send(['SIP/2.0 200 OK', ...copied, `To: <${CONTACT}>;tag=phone`, ...extra])
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

const flow = (connectionId: string, more: Partial<Peer> = {}): Peer => ({
  ...{ transport: 'tcp', host: '192.0.2.2', port: 49_152, connectionId, isTheirs: true },
  ...more,
})

test('the newest connection of a binding comes after all its former ones', () => {
  const flows = new SipFlows()
  for (const id of ['c1', 'c2', 'c3']) flows.registered(flow(id), ['ann a@b'])
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
    flows.registered(flow('c1'), ['ann a@b'])
    flows.registered(next, [binding])
    assert.is(flows.after(flow('c1')), null, JSON.stringify([next, binding]))
  }
})

test('phones that share a connection are followed where they all have gone', () => {
  const flows = new SipFlows()
  flows.registered(flow('c1'), ['ann a@b', 'bob a@b'])
  flows.registered(flow('c2'), ['ann a@b'])
  assert.is(flows.after(flow('c1')), null)
  flows.registered(flow('c2'), ['bob a@b'])
  assert.is(flows.after(flow('c1'))?.connectionId, 'c2')
})

test.run()
