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
import { Sipp } from './peers/sipp.ts'

// T.38 between two gateways: SIPp does their signalling, and the test sends and receives their UDPTL.

const test = suite('interop/fax')
const missing = missingPrograms('sipp')
const LIMIT = { timeoutMs: 60_000 }

let product: Product
let roomId: string
test.before(async () => {
  product = await sharedProduct()
  if (missing !== null) return
  const { id } = await product.ok('POST', '/conference_rooms', { name: 'Two gateways' })
  roomId = id
  await product.ok('POST', '/inbound_routes', { match: { to: 'bridge' }, target: { type: 'room', id } })
})
test.after(() => curtain(product))

const wireTest = (sentence: string, run: () => Promise<void>): void => {
  if (missing === null) test(sentence, run, LIMIT)
  else test.skip(sentence, missing)
}

/** A gateway's UDPTL address, and what it received. */
class Gateway {
  readonly got: string[] = []
  readonly #socket: Socket = createSocket('udp4')

  static async open(host = '127.0.0.1'): Promise<Gateway> {
    const gateway = new Gateway()
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
    this.#socket.send(packet, to, '127.0.0.1')
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

const joined = async (legs: number): Promise<void> => {
  await product.until(`${legs} are in the room`, async () =>
    (await product.all(`/conference_rooms/${roomId}/participants`)).length === legs ? true : null,
  )
}

const typesOf = async (): Promise<string[]> =>
  (await product.ok('GET', '/events?limit=100')).data
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => type.startsWith('call.fax.'))
    .reverse()

wireTest(
  'T.38: who goes over to fax is answered with what the other party of its room says, UDPTL passes both ways as it is, and the end leads back to audio',
  async () => {
    const [ours, theirs] = [await Gateway.open(), await Gateway.open()]
    const stranger = await Gateway.open('127.0.0.9')
    const takes = await Sipp.caller('fax-takes', product.sip, {
      to: 'bridge',
      keys: { fax_port: String(theirs.port), fax_buffer: '2048' },
    })
    await joined(1)
    const asks = await Sipp.caller('fax-asks', product.sip, {
      to: 'bridge',
      lengthMs: 2500,
      keys: { fax_port: String(ours.port), fax_buffer: '1536' },
    })
    const [near, far] = await product.until('both have a port of ours', async () => {
      const ports = [faxPort(asks), faxPort(takes)]
      return ports[0] != null && ports[1] != null ? (ports as [number, number]) : null
    })
    // Packets from any other address are ignored.
    stranger.send(0, 'not yours', near)
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
    assert.match(asks.received('SIP/2.0 200')[1]!.text, /a=T38FaxMaxBuffer:2048/)
    assert.match(takes.received('INVITE')[0]!.text, /a=T38FaxMaxBuffer:1536/)
    assert.equal(await typesOf(), ['call.fax.started', 'call.fax.ended'])
    for (const gateway of [ours, theirs, stranger]) gateway.close()
  },
)

wireTest(
  'T.38: a partner that has none is asked first, so that who wants it hears 488 and both go on with tones',
  async () => {
    const before = (await typesOf()).length
    const declines = await Sipp.caller('fax-declines', product.sip, { to: 'bridge' })
    await joined(1)
    const keys = { fax_port: '4000', fax_buffer: '200' }
    const refused = await Sipp.caller('fax-refused', product.sip, { to: 'bridge', keys })
    await refused.passed()
    await declines.passed()
    assert.is((await typesOf()).length, before)
  },
)

wireTest('T.38: who is alone, or speaks with the product, is answered 488', async () => {
  const keys = { fax_port: '4000', fax_buffer: '200' }
  await (await Sipp.caller('fax-refused', product.sip, { to: 'bridge', keys })).passed()
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
