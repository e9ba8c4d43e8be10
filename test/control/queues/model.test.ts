import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { testEngine } from '../database.ts'
import type { PocketLeg } from './pocket-media.ts'
import { makeQueueWorld, type QueueWorld } from './queue-world.ts'

/** `QUEUE_RUNS` for a longer search; over PostgreSQL's socket each step takes ten times as long. */
const RUNS = Number(process.env.QUEUE_RUNS ?? (testEngine === 'postgres' ? 3 : 60))

const test = suite('control/queues: interleavings')

/** What must hold whenever nothing more is about to happen. */
async function check(world: QueueWorld, agents: readonly string[]): Promise<void> {
  const { db } = world.store
  const legs = [...world.media.legs.values()]
  const rings = await db.selectFrom('rings').selectAll().execute()
  const waiting = await db.selectFrom('queue_calls').selectAll().execute()
  const isAgents = (leg: PocketLeg, id: string): boolean => leg.to.includes(id)
  for (const id of agents) {
    const talking = legs.filter(leg => isAgents(leg, id) && leg.state === 'answered')
    assert.ok(talking.length <= 1, 'nobody talks on two calls')
    const own = rings.filter(ring => ring.user_id === id)
    assert.ok(own.length <= 1, 'nobody is offered two calls')
    const rooms = new Set(legs.filter(leg => isAgents(leg, id) && leg.state === 'dialing').map(() => own[0]?.call_id))
    assert.ok(rooms.size <= 1, 'one phone, one call')
    const isTalking = own[0]?.state === 'talking'
    assert.is((await world.status(id)) === 'busy', isTalking, 'busy is who talks')
    assert.is(talking.length === 1, isTalking, 'who talks has a leg')
  }
  for (const leg of legs.filter(one => one.inbound)) {
    const together = legs.filter(other => other.roomId === leg.roomId && other !== leg)
    assert.ok(together.length <= 1, 'one agent for a caller')
    const row = waiting.find(one => one.leg_id === leg.legId)
    assert.is(row === undefined, together.length === 1, 'a caller waits or talks: none is lost')
    if (row !== undefined) assert.ok(leg.playing !== null, 'who waits hears something')
    else assert.is(leg.playing, null, 'who talks hears no music')
  }
  for (const row of waiting) {
    assert.ok(world.media.legs.has(row.leg_id ?? ''), 'who waits is on the line')
    const ring = rings.find(one => one.open_call === row.id)
    assert.is(ring?.user_id ?? null, row.offered_to, 'offered to whom it rings for')
  }
  assert.is(rings.length, new Set(rings.map(ring => ring.call_id)).size, 'no call rings two')
}

/** What the events tell must be a story: statuses follow each other, and who has waited longest is offered first. */
async function checkStory(world: QueueWorld): Promise<void> {
  const status = new Map<string, string>()
  const line: { id: string; offered: boolean }[] = []
  for (const { type, object, previous } of await world.events()) {
    if (type === 'agent.status.changed') {
      assert.is(previous.status, status.get(object.user_id) ?? 'offline', 'each status follows the one before it')
      status.set(object.user_id, object.status)
    }
    if (type === 'queue.call.joined') line.push({ id: object.call_id, offered: false })
    if (type === 'queue.call.offered') {
      const ahead = line.slice(
        0,
        line.findIndex(one => one.id === object.call_id),
      )
      assert.ok(
        ahead.every(one => one.offered),
        'waits in order',
      )
      for (const one of line) if (one.id === object.call_id) one.offered = true
    }
    if (type === 'queue.call.left') {
      line.splice(
        line.findIndex(one => one.id === object.call_id),
        1,
      )
    }
  }
}

/** A world with agents who answer one queue; what can happen in it, by name. */
async function makeModel(agentCount: number) {
  const world = await makeQueueWorld()
  const agents: string[] = []
  for (let i = 0; i < agentCount; i++) agents.push(await world.addAgent(`agent${i}`))
  const queue = await world.addQueue({ member_user_ids: agents, wrap_up_seconds: 20, ring_timeout_seconds: 15 })
  const of = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)]
  const agent = (n: number): string => of(agents, n)!
  const callers = (): PocketLeg[] => [...world.media.legs.values()].filter(leg => leg.inbound)
  const end = (leg: PocketLeg | undefined, reason?: 'no_answer' | 'rejected'): void => {
    if (leg !== undefined) world.media.hangUp(leg.legId, reason)
  }
  const acts: Record<string, (n: number) => unknown> = {
    call: () => world.call(queue),
    callerHangsUp: n => end(of(callers(), n)),
    answer: n => {
      const leg = of(world.ringing(agent(n)), n)
      if (leg !== undefined) world.media.answer(leg.legId)
    },
    answerAll: n => {
      for (const leg of world.ringing(agent(n))) world.media.answer(leg.legId)
    },
    decline: n => end(of(world.ringing(agent(n)), n), 'rejected'),
    miss: n => {
      for (const leg of world.ringing(agent(n))) end(leg, 'no_answer')
    },
    agentHangsUp: n => end(world.legOf(agent(n))),
    available: n => world.setStatus(agent(n), 'available'),
    away: n => world.setStatus(agent(n), 'away'),
    logOut: n => world.setStatus(agent(n), 'offline'),
    unplug: n => world.devices.set(agent(n), []),
    wait: n => world.clock.advance((n % 30) * 1000),
    kill: n => world.killAfter((n % 8) / 2),
    settle: () => world.settle(),
    mediaDies: () => world.mediaDies(),
  }
  /** As if nothing had happened yet. */
  const reset = async (): Promise<void> => {
    world.media.die()
    await world.mediaDies()
    const { db } = world.store
    for (const table of ['webhook_deliveries', 'events', 'participants', 'calls', 'agent_statuses'] as const) {
      await db.deleteFrom(table).execute()
    }
    for (const id of agents) {
      const via = { host: '192.0.2.1', port: 5060, transport: 'udp' as const }
      world.devices.set(id, [{ kind: 'sip', uri: `sip:${id}@phones`, via }])
      await world.setStatus(id, 'available')
    }
    world.devices.get(agents[0]!)!.push({ kind: 'browser', browserId: `b-${agents[0]}` })
  }
  return { world, agents, acts, queue, reset }
}

test(
  'a call is never offered twice and never lost, agents never get two, waits are in order: whatever happens, whatever dies',
  async () => {
    const names = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('call', 'answer', 'available', 'settle') },
      { weight: 4, arbitrary: fc.constantFrom('callerHangsUp', 'agentHangsUp', 'decline', 'miss', 'wait', 'kill') },
      { weight: 2, arbitrary: fc.constantFrom('answerAll', 'away', 'logOut') },
      { weight: 1, arbitrary: fc.constantFrom('unplug', 'mediaDies') },
    )
    const steps = fc.array(fc.tuple(names, fc.nat(1000)), { minLength: 1, maxLength: 60, size: 'max' })
    await fc.assert(
      fc.asyncProperty(steps, async history => {
        const { world, agents, acts } = await makeModel(3)
        for (const id of agents) await world.setStatus(id, 'available')
        for (const [i, [name, n]] of history.entries()) {
          await acts[name]!(n)
          if (i % 3 === 2) {
            await world.settle()
            await check(world, agents)
          }
        }
        await world.settle()
        await check(world, agents)
        await checkStory(world)
        await world.close()
      }),
      { seed: 20261121, includeErrorInReport: true, numRuns: RUNS },
    )
  },
  { timeoutMs: 120_000 },
)

test.run()
