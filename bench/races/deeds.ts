import { setTimeout as sleep } from 'node:timers/promises'
import { Phone } from '../phone/phone.ts'
import type { PhoneCall } from '../phone/phone-call.ts'
import { type House, type Manner, queueFields, type Taker } from './house.ts'
import type { Requests } from './requests.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any

/** What somebody can do in a round. */
export interface Deed {
  name: string
  act: () => Promise<unknown>
}

export interface Stage {
  house: House
  requests: Requests
  random: () => number
  /** A number that no other round uses. */
  serial: number
  /** Set by a scene in which the moment has come. */
  isNow?: boolean
  /** Called when the round is over: whatever it opened goes. */
  after: (undo: () => Promise<unknown>) => void
}

/** Begins something that lives, and says what may happen to it; nothing: it could not begin. */
export type Scene = (stage: Stage) => Promise<Deed[]>

export const pick = <T>(random: () => number, list: readonly T[]): T => list[Math.floor(random() * list.length)]!
export const MANNERS: Manner[] = [
  'answers',
  'answers',
  'answers',
  'answers',
  'rings',
  'refuses',
  'answers and hangs up',
  'answers late',
]

export function behave({ house, random }: Stage): void {
  for (const { taker } of [...house.agents, house.supervisor, { taker: house.outside }])
    taker.begin(pick(random, MANNERS), random)
  for (const { second } of house.agents) second?.begin(pick(random, MANNERS), random)
}

/** Dials, and resolves with the call of the product as soon as it is known. */
export async function dialled(stage: Stage, number: string): Promise<{ phone: Phone; call: PhoneCall; id: string }> {
  const { house, serial } = stage
  const name = `caller-${serial}-${Math.floor(stage.random() * 1e6)}`
  const phone = await Phone.open(name)
  stage.after(() => phone.close())
  const call = await phone.dial(number, house.product.sip)
  const id = await house.product.until(`a call of ${name}`, async () => {
    const { data } = await house.product.ok('GET', '/calls?limit=20')
    return data.find(({ from, kind }: Json) => kind === 'party' && from.includes(name))?.id
  })
  return { phone, call, id }
}

/** What the API can do with a call. */
export function deedsOf(stage: Stage, id: string): Deed[] {
  const { house, requests, random } = stage
  const { product } = house
  const post = (name: string, body?: () => object, other?: object): Deed => ({
    name,
    act: () => requests.race('POST', `/calls/${id}/${name}`, body?.(), other),
  })
  const target = () =>
    pick(random, [
      { to: '+14155550199' },
      { user_id: pick(random, house.agents).userId },
      { queue_id: house.queue.id },
      { flow_id: house.flow.id },
      { room_id: house.room.id },
      { to: house.outside.phone.uri },
    ])
  const streams: string[] = []
  return [
    post('hangup'),
    post('hold'),
    post('unhold'),
    post('transfer', target),
    post('transfer', () => ({
      type: 'attended',
      ...pick(random, [{ to: '+14155550198' }, { user_id: pick(random, house.agents).userId }]),
    })),
    post('transfer/complete'),
    post('transfer/cancel'),
    post('supervise', () => ({
      mode: pick(random, ['monitor', 'whisper', 'barge', 'stop']),
      user_id: house.supervisor.userId,
    })),
    post('pci', () => ({ action: 'pause', max_seconds: 60 }), { action: 'resume' }),
    post('pci', () => ({ action: 'resume' })),
    ...['start', 'pause', 'resume', 'stop'].map(verb => post(`recording/${verb}`)),
    post('recording/start'),
    ...['start', 'stop'].map(verb => post(`transcript/${verb}`, () => ({}))),
    post('play', () => ({ audio_asset_id: house.assetId, loop: random() < 0.3 })),
    post('dtmf', () => ({ digits: pick(random, ['1', '12#', '123456']) }), { digits: '9' }),
    post('sip/rtp', () => ({ action: pick(random, ['start', 'stop']) })),
    {
      name: 'stream',
      act: async () => {
        const { answer, status } = await requests.race('POST', `/calls/${id}/streams`, {
          url: house.streams.url,
          mode: pick(random, ['fork', 'bidirectional']),
        })
        if (status < 300) streams.push(answer.id)
      },
    },
    {
      name: 'stream and stop',
      act: async () => {
        const { answer, status } = await requests.send('POST', `/calls/${id}/streams`, { url: house.streams.url })
        if (status >= 300) return
        if (random() < 0.5) await sleep(random() * 100)
        await requests.race('DELETE', `/calls/${id}/streams/${answer.id}`)
      },
    },
    {
      name: 'stop stream',
      act: async () => {
        const stream = streams.pop()
        if (stream !== undefined) await requests.race('DELETE', `/calls/${id}/streams/${stream}`)
      },
    },
    {
      name: 'audio',
      act: async () => {
        const { data } = await product.ok('GET', `/calls/${id}/participants`)
        for (const one of data)
          await requests.race('PATCH', `/calls/${id}/participants/${one.id}`, {
            audio: { gain_db: 3, speech_events: random() < 0.5 },
          })
      },
    },
    { name: 'read', act: () => requests.send('GET', `/calls/${id}`) },
    { name: 'delete recording', act: () => requests.race('DELETE', `/calls/${id}/recording`) },
    { name: 'delete call', act: () => requests.race('DELETE', `/calls/${id}`) },
  ]
}

