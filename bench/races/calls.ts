import { Phone } from '../phone/phone.ts'
import {
  behave,
  type Deed,
  deedsAt,
  deedsOf,
  deedsOfAgents,
  deedsOfQueue,
  dialled,
  MANNERS,
  ownQueue,
  pick,
  type Scene,
} from './deeds.ts'
import { FLOW, Taker } from './house.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any

/** Scenes of calls, rooms and flows. */
export const CALLS: Record<string, Scene> = {
  /** A caller in a queue, offered or talking. */
  async queue(stage) {
    behave(stage)
    const queue = await ownQueue(stage)
    const { call, id } = await dialled(stage, queue.number)
    const deeds = [
      ...deedsOf(stage, id),
      ...deedsAt(stage, call),
      ...deedsOfAgents(stage),
      ...deedsOfQueue(stage, queue.id),
    ]
    if (stage.random() < 0.3) return [...deeds, ...deedsAt(stage, (await dialled(stage, queue.number)).call)]
    return deeds
  },

  /** A call of the API to somebody outside, alone, or with somebody to talk to. */
  async outgoing(stage) {
    behave(stage)
    const { house, random, requests } = stage
    const phone = await Phone.open(`callee-${stage.serial}`)
    stage.after(() => phone.close())
    const taker = new Taker(phone)
    taker.begin(pick(random, MANNERS), random)
    const lead = pick(random, [
      {},
      { flow_id: house.flow.id },
      { queue_id: house.queue.id },
      { user_id: pick(random, house.agents).userId },
      { room_id: house.room.id },
    ])
    const more = pick(random, [{}, { record: true }, { streams: [{ url: house.streams.url }] }, { transcribe: true }])
    const { answer, status } = await requests.race('POST', '/calls', { to: phone.uri, timeout_s: 5, ...lead, ...more })
    if (status >= 300) return []
    const hangUp = { name: 'callee hangs up', act: async () => void taker.last?.hangup() }
    return [...deedsOf(stage, answer.id), ...deedsOfAgents(stage), hangUp, hangUp]
  },

  /** A conference room with people who come and go. */
  async room(stage) {
    behave(stage)
    const { house, random, requests, serial } = stage
    const number = `73${String(serial).padStart(4, '0')}`
    const { id } = await house.product.ok('POST', '/conference_rooms', {
      name: `Room ${serial}`,
      settings: {
        announce: random() < 0.5,
        record: random() < 0.3,
        max_participants: random() < 0.3 ? 2 : 10,
        wait_for_moderator: random() < 0.2,
      },
    })
    const { id: routeId } = await house.product.ok('POST', '/inbound_routes', {
      match: { to: number },
      target: { type: 'room', id },
    })
    stage.after(() => house.product.api('DELETE', `/inbound_routes/${routeId}`))
    stage.after(() => house.product.api('DELETE', `/conference_rooms/${id}`))
    const people = [await dialled(stage, number), await dialled(stage, number)]
    const guest = await Phone.open(`guest-${serial}`)
    stage.after(() => guest.close())
    new Taker(guest).begin(pick(random, MANNERS), random)
    const participant = async (): Promise<Json> => {
      const { data } = await house.product.ok('GET', `/conference_rooms/${id}/participants?limit=20`)
      return data.length === 0 ? null : pick(random, data)
    }
    const ofParticipant = (name: string, method: string, body?: () => object): Deed => ({
      name,
      act: async () => {
        const one = await participant()
        if (one !== null) await requests.race(method, `/conference_rooms/${id}/participants/${one.id}`, body?.())
      },
    })
    const session = async (what: (callId: string) => Promise<unknown>) => {
      const one = await participant()
      if (one?.session_call_id) await what(one.session_call_id)
    }
    return [
      {
        name: 'dial in',
        act: () => requests.race('POST', `/conference_rooms/${id}/participants`, { to: guest.uri, timeout_s: 5 }),
      },
      {
        name: 'dial in',
        act: () => requests.race('POST', `/conference_rooms/${id}/participants`, { to: guest.uri, timeout_s: 5 }),
      },
      ofParticipant('mute', 'PATCH', () => ({ muted: random() < 0.5 })),
      ofParticipant('deafen', 'PATCH', () => ({ deaf: random() < 0.5 })),
      ofParticipant('hold one', 'PATCH', () => ({ held: random() < 0.5 })),
      ofParticipant('promote', 'PATCH', () => ({ role: pick(random, ['moderator', 'member']) })),
      ofParticipant('remove', 'DELETE'),
      { name: 'lock', act: () => requests.race('PATCH', `/conference_rooms/${id}`, { locked: random() < 0.5 }) },
      { name: 'close', act: () => requests.race('PATCH', `/conference_rooms/${id}`, { active: random() < 0.5 }) },
      {
        name: 'moderator',
        act: () =>
          requests.race('PATCH', `/conference_rooms/${id}`, { settings: { wait_for_moderator: random() < 0.5 } }),
      },
      { name: 'delete room', act: () => requests.race('DELETE', `/conference_rooms/${id}`) },
      { name: 'end session', act: () => session(callId => requests.race('POST', `/calls/${callId}/hangup`)) },
      {
        name: 'record session',
        act: () =>
          session(callId =>
            requests.race('POST', `/calls/${callId}/recording/${pick(random, ['start', 'stop', 'pause', 'resume'])}`),
          ),
      },
      {
        name: 'stream session',
        act: () => session(callId => requests.race('POST', `/calls/${callId}/streams`, { url: house.streams.url })),
      },
      {
        name: 'pause session',
        act: () =>
          session(callId =>
            requests.race('POST', `/calls/${callId}/pci`, { action: pick(random, ['pause', 'resume']) }),
          ),
      },
      {
        name: 'play to session',
        act: () => session(callId => requests.race('POST', `/calls/${callId}/play`, { audio_asset_id: house.assetId })),
      },
      { name: 'one more', act: () => dialled(stage, number).catch(() => {}) },
      ...deedsAt(stage, people[0]!.call),
      ...deedsAt(stage, people[1]!.call),
      ...deedsOf(stage, people[0]!.id).filter(() => random() < 0.4),
    ]
  },

  /** A caller in a flow. */
  async flow(stage) {
    behave(stage)
    const { house, requests, serial } = stage
    const number = `72${String(serial).padStart(4, '0')}`
    const { id } = await house.product.ok('POST', '/flows', { name: `Menu ${serial}`, kind: 'ivr', graph: FLOW })
    await house.product.ok('POST', `/flows/${id}/publish`, {})
    const { id: routeId } = await house.product.ok('POST', '/inbound_routes', {
      match: { to: number },
      target: { type: 'flow', id },
    })
    stage.after(() => house.product.api('DELETE', `/flows/${id}`))
    stage.after(() => house.product.api('DELETE', `/inbound_routes/${routeId}`))
    const { call, id: callId } = await dialled(stage, number)
    return [
      ...deedsOf(stage, callId),
      ...deedsAt(stage, call),
      ...deedsAt(stage, call),
      { name: 'publish', act: () => requests.race('POST', `/flows/${id}/publish`, {}) },
      { name: 'archive', act: () => requests.race('POST', `/flows/${id}/archive`) },
      { name: 'unarchive', act: () => requests.race('POST', `/flows/${id}/unarchive`) },
      { name: 'delete flow', act: () => requests.race('DELETE', `/flows/${id}`) },
      { name: 'delete route', act: () => requests.race('DELETE', `/inbound_routes/${routeId}`) },
    ]
  },
}
