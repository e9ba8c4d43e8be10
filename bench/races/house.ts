import { setTimeout as sleep } from 'node:timers/promises'
import { wavHeader } from '../../codecs/wav.ts'
import { WebhookReceiver } from '../../test/fakes/webhook-receiver.ts'
import { Phone } from '../phone/phone.ts'
import type { PhoneCall } from '../phone/phone-call.ts'
import type { Product } from '../product.ts'
import { StreamReceiver } from '../stream-receiver.ts'

/** What a phone does with each call that comes. */
export type Manner = 'answers' | 'rings' | 'refuses' | 'answers and hangs up' | 'answers late' | 'waits'

/** A phone that takes calls by itself. */
export class Taker {
  readonly phone: Phone
  manner: Manner = 'answers'
  /** The call that it has, or had last. */
  last: PhoneCall | null = null
  readonly #calls: PhoneCall[] = []
  readonly #awaiting: ((call: PhoneCall) => void)[] = []
  #random: () => number = Math.random

  constructor(phone: Phone) {
    this.phone = phone
    void this.#take()
  }

  begin(manner: Manner, random: () => number): void {
    this.manner = manner
    this.#random = random
  }

  /** Resolves with the next call that comes. */
  comes(): Promise<PhoneCall> {
    return new Promise(resolve => this.#awaiting.push(resolve))
  }

  /** Ends whatever it has, or is offered. */
  leaveAll(): void {
    for (const call of this.#calls.slice(-20)) void call.hangup()
  }

  async #take(): Promise<void> {
    for (;;) {
      const call = await this.phone.next()
      this.last = call
      this.#calls.push(call)
      for (const tell of this.#awaiting.splice(0)) tell(call)
      void this.#handle(call)
    }
  }

  async #handle(call: PhoneCall): Promise<void> {
    const wait = this.#random() * 150
    switch (this.manner) {
      case 'waits':
        if (this.#random() < 0.7) call.ring()
        return
      case 'refuses':
        await sleep(wait)
        return call.reject(this.#random() < 0.5 ? 486 : 603)
      case 'rings':
        return call.ring()
      case 'answers late':
        call.ring()
        await sleep(400 + 4 * wait)
        return call.answer()
      case 'answers and hangs up':
        call.answer()
        await sleep(wait)
        void call.hangup()
        return
      default:
        if (this.#random() < 0.5) call.ring()
        await sleep(this.#random() < 0.3 ? 0 : wait)
        call.answer()
    }
  }
}

export interface Member {
  userId: string
  taker: Taker
  second: Taker | null
}

/** What all rounds use: people with phones, a queue, a flow, a trunk, and who listens to webhooks and streams. */
export interface House {
  product: Product
  agents: Member[]
  supervisor: Member
  /** A phone behind the trunk: each number outside rings there. */
  outside: Taker
  trunkId: string
  queue: { id: string; number: string }
  flow: { id: string; number: string }
  room: { id: string; number: string }
  assistantId: string
  assetId: string
  webhooks: WebhookReceiver
  streams: StreamReceiver
}

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })

export const FLOW = {
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('menu')] },
    {
      key: 'menu',
      type: 'menu',
      script: 'Press one.',
      input: { modes: ['dtmf'], timeout_ms: 3000 },
      transitions: [to('code', { kind: 'dtmf', digits: '1' }), to('end', { kind: 'else' })],
    },
    {
      key: 'code',
      type: 'collect',
      script: 'Your code.',
      save_as: 'code',
      input: { modes: ['dtmf'], timeout_ms: 3000 },
      transitions: [to('end')],
    },
    { key: 'end', type: 'end' },
  ],
  variables: [{ name: 'code' }],
}

export async function openHouse(product: Product): Promise<House> {
  const webhooks = await new WebhookReceiver().listen()
  const streams = await StreamReceiver.listen()
  await product.ok('POST', '/webhook_endpoints', { url: webhooks.url })
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
  const agents = []
  for (const name of ['ann', 'bob', 'cid']) agents.push(await member(product, name))
  const supervisor = await member(product, 'sue')
  const outside = new Taker(await Phone.open('outside'))
  const { id: trunkId } = await product.ok('POST', '/connections', {
    ...{ name: 'Outside', kind: 'trunk', host: '127.0.0.1', port: outside.phone.port },
  })
  await product.ok('POST', '/phone_numbers', { number: '+14155550100', connection_id: trunkId })
  const queue = await product.ok('POST', '/queues', queueFields(agents))
  const flow = await product.ok('POST', '/flows', { name: 'Menu', kind: 'ivr', graph: FLOW })
  await product.ok('POST', `/flows/${flow.id}/publish`, {})
  const room = await product.ok('POST', '/conference_rooms', { name: 'Room', settings: { announce: false } })
  const assistant = await product.ok('POST', '/assistants', { name: 'Helper', greeting: 'Hello.' })
  const asset = await product.ok('POST', '/audio_assets', { file: { content_base64: wav().toString('base64') } })
  const routes = { queue: ['7100', queue.id], flow: ['7200', flow.id], room: ['7300', room.id] } as const
  for (const [type, [number, id]] of Object.entries(routes))
    await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type, id } })
  return {
    ...{
      product,
      agents,
      supervisor,
      outside,
      trunkId,
      assistantId: assistant.id,
      assetId: asset.id,
      webhooks,
      streams,
    },
    queue: { id: queue.id, number: '7100' },
    flow: { id: flow.id, number: '7200' },
    room: { id: room.id, number: '7300' },
  }
}

export const queueFields = (agents: readonly { userId: string }[]) => ({
  name: 'Queue',
  ...{ member_user_ids: agents.map(({ userId }) => userId), ring_timeout_seconds: 5, wrap_up_seconds: 0 },
})

async function member(product: Product, name: string): Promise<Member> {
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: `${name}@example.com`, role: 'agent' })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  const phone = await Phone.open(name)
  const account = await product.ok('POST', `/users/${userId}/sip_credential`)
  await phone.register(account, product.sip)
  // One has two phones, which may answer at the same moment.
  const second = name === 'bob' ? new Taker(await Phone.open(`${name}-2`)) : null
  await second?.phone.register(account, product.sip)
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  return { userId: userId as string, taker: new Taker(phone), second }
}

/** Half a second of a tone. */
function wav(): Buffer {
  const samples = Int16Array.from({ length: 4000 }, (_, n) => 8000 * Math.sin(n / 3))
  const header = wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: samples.byteLength })
  return Buffer.concat([header, Buffer.from(samples.buffer)])
}

export const takersOf = ({ agents, supervisor, outside }: House): Taker[] => [
  ...agents.flatMap(({ taker, second }) => (second === null ? [taker] : [taker, second])),
  ...[supervisor.taker, outside],
]

export async function closeHouse({ webhooks, streams }: House): Promise<void> {
  await Phone.closeAll()
  await webhooks.close()
  await streams.close()
}