/** What the caller's phone can do. */
export function deedsAt(stage: Stage, call: PhoneCall): Deed[] {
  return [
    { name: 'caller hangs up', act: async () => void call.hangup() },
    { name: 'caller cancels', act: async () => call.cancel() },
    { name: 'caller holds', act: () => Promise.race([call.hold(), sleep(500)]) },
    { name: 'caller resumes', act: () => Promise.race([call.resume(), sleep(500)]) },
    { name: 'caller presses', act: async () => void call.press(pick(stage.random, ['1', '5', '#'])).catch(() => {}) },
    { name: 'caller presses by INFO', act: () => call.press('1', { as: 'info' }) },
  ]
}

export function deedsOfAgents({ house, requests, random }: Stage): Deed[] {
  const { product } = house
  const one = () => pick(random, house.agents)
  return [
    { name: 'agent hangs up', act: async () => void one().taker.last?.hangup() },
    { name: 'agent holds', act: () => Promise.race([one().taker.last?.hold(), sleep(500)]) },
    { name: 'agent resumes', act: () => Promise.race([one().taker.last?.resume(), sleep(500)]) },
    {
      name: 'agent refers',
      act: async () =>
        one().taker.last?.refer(
          pick(random, [
            `sip:7100@127.0.0.1:${product.sip.port}`,
            `sip:7300@127.0.0.1:${product.sip.port}`,
            house.outside.phone.uri,
          ]),
        ),
    },
    {
      name: 'agent status',
      act: () =>
        requests.race('PUT', `/agents/${one().userId}/status`, {
          status: pick(random, ['available', 'available', 'away', 'offline']),
        }),
    },
    {
      name: 'agent deactivated',
      act: () =>
        requests.race('PATCH', `/users/${one().userId}`, { status: random() < 0.8 ? 'active' : 'deactivated' }),
    },
  ]
}

export function deedsOfQueue({ house, requests, random }: Stage, queueId: string): Deed[] {
  return [
    { name: 'queue disabled', act: () => requests.race('PATCH', `/queues/${queueId}`, { enabled: random() < 0.5 }) },
    {
      name: 'queue members',
      act: () =>
        requests.race('PATCH', `/queues/${queueId}`, {
          member_user_ids: house.agents.filter(() => random() < 0.6).map(({ userId }) => userId),
        }),
    },
    { name: 'queue deleted', act: () => requests.race('DELETE', `/queues/${queueId}`) },
  ]
}

/** A queue of the round's own, which may be deleted. */
export async function ownQueue(stage: Stage): Promise<{ id: string; number: string }> {
  const { house, serial, random } = stage
  const number = `71${String(serial).padStart(4, '0')}`
  const { id } = await house.product.ok('POST', '/queues', {
    ...queueFields(house.agents),
    max_wait_seconds: 10,
    name: `Queue ${serial}`,
  })
  const { id: routeId } = await house.product.ok('POST', '/inbound_routes', {
    match: { to: number },
    target: { type: 'queue', id },
    ...(random() < 0.4 ? { answer: pick(random, ['when_answered', 'early_media']) } : {}),
  })
  stage.after(() => house.product.api('DELETE', `/inbound_routes/${routeId}`))
  stage.after(() => house.product.api('DELETE', `/queues/${id}`))
  return { id, number }
}

/** Answers, and does this before our 200 is acknowledged. */
async function answering(call: PhoneCall, act: () => Promise<unknown>): Promise<void> {
  call.answer()
  void act()
}

/** What a phone can do with a call that waits to be answered. */
export const deedsOfCallee = (call: PhoneCall): Deed[] => [
  ...[1, 2, 3].map(() => ({ name: 'callee answers', act: async () => call.answer() })),
  { name: 'callee refuses', act: async () => call.reject(486) },
  { name: 'callee hangs up', act: async () => void call.hangup() },
  { name: 'callee answers and hangs up', act: () => answering(call, () => call.hangup()) },
  { name: 'callee answers and holds', act: () => answering(call, () => call.hold()) },
]

export const allWait = ({ house, random }: Stage): Taker[] => {
  const takers = house.agents.flatMap(({ taker, second }) => (second === null ? [taker] : [taker, second]))
  for (const one of [...takers, house.outside]) one.begin('waits', random)
  return takers
}

/** The next of these who is rung; null: nobody is. */
export const nextOf = (takers: readonly Taker[]): Promise<PhoneCall | null> =>
  Promise.race([...takers.map(one => one.comes()), sleep(4000).then(() => null)])
