import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { freePort } from '../../../../bench/free-port.ts'
import { OwnAddresses } from '../../../../media/kernel/own-addresses.ts'
import { chooseDoors } from '../../../../media/rtp/datagrams/choose.ts'
import { type OpenDoor, openNodeDoor } from '../../../../media/rtp/datagrams/door-socket.ts'
import { SipEndpoint } from '../../../../media/signalling/endpoint/sip-endpoint.ts'
import { SipGate } from '../../../../media/signalling/endpoint/sip-gate.ts'
import { Names } from '../../../../media/signalling/names.ts'
import type { UaEvent } from '../../../../sip/user-agent.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling/sip-flood')

const HOST = '127.0.0.1'
/** Packets of one host in ten seconds of the flood that once made the port unreachable. */
const FLOOD = 16_000

/** A host with its own loopback address. */
class Host {
  readonly got: string[] = []
  readonly #socket: Socket
  readonly #to: number

  private constructor(socket: Socket, to: number) {
    this.#socket = socket
    this.#to = to
    socket.on('message', bytes => this.got.push(bytes.toString('latin1')))
  }

  static async at(address: string, to: number): Promise<Host> {
    const socket = createSocket('udp4')
    socket.bind(0, address)
    await once(socket, 'listening')
    return new Host(socket, to)
  }

  send(method: string, n: number, more = ''): void {
    const { address, port } = this.#socket.address()
    this.#socket.send(
      `${method} sip:1000@${HOST} SIP/2.0\r\nVia: SIP/2.0/UDP ${address}:${port};rport;branch=z9hG4bK${n}\r\n` +
        `Max-Forwards: 70\r\nFrom: <sip:a@${address}>;tag=t${n}\r\nTo: <sip:1000@${HOST}>\r\nCall-ID: ${n}@${address}\r\n` +
        `CSeq: 1 ${method}\r\nContact: <sip:a@${address}:${port}>\r\n${more}Content-Length: 0\r\n\r\n`,
      this.#to,
      HOST,
    )
  }

  async flood(method: string, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      this.send(method, n)
      if (n % 200 === 0) await new Promise(later => setTimeout(later, 1))
    }
    await new Promise(later => setTimeout(later, 50))
  }

  /** `again` sends the request anew meanwhile, as a client over UDP does: the flood may have filled the socket (RFC 3261 §17.1.2.2). */
  async answer(pattern: RegExp, again?: () => void): Promise<string> {
    for (let tries = 1; ; tries++) {
      assert.ok(tries < 1000, `nothing like ${pattern} came`)
      if (tries % 100 === 0) again?.()
      const found = this.got.find(message => pattern.test(message))
      if (found !== undefined) return found
      await new Promise(later => setTimeout(later, 5))
    }
  }

  close(): void {
    this.#socket.close()
  }
}

const { open: chosen, problem } = await chooseDoors('auto')
/** The UDP sockets that this system has. */
const ways: readonly (readonly [string, OpenDoor])[] =
  problem === null
    ? [
        ['native', chosen],
        ['node', openNodeDoor],
      ]
    : [['node', openNodeDoor]]

async function scene(openUdp = chosen) {
  const events: UaEvent[] = []
  const port = await freePort()
  const endpoint = new SipEndpoint({
    addresses: new OwnAddresses([HOST], []),
    port,
    openUdp,
    names: new Names(),
    productName: 'test',
    optionsStatus: () => ({ status: 200 }),
    onEvent: event => events.push(event),
    registrar: { realm: 'tandem', onRegister: () => {} },
  })
  await endpoint.listen()
  const hosts: Host[] = []
  const host = async (address: string) => {
    const made = await Host.at(address, port)
    hosts.push(made)
    return made
  }
  const close = (): void => {
    endpoint.close()
    for (const one of hosts) one.close()
  }
  return { endpoint, events, host, close }
}

