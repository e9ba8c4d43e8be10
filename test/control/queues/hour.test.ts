import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { suite } from '../../harness.ts'
import { testEngine } from '../database.ts'
import { makeQueueWorld } from './queue-world.ts'

const test = suite('control/queues: an hour')

const CALLERS = 200
const AGENTS = 20
const HOUR_S = 3600
const TICK_S = 10
const NAME =
  '200 callers, 20 agents, an hour, random hang-ups and crashes of control: no call lost or doubled, waits in order, statuses right'

const theHour = async () => {
  const random = seeded(7)
  const between = (from: number, to: number): number => from + Math.floor(random() * (to - from))
  const world = await makeQueueWorld()
  const agents: string[] = []
  for (let i = 0; i < AGENTS; i++) agents.push(await world.addAgent(`agent${i}`))
  const queue = await world.addQueue({
    member_user_ids: agents,
    strategy: 'round_robin',
    wrap_up_seconds: 30,
    ring_timeout_seconds: 20,
    away_on_missed: true,
  })
  for (const id of agents) await world.setStatus(id, 'available')
  const start = world.clock.now().getTime()
  const plan: { at: number; act: () => unknown }[] = []
  const at = (seconds: number, act: () => unknown): void => void plan.push({ at: start + seconds * 1000, act })
  const arrivals = Array.from({ length: CALLERS }, () => between(0, HOUR_S / 2))
  for (const second of arrivals) {
    at(second, async () => {
      const legId = await world.call(queue)
      if (random() < 0.15) at(second + between(5, 300), () => world.media.hangUp(legId))
    })
  }
  for (let second = 60; second < HOUR_S; second += between(60, 240)) at(second, () => world.killAfter(between(0, 6)))
  const seen = new Set<string>()
  const nowS = (): number => (world.clock.now().getTime() - start) / 1000
  /** Each agent takes, declines or misses what rings, and hangs up after a while. */
  const work = (): void => {
    for (const leg of world.media.legs.values()) {
      if (leg.direction === 'inbound' || leg.state !== 'dialing' || seen.has(leg.legId)) continue
      seen.add(leg.legId)
      const { legId, timeoutS } = leg
      const chance = random()
      if (chance < 0.05) at(nowS() + timeoutS, () => world.media.hangUp(legId, 'no_answer'))
      else if (chance < 0.1) at(nowS() + 3, () => world.media.hangUp(legId, 'rejected'))
      else {
        at(nowS() + between(1, 9), () => world.media.pickUp(legId))
        at(nowS() + between(120, 360), () => world.media.hangUp(legId))
      }
    }
  }
  let most = 0
  for (let second = 0; second < HOUR_S; second += TICK_S) {
    for (let i = 0; i < plan.length; ) {
      if (plan[i]!.at <= world.clock.now().getTime()) await plan.splice(i, 1)[0]!.act()
      else i++
    }
    await world.later(TICK_S * 1000)
    work()
    for (const id of agents) if ((await world.status(id)) === 'away') await world.setStatus(id, 'available')
    const line = await world.store.db
      .selectFrom('queue_calls')
      .select(['id', 'joined_at', 'offered_to'])
      .orderBy('id')
      .execute()
    most = Math.max(most, line.length)
  }
  const events = await world.events()
  const of = (type: string) => events.filter(event => event.type === type).map(event => event.object)
  assert.is(of('queue.call.joined').length, CALLERS)
  assert.is(new Set(of('queue.call.left').map(call => call.call_id)).size, CALLERS)
  assert.is(of('queue.call.left').length, CALLERS, 'each left once')
  assert.is(of('call.ended').length, CALLERS, 'each ended once')
  const outcomes = of('queue.call.left').map(call => call.outcome)
  const answered = outcomes.filter(outcome => outcome === 'answered').length
  assert.is(answered + outcomes.filter(outcome => outcome === 'abandoned').length, CALLERS)
  assert.ok(answered > CALLERS / 2 && most > 5, 'there was a line, and it was served')
  assert.equal(await world.store.db.selectFrom('rings').selectAll().execute(), [])
  assert.is(world.media.legs.size, 0)
  for (const id of agents) assert.is(await world.status(id), 'available')
  assert.ok(inOrder(events), 'waits in order')
  await world.close()
}

if (testEngine === 'sqlite') test(NAME, theHour, { timeoutMs: 120_000 })
else test.skip(NAME, 'its decisions are the same on every database, and a socket for each query makes it long')

/** Nobody is offered to an agent while somebody waits longer whom nobody is offered to. */
function inOrder(events: { type: string; object: { call_id: string } }[]): boolean {
  const line: { id: string; isOffered: boolean }[] = []
  for (const { type, object } of events) {
    const place = line.findIndex(one => one.id === object.call_id)
    if (type === 'queue.call.joined') line.push({ id: object.call_id, isOffered: false })
    else if (type === 'queue.call.left') line.splice(place, 1)
    else if (type === 'queue.call.offered') {
      if (line.slice(0, place).some(one => !one.isOffered)) return false
      line[place]!.isOffered = true
    }
  }
  return true
}

test.run()
