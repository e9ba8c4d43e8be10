import fc from 'fast-check'
import * as assert from 'uvu/assert'
import {
  type Agent,
  distribute,
  inOrder,
  type QueueRules,
  STRATEGY_NAMES,
  type Waiting,
} from '../../../control/queues/distributor.ts'
import { suite } from '../../harness.ts'

const test = suite('control/queues/distributor')

const queue = (more: Partial<QueueRules> = {}): QueueRules => ({
  id: 'q',
  enabled: true,
  strategy: 'longest_idle',
  members: new Set(['ann', 'bob', 'cid']),
  overflowWhenNoAgents: false,
  ...more,
})
const call = (id: string, more: Partial<Waiting> = {}): Waiting => ({
  kind: 'call',
  id,
  queueId: 'q',
  onlyAgent: null,
  since: 0,
  priority: 0,
  tried: new Set(),
  isOffered: false,
  isElsewhere: false,
  overflowAt: null,
  ...more,
})
const agent = (id: string, more: Partial<Agent> = {}): Agent => ({
  id,
  isSignedIn: true,
  isFree: true,
  isReachable: true,
  restUntil: 0,
  idleSince: 0,
  lastOfferedAt: 0,
  ...more,
})
const offers = (queues: QueueRules[], waiting: Waiting[], agents: Agent[], now = 1000): string[] =>
  distribute({ queues, waiting, agents, now }).map(one =>
    one.kind === 'offer' ? `${one.id}>${one.agentId}` : `${one.id}!${one.reason}`,
  )

test('longest_idle: of the available agents the one who has been idle longest rings first', () => {
  const agents = [agent('ann', { idleSince: 300 }), agent('bob', { idleSince: 100 }), agent('cid', { idleSince: 200 })]
  assert.equal(offers([queue()], [call('a'), call('b', { since: 1 })], agents), ['a>bob', 'b>cid'])
})

test('round_robin: the one whose turn was longest ago rings first, however long others were idle', () => {
  const agents = [agent('ann', { lastOfferedAt: 50, idleSince: 1 }), agent('bob', { lastOfferedAt: 10, idleSince: 9 })]
  assert.equal(offers([queue({ strategy: 'round_robin' })], [call('a')], agents), ['a>bob'])
})

test('waits in order: the caller who has waited longest gets the agent, over all queues that the agent answers', () => {
  const queues = [queue(), queue({ id: 'r' })]
  const waiting = [call('late', { since: 20 }), call('early', { since: 10, queueId: 'r' })]
  assert.equal(offers(queues, waiting, [agent('ann')]), ['early>ann'])
})

test('waits in order over all nodes: an agent is left to who has waited longer on another node, until that has had the time to decide', () => {
  const waiting = [call('early', { since: 10, isElsewhere: true }), call('late', { since: 20 })]
  assert.equal(offers([queue()], waiting, [agent('ann')]), [])
  assert.equal(offers([queue()], waiting, [agent('ann'), agent('bob', { idleSince: 1 })]), ['late>bob'])
  assert.equal(offers([queue()], waiting, [agent('ann')], 2019), [], 'the later one is there for less than two seconds')
  assert.equal(offers([queue()], waiting, [agent('ann')], 2020), ['late>ann'], 'the other node is gone')
  assert.equal(offers([queue()], waiting, [agent('ann', { idleSince: 2000 })], 3999), [], 'she is free for less')
  const before = [call('early', { since: 10 }), call('late', { since: 20, isElsewhere: true })]
  assert.equal(offers([queue()], before, [agent('ann')]), ['early>ann'])
  const over = [call('early', { overflowAt: 900, isElsewhere: true }), call('late', { since: 20 })]
  assert.equal(
    offers([queue()], over, [agent('ann')]),
    ['late>ann'],
    'that the other has waited too long is for its node',
  )
})

test('a caller on the line comes before a callback; callbacks go by priority, then by due time', () => {
  const back = (id: string, priority: number, since: number) => call(id, { kind: 'callback', priority, since })
  const waiting = [back('x', 5, 1), back('y', 9, 7), back('z', 9, 3), call('live', { since: 90 })]
  assert.equal(
    inOrder(waiting).map(item => item.id),
    ['live', 'z', 'y', 'x'],
  )
})

test('an agent who did not take a call is tried again only after the others, and after a rest', () => {
  const tried = call('a', { tried: new Set(['ann']) })
  assert.equal(offers([queue()], [tried], [agent('ann'), agent('bob', { idleSince: 9 })]), ['a>bob'])
  assert.equal(offers([queue()], [tried], [agent('ann', { restUntil: 1001 })]), [])
  assert.equal(offers([queue()], [tried], [agent('ann', { restUntil: 1000 })]), ['a>ann'])
})

