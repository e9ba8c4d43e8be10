import { setTimeout as sleep } from 'node:timers/promises'
import { Phone } from '../phone/phone.ts'
import { rows } from './checks.ts'
import {
  allWait,
  behave,
  deedsAt,
  deedsOf,
  deedsOfAgents,
  deedsOfCallee,
  deedsOfQueue,
  dialled,
  nextOf,
  ownQueue,
  pick,
  type Scene,
} from './deeds.ts'
import { Taker } from './house.ts'

/** Scenes that begin in the moment in which somebody is rung. */
export const MOMENTS: Record<string, Scene> = {
  /** An agent's phone rings right now. */
  async offered(stage) {
    const takers = allWait(stage)
    const queue = await ownQueue(stage)
    const coming = nextOf(takers)
    const { call, id } = await dialled(stage, queue.number)
    const offered = await coming
    if (offered === null) return []
    stage.isNow = true
    if (stage.random() < 0.3) await sleep(stage.random() * 150)
    return [
      ...deedsOfCallee(offered),
      ...takers.map(one => ({ name: 'agent answers', act: async () => one.last?.answer() })),
      ...deedsAt(stage, call),
      ...deedsOf(stage, id).filter(({ name }) => /^hangup|transfer|hold|supervise|recording.start|pci|read/.test(name)),
      ...deedsOfAgents(stage),
      ...deedsOfQueue(stage, queue.id),
    ]
  },

  /** Whom an agent consults is rung right now. */
  async consulted(stage) {
    const takers = allWait(stage)
    const { house, random, requests } = stage
    for (const one of takers) one.begin('answers', random)
    const queue = await ownQueue(stage)
    const coming = nextOf(takers)
    const { call, id } = await dialled(stage, queue.number)
    const agent = await coming
    if (agent === null) return []
    await house.product.until('they talk', async () => {
      const bridged = await rows(
        house.product,
        `select id from participants where call_id = '${id}' and step = 'bridged'`,
      )
      return bridged.length > 0 ? true : null
    })
    for (const one of takers) one.begin('waits', random)
    const ringing = nextOf([...takers, house.outside])
    const to = random() < 0.5 ? { to: '+14155550198' } : { user_id: pick(random, house.agents).userId }
    const type = random() < 0.7 ? 'attended' : 'blind'
    await requests.send('POST', `/calls/${id}/transfer`, { type, ...to })
    const target = await ringing
    if (target === null) return []
    if (random() < 0.6) {
      stage.isNow = true
      if (random() < 0.4) target.answer()
    }
    const twice = deedsOf(stage, id).filter(({ name }) => /^transfer|^hangup|^hold|^unhold/.test(name))
    return [
      ...deedsOfCallee(target),
      ...twice,
      ...twice,
      ...deedsAt(stage, call),
      ...[1, 2].map(() => ({ name: 'agent hangs up', act: async () => void agent.hangup() })),
      { name: 'agent refers', act: async () => agent.refer(house.outside.phone.uri) },
      ...deedsOfAgents(stage),
    ]
  },

  /** Whom the API calls is rung right now. */
  async answering(stage) {
    behave(stage)
    const { house, random, requests } = stage
    const phone = await Phone.open(`callee-${stage.serial}`)
    stage.after(() => phone.close())
    const taker = new Taker(phone)
    taker.begin('waits', random)
    const coming = nextOf([taker])
    const lead = pick(random, [
      {},
      { flow_id: house.flow.id },
      { queue_id: house.queue.id },
      { user_id: pick(random, house.agents).userId },
      { room_id: house.room.id },
    ])
    const more = pick(random, [
      {},
      { record: true },
      { streams: [{ url: house.streams.url }] },
      { transcribe: true },
      { answering_machine_detection: { mode: 'detect' } },
    ])
    const asked = requests.race('POST', '/calls', { to: phone.uri, timeout_s: 5, ...lead, ...more })
    const [call, { answer, status }] = await Promise.all([coming, asked])
    if (call === null || status >= 300) return []
    stage.isNow = true
    return [
      ...deedsOfCallee(call),
      ...deedsOfCallee(call),
      ...deedsOf(stage, answer.id),
      { name: 'hangup', act: () => requests.race('POST', `/calls/${answer.id}/hangup`) },
    ]
  },
}
