// Sleeps most: it waits most of the time, and judges only tones that last.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import type { Product } from '../../bench/product.ts'
import { samplesOf } from '../../bench/voices.ts'
import { curtain, keep, leave, newRoom, seat } from '../e2e/scene.ts'
import { sharedProduct } from '../e2e/shared-product.ts'
import { WebhookReceiver } from '../fakes/webhook-receiver.ts'
import { missingPrograms, suite } from '../harness.ts'
import type { Sipp } from './peers/sipp.ts'
import { FOUR, Loss, overUdp, SIX, testWays, WAYS, type Way, WaysProduct } from './peers/ways.ts'

// T.38 between two gateways: SIPp does their signalling, and the test sends and receives their UDPTL.

const test = suite('interop/fax')
const missing = missingPrograms('sipp', 'openssl')
const LIMIT = { timeoutMs: 60_000 }

let ways: WaysProduct | undefined
let product: Product
test.before(async () => {
  ways = missing === null ? await WaysProduct.start() : undefined
  product = ways?.product ?? (await sharedProduct())
})
test.after(async () => {
  ways?.close()
  await curtain(product)
})

/** Over each way, and over UDP where each message is lost once. */
function wireTest(sentence: string, run: (gateways: Gateways) => Promise<void>): void {
  testWays(test, missing, sentence, async way => run(await Gateways.at(way)))
  const lossy = async (way: Way): Promise<void> => run(await Gateways.at(way, true))
  testWays(test, missing, `${sentence}, each message being lost once`, lossy, WAYS.filter(overUdp))
}

/** Gateways that call one room. */
class Gateways {
  static #rooms = 0
  readonly way: Way
  readonly #roomId: string
  readonly #to: string
  readonly #isLossy: boolean

  private constructor(way: Way, roomId: string, to: string, isLossy: boolean) {
    this.way = way
    this.#roomId = roomId
    this.#to = to
    this.#isLossy = isLossy
  }