test('agents who are busy, unreachable or no members are not rung', () => {
  const agents = [agent('ann', { isFree: false }), agent('bob', { isReachable: false }), agent('dan')]
  assert.equal(offers([queue()], [call('a')], agents), [])
})

test('a disabled queue takes no calls: they overflow', () => {
  assert.equal(offers([queue({ enabled: false })], [call('a')], [agent('ann')]), ['a!disabled'])
})

test('overflow.when_no_agents: at once when no agent is signed in; one who is away is signed in', () => {
  const rules = [queue({ overflowWhenNoAgents: true })]
  assert.equal(offers(rules, [call('a')], [agent('ann', { isSignedIn: false, isFree: false })]), ['a!no_agents'])
  assert.equal(offers(rules, [call('a')], [agent('ann', { isFree: false })]), [])
})

test('max_wait_seconds: a caller who waited so long overflows, also while a phone rings for the caller', () => {
  const late = call('a', { overflowAt: 1000 })
  assert.equal(offers([queue()], [late], [agent('ann')]), ['a!max_wait'])
  assert.equal(offers([queue()], [{ ...late, isOffered: true }], [agent('ann')]), ['a!max_wait'])
  assert.equal(offers([queue({ enabled: false })], [call('a', { isOffered: true })], [agent('ann')]), [])
})

test('in no world is a call offered twice, an agent rung twice, or one in line passed over while an agent of its queue is free', () => {
  const id = fc.constantFrom<string[]>('ann', 'bob', 'cid', 'dan')
  const world = fc.record({
    queues: fc.uniqueArray(
      fc.record({
        id: fc.constantFrom('q', 'r', 's'),
        enabled: fc.boolean(),
        strategy: fc.constantFrom(...STRATEGY_NAMES),
        members: fc.uniqueArray(id).map(ids => new Set(ids)),
        overflowWhenNoAgents: fc.boolean(),
      }),
      { selector: one => one.id },
    ),
    waiting: fc.uniqueArray(
      fc.record({
        kind: fc.constantFrom('call' as const, 'callback' as const),
        id: fc.integer({ min: 0, max: 30 }).map(String),
        queueId: fc.constantFrom('q', 'r', 's'),
        onlyAgent: fc.constant(null),
        since: fc.nat(50),
        priority: fc.constant(5),
        tried: fc.uniqueArray(id).map(ids => new Set(ids)),
        isOffered: fc.boolean(),
        isElsewhere: fc.constant(false),
        overflowAt: fc.option(fc.nat(2000)),
      }),
      { selector: one => one.id },
    ),
    agents: fc.uniqueArray(
      fc.record({
        id,
        isSignedIn: fc.boolean(),
        isFree: fc.boolean(),
        isReachable: fc.boolean(),
        restUntil: fc.nat(2000),
        idleSince: fc.nat(50),
        lastOfferedAt: fc.nat(50),
      }),
      { selector: one => one.id },
    ),
    now: fc.constant(1000),
  })
  fc.assert(
    fc.property(world, one => {
      const decisions = distribute(one)
      const given = decisions.filter(decision => decision.kind === 'offer')
      assert.is(new Set(decisions.map(decision => decision.id)).size, decisions.length)
      assert.is(new Set(given.map(offer => offer.agentId)).size, given.length)
      const members = (queueId: string | null) => one.queues.find(rules => rules.id === queueId)?.members ?? new Set()
      const canRing = one.agents.filter(a => a.isFree && a.isReachable && a.restUntil <= one.now).map(a => a.id)
      for (const offer of given) {
        const item = one.waiting.find(waiting => waiting.id === offer.id)!
        assert.ok(!item.isOffered && canRing.includes(offer.agentId) && members(item.queueId).has(offer.agentId))
      }
      const idle = canRing.filter(agentId => !given.some(offer => offer.agentId === agentId))
      for (const item of one.waiting) {
        if (item.isOffered || decisions.some(decision => decision.id === item.id)) continue
        assert.not.ok(idle.some(agentId => members(item.queueId).has(agentId)))
      }
    }),
    { seed: 4, numRuns: 2000 },
  )
})

test('a callback of an agent of its own waits for that agent, behind the callers that the agent answers', () => {
  const own = call('own', { kind: 'callback', queueId: null, onlyAgent: 'ann', priority: 9 })
  assert.equal(offers([queue()], [own], [agent('bob')]), [])
  assert.equal(offers([queue()], [own, call('live', { since: 90 })], [agent('ann')]), ['live>ann'])
  assert.equal(offers([queue()], [own, call('live')], [agent('ann'), agent('bob', { idleSince: 1 })]), ['live>ann'])
})

test.run()
