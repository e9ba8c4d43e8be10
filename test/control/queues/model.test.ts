import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { bookCallback } from '../../../control/callbacks/booking.ts'
import { cancelCallbacksTo } from '../../../control/callbacks/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import type { ModelLeg } from '../../fakes/media-model.ts'
import { suite } from '../../harness.ts'
import { testEngine } from '../database.ts'
import { trunkRow } from '../trunk-row.ts'
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
  const isAgents = (leg: ModelLeg, id: string): boolean => leg.dialled.includes(id)
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
  for (const leg of legs.filter(one => one.direction === 'inbound')) {
    const together = legs.filter(other => other.roomId === leg.roomId && other !== leg)
    assert.ok(together.length <= 1, 'one agent for a caller')
    const row = waiting.find(one => one.leg_id === leg.legId)
    assert.is(row === undefined, together.length === 1, 'a caller waits or talks: none is lost')
    if (row !== undefined) assert.ok(leg.playing, 'who waits hears something')
    else assert.is(leg.playId, null, 'who talks hears no music')
  }
  for (const row of waiting) {
    assert.ok(world.media.legs.has(row.leg_id ?? ''), 'who waits is on the line')
    const ring = rings.find(one => one.open_call === row.id)
    assert.is(ring?.user_id ?? null, row.offered_to, 'offered to whom it rings for')
  }
  assert.is(rings.length, new Set(rings.map(ring => ring.call_id)).size, 'no call rings two')
}

/** Callbacks: whoever is reserved for one rings or talks for it alone, and nobody is called for one that does not call. */
async function checkCallbacks(world: QueueWorld): Promise<void> {
  const { db } = world.store
  const legs = [...world.media.legs.values()]
  const rings = await db.selectFrom('rings').selectAll().where('callback_id', 'is not', null).execute()
  for (const row of await db.selectFrom('callbacks').selectAll().execute()) {
    const own = rings.filter(ring => ring.callback_id === row.id)
    const persons = legs.filter(leg => leg.dialled.includes(row.phone))
    const isRinging = row.status === 'offered' || (row.status === 'dialing' && own[0]?.state === 'ringing')
    const isCalling = row.status === 'connected' || (row.status === 'dialing' && !isRinging)
    assert.is(own.length, isRinging || isCalling ? 1 : 0, `${row.status}: one agent is reserved, or none`)
    assert.is(persons.length, isCalling ? 1 : 0, `${row.status}: the person is called once, or not`)
    if (own[0] !== undefined) assert.equal([own[0].user_id, own[0].call_id], [row.offered_to, row.call_id])
    if (row.status === 'connected') {
      const together = legs.filter(leg => leg.roomId === persons[0]!.roomId && leg !== persons[0])
      assert.equal([persons[0]!.state, together.length], ['answered', 1], 'the agent talks with the person')
    }
    assert.is(row.open_phone === null, ['completed', 'failed', 'cancelled', 'expired'].includes(row.status))
  }
}

