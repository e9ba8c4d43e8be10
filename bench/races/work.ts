import { setTimeout as sleep } from 'node:timers/promises'
import {
  behave,
  type Deed,
  deedsAt,
  deedsOf,
  deedsOfAgents,
  deedsOfQueue,
  dialled,
  ownQueue,
  pick,
  type Scene,
} from './deeds.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any

/** Scenes of what calls people by itself, and of what calls use. */
export const WORK: Record<string, Scene> = {
  /** A callback that is due. */
  async callback(stage) {
    behave(stage)
    const { house, requests, random, serial } = stage
    const queue = await ownQueue(stage)
    const phone = `+1415555${1000 + (serial % 8000)}`
    const lead =
      random() < 0.3
        ? { route: 'agent', agent_id: pick(random, house.agents).userId }
        : { route: 'agent_queue', queue_id: queue.id }
    const { answer, status } = await requests.race('POST', '/callbacks', {
      phone,
      max_attempts: 1 + Math.floor(random() * 2),
      ...lead,
    })
    if (status >= 300) return []
    const path = `/callbacks/${answer.id}`
    stage.after(() => house.product.api('POST', `${path}/cancel`))
    await sleep(random() * 700)
    const current = async (what: (callId: string) => Promise<unknown>) => {
      const { answer: shown } = await requests.send('GET', path)
      if (shown?.call_id) await what(shown.call_id)
    }
    return [
      { name: 'cancel', act: () => requests.race('POST', `${path}/cancel`) },
      { name: 'cancel', act: () => requests.race('POST', `${path}/cancel`) },
      { name: 'complete', act: () => requests.race('POST', `${path}/complete`, { note: 'Done.' }) },
      {
        name: 'change',
        act: () =>
          requests.race(
            'PATCH',
            path,
            pick<object>(random, [
              { note: 'x' },
              { priority: 5 },
              { max_attempts: 1 },
              { queue_id: house.queue.id },
              { due_at: new Date(Date.now() + 3_600_000).toISOString() },
            ]),
          ),
      },
      {
        name: 'book again',
        act: () => requests.race('POST', '/callbacks', { phone, route: 'agent_queue', queue_id: queue.id }),
      },
      { name: 'hang up', act: () => current(callId => requests.race('POST', `/calls/${callId}/hangup`)) },
      { name: 'hold', act: () => current(callId => requests.race('POST', `/calls/${callId}/hold`)) },
      { name: 'outside hangs up', act: async () => void house.outside.last?.hangup() },
      { name: 'do not call', act: () => requests.race('POST', '/do_not_call', { phone }) },
      ...deedsOfAgents(stage),
      ...deedsOfQueue(stage, queue.id),
    ]
  },

  /** A campaign that runs. */
  async campaign(stage) {
    behave(stage)
    const { house, requests, random, serial } = stage
    const queue = await ownQueue(stage)
    const lead = pick(random, [
      { flow_id: house.flow.id },
      { queue_id: queue.id, mode: 'progressive' },
      { queue_id: queue.id, mode: 'preview' },
    ])
    const week = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
    const { id } = await house.product.ok('POST', '/campaigns', {
      ...{
        name: `Campaign ${serial}`,
        ring_timeout_s: 5,
        max_attempts: 1,
        calls_per_second: 5,
        max_concurrent: 5,
        timezone: zoneAtNoon(),
      },
      ...{ allowed_hours: { weekly: week.map(day => ({ day, open: '06:00', close: '18:00' })) }, ...lead },
    })
    const contacts = Array.from({ length: 3 }, (_, n) => ({ phone: `+1415556${1000 + ((serial * 3 + n) % 8000)}` }))
    await house.product.ok('POST', `/campaigns/${id}/contacts`, { contacts })
    const post = (verb: string, body?: () => object): Deed => ({
      name: verb,
      act: () => requests.race('POST', `/campaigns/${id}/${verb}`, body?.()),
    })
    await requests.race('POST', `/campaigns/${id}/start`)
    stage.after(() => house.product.api('POST', `/campaigns/${id}/stop`))
    await sleep(random() * 900)
    const contact = async (what: (one: Json) => Promise<unknown>) => {
      const { answer } = await requests.send('GET', `/campaigns/${id}/contacts`)
      if (answer?.data?.length > 0) await what(pick(random, answer.data))
    }
    const agent = () => ({ user_id: pick(random, house.agents).userId })
    return [
      ...['start', 'pause', 'resume', 'stop', 'pause', 'resume', 'archive'].map(verb => post(verb)),
      post('contacts', () => ({ contacts: [{ phone: `+1415557${1000 + Math.floor(random() * 8000)}` }] })),
      post('claim', agent),
      post('claim', agent),
      {
        name: 'remove contact',
        act: () => contact(one => requests.race('DELETE', `/campaigns/${id}/contacts/${one.id}`)),
      },
      {
        name: 'dial contact',
        act: () =>
          contact(one =>
            requests.race('POST', `/campaigns/${id}/contacts/${one.id}/dial`, {
              user_id: one.claimed_by ?? agent().user_id,
            }),
          ),
      },
      {
        name: 'skip contact',
        act: () =>
          contact(one =>
            requests.race('POST', `/campaigns/${id}/contacts/${one.id}/skip`, {
              user_id: one.claimed_by ?? agent().user_id,
              reason: 'No.',
            }),
          ),
      },
      {
        name: 'hang up contact',
        act: () => contact(async one => one.call_id && requests.race('POST', `/calls/${one.call_id}/hangup`)),
      },
      { name: 'change', act: () => requests.race('PATCH', `/campaigns/${id}`, { max_concurrent: 2 }) },
      { name: 'delete', act: () => requests.race('DELETE', `/campaigns/${id}`) },
      { name: 'outside hangs up', act: async () => void house.outside.last?.hangup() },
      ...deedsOfAgents(stage),
      ...deedsOfQueue(stage, queue.id),
    ]
  },

  /** Things that are deleted while they are used. */
  async furniture(stage) {
    behave(stage)
    const { house, requests, random, serial } = stage
    const { product } = house
    const number = `74${String(serial).padStart(4, '0')}`
    const assistant = await product.ok('POST', '/assistants', { name: `Helper ${serial}`, greeting: 'Hello.' })
    const route = await product.ok('POST', '/inbound_routes', {
      match: { to: number },
      target: { type: 'assistant', id: assistant.id },
    })
    const trunk = await product.ok('POST', '/connections', {
      name: `Trunk ${serial}`,
      kind: 'trunk',
      host: '127.0.0.1',
      port: house.outside.phone.port,
      max_calls: 2,
    })
    const hook = await product.ok('POST', '/webhook_endpoints', { url: `${house.webhooks.url}/second` })
    const key = await product.ok('POST', '/api_keys', { name: `Key ${serial}`, scopes: ['*'] }).catch(() => null)
    stage.after(() => product.api('DELETE', `/inbound_routes/${route.id}`))
    stage.after(() => product.api('DELETE', `/assistants/${assistant.id}`))
    stage.after(() => product.api('DELETE', `/connections/${trunk.id}`))
    stage.after(() => product.api('DELETE', `/webhook_endpoints/${hook.id}`))
    const { call, id } = await dialled(stage, number)
    const del = (name: string, path: string): Deed => ({
      name: `delete ${name}`,
      act: () => requests.race('DELETE', path),
    })
    const outgoing = {
      name: 'call by trunk',
      act: () => requests.race('POST', '/calls', { to: '+14155550177', timeout_s: 5 }),
    }
    return [
      del('assistant', `/assistants/${assistant.id}`),
      del('route', `/inbound_routes/${route.id}`),
      del('trunk', `/connections/${trunk.id}`),
      del('hook', `/webhook_endpoints/${hook.id}`),
      ...(key === null ? [] : [del('key', `/api_keys/${key.id}`)]),
      { name: 'rotate hook', act: () => requests.race('POST', `/webhook_endpoints/${hook.id}/rotate_key`) },
      { name: 'ping hook', act: () => requests.race('POST', `/webhook_endpoints/${hook.id}/ping`) },
      {
        name: 'disable hook',
        act: () =>
          requests.race('PATCH', `/webhook_endpoints/${hook.id}`, { status: pick(random, ['enabled', 'disabled']) }),
      },
      {
        name: 'change trunk',
        act: () => requests.race('PATCH', `/connections/${trunk.id}`, { enabled: random() < 0.5 }),
      },
      {
        name: 'change number',
        act: async () => {
          const { data } = await product.ok('GET', '/phone_numbers?limit=20')
          const one = data.find(({ number: shown }: Json) => shown === '+14155550100')
          if (one)
            await requests.race('PATCH', `/phone_numbers/${one.id}`, {
              connection_id: pick(random, [trunk.id, house.trunkId]),
            })
        },
      },
      outgoing,
      outgoing,
      outgoing,
      ...deedsOf(stage, id),
      ...deedsAt(stage, call),
    ]
  },
}

/** A time zone in which it is about noon now. */
function zoneAtNoon(): string {
  const ahead = 12 - new Date().getUTCHours()
  return ahead === 0 ? 'UTC' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`
}