for (const [way, method] of ways.flatMap(([way]) =>
  ['OPTIONS', 'REGISTER', 'BYE', 'SUBSCRIBE', 'NONSENSE'].map(method => [way, method] as const),
)) {
  test(`${way}: a flood of ${method} fills no transaction table, and is cut off by its network`, async () => {
    const { endpoint, host, close } = await scene(new Map(ways).get(way))
    const attacker = await host('127.0.0.2')
    await attacker.flood(method, FLOOD)
    assert.is(endpoint.transactionCount, 0)
    assert.ok(endpoint.messagesLimited > FLOOD / 10, `${endpoint.messagesLimited} were not looked at`)
    const bystander = await host('127.0.0.3')
    const ask = () => bystander.send('OPTIONS', 1)
    ask()
    assert.match(await bystander.answer(/OPTIONS/, ask), /^SIP\/2\.0 200 /)
    close()
  })
}

test('what is answered without state is answered alike when it comes again', async () => {
  const { host, close } = await scene()
  const caller = await host('127.0.0.2')
  caller.send('OPTIONS', 1)
  caller.send('OPTIONS', 1)
  while (caller.got.length < 2) await new Promise(later => setTimeout(later, 5))
  assert.is(caller.got[0], caller.got[1])
  assert.match(caller.got[0]!, /To: <[^>]+>;tag=\w+/)
  close()
})

for (const [way, openUdp] of ways) {
  test(`${way}: a flood of INVITEs takes no room of a trunk that control has named`, async () => {
    const { endpoint, events, host, close } = await scene(openUdp)
    endpoint.know(['127.0.0.9/32'])
    const attackers = await Promise.all(['127.0.0.2', '127.0.0.3', '127.0.0.4'].map(host))
    for (const attacker of attackers) await attacker.flood('INVITE', 4000)
    const peers = events.flatMap(event => (event.kind === 'incoming' ? [event.peer] : []))
    const asked = peers.filter(peer => endpoint.admitsCall(peer))
    assert.ok(asked.length < 3 * 100, `control would be asked about ${asked.length} calls`)
    const trunk = await host('127.0.0.9')
    const ofTrunk = () =>
      events.flatMap(event => (event.kind === 'incoming' && event.peer.host === '127.0.0.9' ? [event.peer] : []))
    for (let n = 0; n < 100; n++) {
      const invite = () => trunk.send('INVITE', n)
      invite()
      await trunk.answer(new RegExp(`SIP/2.0 100 [^]*branch=z9hG4bK${n}\\b`), invite)
    }
    assert.is(ofTrunk().length, 100)
    assert.ok(ofTrunk().every(peer => endpoint.admitsCall(peer)))
    close()
  })
}

test('whom we have sent a request to, and a phone that has registered, is no stranger', async () => {
  const gate = new SipGate()
  assert.is(gate.isKnown('192.0.2.1', 0), false)
  gate.meet('192.0.2.1', 0)
  assert.is(gate.isKnown('192.0.2.1', 60_000), true)
  assert.is(gate.isKnown('192.0.2.1', 2 * 60 * 60 * 1000), false)
})

test('strangers with made-up addresses take nothing of those that are known', () => {
  const gate = new SipGate()
  gate.know(['198.51.100.0/24', '2001:db8::/32'])
  let passed = 0
  for (let n = 0; n < 100_000; n++) {
    const host = `203.0.${(n >> 8) & 255}.${n & 255}`
    if (gate.admits(host, gate.isKnown(host, 0), 0)) passed++
  }
  assert.is(passed, 250, 'all strangers together have one limit')
  for (const host of ['198.51.100.7', '2001:db8::7', '::ffff:198.51.100.8']) {
    assert.is(gate.isKnown(host, 0), true, host)
    assert.is(gate.admits(host, true, 0), true, host)
  }
})

test('calls of strangers with made-up addresses are asked about up to one limit for all of them', () => {
  const gate = new SipGate()
  const asked = (now: number): number => {
    let count = 0
    for (let n = 0; n < 10_000; n++) if (gate.admitsCall(`203.0.${(n >> 8) & 255}.${n & 255}`, now)) count++
    return count
  }
  assert.is(asked(0), 100)
  assert.is(asked(1000), 50)
})

test.run()