  static async at(way: Way, isLossy = false): Promise<Gateways> {
    const to = `bridge${++Gateways.#rooms}`
    const { id } = await product.ok('POST', '/conference_rooms', { name: to })
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'room', id } })
    return new Gateways(way, id, to, isLossy)
  }

  calls(scenario: string, keys: Record<string, string> = {}, lengthMs?: number): Promise<Sipp> {
    const options = { to: this.#to, keys, ...(lengthMs === undefined ? {} : { lengthMs }) }
    // SIPp would take the 200 that is repeated for want of this ACK for that of its re-INVITE.
    const loss = this.#isLossy ? new Loss(name => name !== 'ACK of 1 ACK') : undefined
    return ways!.caller(scenario, this.way, options, loss?.passes)
  }

  /** Resolves when the first one is in the room, and has acknowledged that: until then it is asked nothing. */
  async joined(sipp: Sipp): Promise<void> {
    const isAcknowledged = (): boolean =>
      sipp.messages.some(({ sent, startLine }) => sent && startLine.startsWith('ACK'))
    await product.until('it has acknowledged', async () => (isAcknowledged() ? true : null))
    await product.until('one is in the room', async () => {
      sipp.mustNotHaveFailed()
      return (await product.all(`/conference_rooms/${this.#roomId}/participants`)).length === 1 ? true : null
    })
  }

  /** The events of a fax in the room. */
  async events(): Promise<string[]> {
    const calls = (await product.all('/calls')).filter(({ room_id }) => room_id === this.#roomId).map(({ id }) => id)
    const events = await product.all('/events')
    return events
      .filter(({ type, data }) => type.startsWith('call.fax.') && calls.includes(data.object.call_id))
      .map(({ type }) => type)
  }
}

/** A gateway's UDPTL address, and what it received. */
class Gateway {
  readonly got: string[] = []
  readonly #socket: Socket
  readonly #host: string

  private constructor(host: string) {
    this.#host = host
    this.#socket = createSocket(host === SIX ? 'udp6' : 'udp4')
  }

  static async open(host: string): Promise<Gateway> {
    const gateway = new Gateway(host)
    gateway.#socket.on('message', data => gateway.got.push(data.toString('latin1')))
    gateway.#socket.bind(0, host)
    await once(gateway.#socket, 'listening')
    return gateway
  }

  get port(): number {
    return (this.#socket.address() as AddressInfo).port
  }

  send(sequence: number, text: string, to: number): void {
    const packet = Buffer.concat([Buffer.from([sequence >> 8, sequence & 0xff, text.length]), Buffer.from(text)])
    this.#socket.send(packet, to, this.#host === SIX ? SIX : FOUR)
  }

  close(): void {
    this.#socket.close()
  }
}

/** The product's UDPTL port, by its last T.38 description to this SIPp. */
const faxPort = (sipp: Sipp): number | null => {
  const ports = sipp.messages.flatMap(({ sent, text }) => (sent ? [] : [/m=image (\d+) udptl/.exec(text)?.[1]]))
  const port = Number(ports.findLast(found => found !== undefined))
  return port > 0 ? port : null
}

wireTest(
  'T.38: who goes over to fax is answered with what the other party of its room says, UDPTL passes both ways as it is, and the end leads back to audio',
  async gateways => {
    const { host } = gateways.way
    const [ours, theirs] = [await Gateway.open(host), await Gateway.open(host)]
    // IPv6 has no second address on this machine.
    const stranger = host === FOUR ? await Gateway.open('127.0.0.9') : null
    const takes = await gateways.calls('fax-takes', { fax_port: String(theirs.port), fax_buffer: '2048' })
    await gateways.joined(takes)
    const asks = await gateways.calls('fax-asks', { fax_port: String(ours.port), fax_buffer: '1536' }, 2500)
    const [near, far] = await product.until('both have a port of ours', async () => {
      const ports = [faxPort(asks), faxPort(takes)]
      return ports[0] != null && ports[1] != null ? (ports as [number, number]) : null
    })
    // Packets from any other address are ignored.
    stranger?.send(0, 'not yours', near)
    for (let n = 0; n < 20; n++) {
      ours.send(n, `page ${n}`, near)
      theirs.send(n, `carry on ${n}`, far)
    }
    await product.until('all of it has come', async () =>
      theirs.got.length >= 20 && ours.got.length >= 20 ? true : null,
    )
    assert.equal(
      theirs.got.map(text => text.slice(3)),
      Array.from({ length: 20 }, (_, n) => `page ${n}`),
    )
    assert.equal(
      ours.got.map(text => text.slice(3)),
      Array.from({ length: 20 }, (_, n) => `carry on ${n}`),
    )
    await asks.passed()
    await takes.passed()
    // Each gateway gets the other's capabilities, not ours.
    assert.match(
      asks.received('SIP/2.0 200').find(({ text }) => text.includes('m=image'))!.text,
      /a=T38FaxMaxBuffer:2048/,
    )
    assert.match(takes.received('INVITE')[0]!.text, /a=T38FaxMaxBuffer:1536/)
    assert.equal(await gateways.events(), ['call.fax.started', 'call.fax.ended'])
    for (const gateway of [ours, theirs, stranger]) gateway?.close()
  },
)

const ANY_FAX = { fax_port: '4000', fax_buffer: '200' }

wireTest(
  'T.38: a partner that has none is asked first, so that who wants it hears 488 and both go on with tones',
  async gateways => {
    const declines = await gateways.calls('fax-declines')
    await gateways.joined(declines)
    const refused = await gateways.calls('fax-refused', ANY_FAX)
    await refused.passed()
    await declines.passed()
    assert.equal(await gateways.events(), [])
  },
)

wireTest('T.38: who is alone, or speaks with the product, is answered 488', async gateways => {
  await (await gateways.calls('fax-refused', ANY_FAX)).passed()
})

/** A sine, followed by as much silence as a calling machine leaves (T.30 §4.3.3.1). */
function beep(hz: number, seconds: number): Int16Array {
  const samples = new Int16Array((seconds + 3) * 8000)
  for (let i = 0; i < seconds * 8000; i++) samples[i] = 8000 * Math.sin((2 * Math.PI * hz * i) / 8000)
  return samples
}

test(
  'the tones by which fax machines call and answer are events of the API and webhooks, each of the party that sends it',
  async () => {
    const webhooks = keep(await new WebhookReceiver().listen())
    const types = ['call.fax.detected']
    const endpoint = await product.ok('POST', '/webhook_endpoints', { url: webhooks.url, event_types: types })
    const room = await newRoom(product)
    const [calling, answering] = [await seat(product, room, 'fax-calls'), await seat(product, room, 'fax-answers')]
    calling.call.say(samplesOf(beep(1100, 0.5)))
    answering.call.say(samplesOf(beep(2100, 3)))
    const expected = [
      [calling.callId, calling.participantId, 'cng'],
      [answering.callId, answering.participantId, 'ced'],
    ].sort()
    const shown = (events: { data: { object: Record<string, string> } }[]) =>
      events
        .map(({ data: { object } }) => [object.call_id, object.participant_id, object.tone])
        .filter(([callId]) => expected.some(([own]) => own === callId))
        .sort()
    const untilBoth = (what: string, read: () => Promise<unknown[][]>) =>
      product.until(`both ${what}`, async () => {
        const tones = await read()
        return tones.length >= 2 ? tones : null
      })
    const told = await untilBoth('events', async () => shown(await product.all('/events?type=call.fax.detected')))
    assert.equal(told, expected)
    const posted = await untilBoth('webhooks', async () => shown(webhooks.received.map(({ body }) => JSON.parse(body))))
    assert.equal(posted, expected)
    await leave(calling, answering)
    await product.ok('DELETE', `/webhook_endpoints/${endpoint.id}`)
  },
  LIMIT,
)

test.run()