/** The events must be consistent: statuses follow each other, and the one who has waited longest is offered first. */
async function checkStory(world: QueueWorld): Promise<void> {
  const status = new Map<string, string>()
  const line: { id: string; offered: boolean }[] = []
  const callbacks = new Map<string, { status: string; attempts: number }>()
  for (const { type, object, previous } of await world.events()) {
    if (type === 'callback.created') callbacks.set(object.id, { status: 'pending', attempts: 0 })
    else if (previous?.status !== undefined && callbacks.has(object.id)) {
      const before = callbacks.get(object.id)!
      // Back to pending after an offer that was not taken is not told.
      const said = previous.status === 'pending' && before.status === 'offered' ? 'offered' : previous.status
      assert.is(said, before.status, 'each state of a callback follows the one before it')
      const isNone = type === 'callback.attempt_failed' && object.last_result === 'capacity'
      const isAttempt = type === 'callback.dialing' ? 1 : isNone && before.status === 'dialing' ? -1 : 0
      assert.is(object.attempts, before.attempts + isAttempt, 'each call to the person is one attempt')
      callbacks.set(object.id, object)
    }
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

const ALWAYS = { hours: null, timezone: 'UTC' }
const CALLBACKS = { default_route: 'agent_queue' as const, max_attempts: 3, api_priority: 5, sla_minutes: 60 }
const TRUNK = trunkRow('2026-11-21T09:00:00.000Z')

/** A world with agents who answer one queue; what can happen in it, by name. */
async function makeModel(agentCount: number) {
  const world = await makeQueueWorld()
  const agents: string[] = []
  for (let i = 0; i < agentCount; i++) agents.push(await world.addAgent(`agent${i}`))
  const queue = await world.addQueue({ member_user_ids: agents, wrap_up_seconds: 20, ring_timeout_seconds: 15 })
  await forTenant(world.store.db, world.tenant).insert('connections', TRUNK)
  const booking = {
    now: world.clock.now,
    settings: async () => ({ country: null, businessHours: ALWAYS, callbacks: CALLBACKS }),
  }
  let people = 0
  const book = async (n: number): Promise<void> => {
    const where = n % 3 === 0 ? { route: 'agent' as const, agent_id: agent(n) } : { queue_id: queue }
    const person = { phone: `+1415555${2000 + people++}`, source: 'api' as const, author: 'model', ...where }
    await world.store.transaction(trx => bookCallback(booking, trx, world.tenant, person))
  }
  const cancel = async (n: number): Promise<void> => {
    const phone = `+1415555${2000 + (n % Math.max(1, people))}`
    const at = world.clock.now().toISOString()
    await world.store.transaction(trx => cancelCallbacksTo(trx, world.tenant, { phones: [phone], at }))
  }
  const persons = (): ModelLeg[] => [...world.media.legs.values()].filter(leg => leg.dialled.includes('+1415555'))
  const of = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)]
  const agent = (n: number): string => of(agents, n)!
  const callers = (): ModelLeg[] => [...world.media.legs.values()].filter(leg => leg.direction === 'inbound')
  const end = (leg: ModelLeg | undefined, reason?: 'no_answer' | 'rejected'): void => {
    if (leg !== undefined) world.media.hangUp(leg.legId, reason)
  }
  const acts: Record<string, (n: number) => unknown> = {
    call: () => world.call(queue),
    callerHangsUp: n => end(of(callers(), n)),
    answer: n => {
      const leg = of(world.ringing(agent(n)), n)
      if (leg !== undefined) world.media.pickUp(leg.legId)
    },
    answerAll: n => {
      for (const leg of world.ringing(agent(n))) world.media.pickUp(leg.legId)
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
    book,
    cancel,
    personAnswers: n => {
      const leg = of(persons(), n)
      if (leg?.state === 'dialing') world.media.pickUp(leg.legId)
    },
    personHangsUp: n => end(of(persons(), n)),
    personIsAway: n => {
      const leg = of(persons(), n)
      if (leg?.state === 'dialing') end(leg, 'no_answer')
    },
    retry: () => world.clock.advance(6 * 60_000),
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
  'a call is never offered twice and never lost, agents never get two, waits are in order, who is called back is called once: whatever happens, whatever dies',
  async () => {
    const calls = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('call', 'answer', 'available', 'settle') },
      { weight: 4, arbitrary: fc.constantFrom('callerHangsUp', 'agentHangsUp', 'decline', 'miss', 'wait', 'kill') },
      { weight: 2, arbitrary: fc.constantFrom('answerAll', 'away', 'logOut') },
      { weight: 1, arbitrary: fc.constantFrom('unplug', 'mediaDies') },
    )
    const backs = fc.constantFrom('book', 'personAnswers', 'personHangsUp', 'personIsAway', 'retry', 'cancel')
    const names = fc.oneof({ weight: 10, arbitrary: calls }, { weight: 4, arbitrary: backs })
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
            await checkCallbacks(world)
          }
        }
        await world.settle()
        await check(world, agents)
        await checkCallbacks(world)
        await checkStory(world)
        await world.close()
      }),
      { seed: 20261121, includeErrorInReport: true, numRuns: RUNS },
    )
  },
  { timeoutMs: 120_000 },
)

test.run()
