import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { compileFlow } from '../../../../control/flows/engine/compiled-flow.ts'
import { type CallerInput, CONDITION_KINDS } from '../../../../control/flows/engine/conditions.ts'
import type { CollectRequest, FlowEffects } from '../../../../control/flows/engine/effects.ts'
import { runFlow } from '../../../../control/flows/engine/engine.ts'
import type { FlowNode, Graph } from '../../../../control/flows/engine/graph.ts'
import { mockModel } from '../../../../control/flows/engine/mock-model.ts'
import { type FlowModel, noModel } from '../../../../control/flows/engine/model.ts'
import { NODE_TYPES } from '../../../../control/flows/engine/node-types.ts'
import {
  type SimulatedCaller,
  type SimulationReport,
  sampleVariables,
  simulate,
} from '../../../../control/flows/engine/simulation.ts'
import { type FlowState, LIMITS, newState } from '../../../../control/flows/engine/state.ts'
import type { FlowStep } from '../../../../control/flows/engine/steps.ts'
import { validateGraph } from '../../../../control/flows/engine/validation.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/flows/engine/engine')

const graphOf = (nodes: FlowNode[], more: Partial<Graph> = {}): Graph => ({
  kind: 'voice',
  schema_version: 1,
  settings: {},
  variables: [],
  nodes,
  ...more,
})

const to = (next: string | null, condition: { kind: string; [field: string]: unknown } = { kind: 'always' }) =>
  ({ condition, next }) as NonNullable<FlowNode['transitions']>[number]
const start: FlowNode = { key: 's', type: 'start', transitions: [to('q')] }
const end = (key: string): FlowNode => ({ key, type: 'end' })

async function drain(
  graph: Graph,
  caller: SimulatedCaller,
  model: FlowModel = mockModel,
  state: FlowState = newState(sampleVariables(graph)),
): Promise<{ steps: FlowStep[]; report: SimulationReport; state: FlowState }> {
  const steps: FlowStep[] = []
  const run = simulate(graph, state, caller, model)
  let next = await run.next()
  for (; next.done !== true; next = await run.next()) steps.push(next.value)
  return { steps, report: next.value, state }
}

const lastVia = (report: SimulationReport) => [report.path.at(-1)?.node_key, report.path.at(-1)?.via]

/** A graph whose question has these transitions, each to an end of its own. */
const asking = (conditions: { kind: string; [field: string]: unknown }[], more: Partial<FlowNode> = {}) =>
  graphOf([
    start,
    { key: 'q', type: 'question', script: '?', ...more, transitions: conditions.map((c, i) => to(`e${i}`, c)) },
    ...conditions.map((_, i) => end(`e${i}`)),
  ])

const intent = { kind: 'intent', description: 'wants to pay an invoice' }

test('deterministic conditions are tried before intent, whatever their order', async () => {
  const asked: string[] = []
  const model: FlowModel = {
    ...mockModel,
    judge: async ({ text }) => {
      asked.push(text)
      return { intent: 0 }
    },
  }
  const graph = asking([intent, { kind: 'match', phrases: ['pay'] }])
  assert.equal(lastVia((await drain(graph, { message: 'I want to pay' }, model)).report), ['e1', 'match'])
  assert.equal(asked, [])
  assert.equal(lastVia((await drain(graph, { message: 'the bill' }, model)).report), ['e0', 'intent'])
  assert.equal(asked, ['the bill'])
})

test('a phrase that was misheard is taken for the one choice that sounds like it, before a model is asked', async () => {
  const graph = asking([{ kind: 'match', phrases: ['sales'] }, { kind: 'match', phrases: ['support'] }, intent])
  assert.equal(lastVia((await drain(graph, { message: 'Sayles.' })).report), ['e0', 'match'])
  assert.equal(lastVia((await drain(graph, { message: 'The part,' })).report), ['e1', 'match'])
  assert.equal(lastVia((await drain(graph, { message: 'pay my invoice' })).report), ['e2', 'intent'])
})

test('always and else take what is left after intent', async () => {
  const graph = asking([{ kind: 'else' }, intent])
  assert.equal(lastVia((await drain(graph, { message: 'pay my invoice' })).report), ['e1', 'intent'])
  assert.equal(lastVia((await drain(graph, { message: 'hello' })).report), ['e0', 'else'])
  const any = asking([{ kind: 'always' }, intent])
  assert.equal(lastVia((await drain(any, { message: 'hello' })).report), ['e0', 'always'])
})

test('each deterministic condition kind fires on its fact', async () => {
  for (const [condition, caller] of [
    [{ kind: 'dtmf', digits: '1' }, { dtmf: '1' }],
    [{ kind: 'match', phrases: ['good morning'] }, { message: 'Well, GOOD  morning!' }],
    [{ kind: 'match', pattern: '^order \\d{3}$' }, { message: 'Order 123' }],
    [{ kind: 'expression', left: 'a', op: 'gte', right: 10 }, { message: '12' }],
    [{ kind: 'expression', left: 'a', op: 'starts_with', right: 'YE' }, { message: 'yes' }],
    [{ kind: 'filled', variable: 'a' }, { message: 'x' }],
    [{ kind: 'schedule', open: true }, { message: 'x' }],
    [{ kind: 'no_response' }, { no_response: true }],
    [{ kind: 'no_match' }, { message: 'x' }],
  ] as const) {
    const { report } = await drain(asking([condition], { save_as: 'a' }), caller)
    assert.equal(lastVia(report), ['e0', condition.kind], JSON.stringify(condition))
    assert.is(report.end_reason, 'end_node')
  }
})

test('a global transition is open wherever the caller is heard', async () => {
  const graph = asking([{ kind: 'dtmf', digits: '1' }])
  graph.nodes.push({
    key: 'h',
    type: 'say',
    script: 'Human',
    transitions: [to('human', { kind: 'global', phrases: ['agent'] })],
  })
  graph.nodes.push({ key: 'human', type: 'transfer', target: { type: 'queue', id: 'q_1' } })
  const { report } = await drain(graph, { message: 'an agent please' })
  assert.equal(lastVia(report), ['human', 'global'])
  assert.equal([report.end_reason, report.actions[0]?.input.target_id], ['transfer', 'q_1'])
})

test('keys typed ahead drive one menu after the other; the entry then completes', async () => {
  const menu = (key: string, next: string): FlowNode => ({
    key,
    type: 'menu',
    script: '1 or 12',
    transitions: [to(next, { kind: 'dtmf', digits: '1' }), to('long', { kind: 'dtmf', digits: '22' })],
  })
  const graph = graphOf([start, menu('q', 'r'), menu('r', 'short'), end('short'), end('long')])
  assert.equal(lastVia((await drain(graph, { dtmf: '11' })).report), ['short', 'dtmf'])
  assert.equal(lastVia((await drain(graph, { dtmf: '122' })).report), ['long', 'dtmf'])
})

test('keys since the question before answer the next one that takes keys, unless they follow a wrong answer, or were for others', async () => {
  const menu = (key: string, next: string, more: Partial<FlowNode> = {}): FlowNode => ({
    key,
    type: 'menu',
    script: '?',
    transitions: [to(next, { kind: 'dtmf', digits: '1' }), to(next, { kind: 'match', phrases: ['yes'] })],
    ...more,
  })
  const graph = graphOf([
    start,
    menu('q', 'words'),
    menu('words', 'server', { input: { modes: ['speech'] } }),
    { key: 'server', type: 'action', action: { kind: 'api', name: 'a', url: 'http://a/' }, transitions: [to('r')] },
    menu('r', 'away'),
    { key: 'away', type: 'transfer', target: { type: 'number', id: '+1' }, transitions: [to('after')] },
    menu('after', 'e', { input: { barge_in: false } }),
    end('e'),
  ])
  const yes: CallerInput = { kind: 'speech', text: 'yes' }
  const one: CallerInput = { kind: 'dtmf', digits: '1' }
  const inputs: CallerInput[] = [{ kind: 'no_response' }, { kind: 'dtmf', digits: '9' }, one, yes, one, one]
  const asked: [string, CollectRequest['ahead']][] = []
  const effects: FlowEffects = {
    dryRun: true,
    model: mockModel,
    say: async () => {},
    play: async () => {},
    converse: request => mockModel.reply(request),
    collect: async ({ nodeKey, ahead, hidesAhead }) => {
      assert.not(hidesAhead)
      asked.push([nodeKey, ahead])
      return inputs.shift() ?? null
    },
    perform: async () => ({ status: 'failed', outcome: 'busy', output: null }),
    isOpen: async () => true,
  }
  const state = newState({})
  for await (const _ of runFlow(compileFlow(graph), state, effects));
  assert.equal(asked, [
    ['q', 'take'],
    ['q', 'take'],
    ['q', 'forget'],
    ['words', 'keep'],
    ['r', 'take'],
    ['after', 'forget'],
  ])
  assert.is(state.endReason, 'end_node')
  assert.ok(compileFlow(graphOf([start, menu('q', 'q', { input: { sensitive: true } })])).asksSecret)
})

test('messages are applied first, then keys, then the last message, then silence', async () => {
  const graph = graphOf([start, { key: 'q', type: 'question', script: '?', transitions: [to('q')] }])
  const { report } = await drain(graph, { message: 'b', dtmf: '12', messages: ['a', 'a2'], no_response: true })
  assert.equal(
    report.turns.filter(turn => turn.role === 'customer').map(turn => turn.text),
    ['a', 'a2', '12', 'b'],
  )
})

test('silence is asked again, up to max_retries, and then ends the call', async () => {
  const graph = asking([{ kind: 'dtmf', digits: '1' }], { input: { max_retries: 1 } })
  const first = await drain(graph, { no_response: true })
  assert.equal([first.report.ended, first.report.turns.length], [false, 2])
  const second = await drain(graph, { no_response: true }, mockModel, first.state)
  assert.is(second.report.end_reason, 'no_response_limit')
})

test('an answer that fits nothing is not kept', async () => {
  const { report } = await drain(asking([{ kind: 'no_match' }], { save_as: 'a' }), { message: 'x' })
  assert.equal(report.variables, {})
})

test('a circle that waits for nobody ends with loop_limit', async () => {
  const graph = graphOf([start, { key: 'q', type: 'say', script: 'x', transitions: [to('q')] }])
  const { report } = await drain(graph, {})
  assert.equal([report.end_reason, report.path.length], ['loop_limit', LIMITS.nodesSinceInput])
})

test('actions are dry runs with the sample as output; their outcome leads on', async () => {
  const graph = graphOf([
    start,
    {
      key: 'q',
      type: 'action',
      action: { kind: 'api', name: 'lookup', input: { who: '{{caller}}' }, sample_output: 'gold' },
      save_as: 'tier',
      transitions: [to('bad', { kind: 'outcome', value: 'failed' }), to('good', { kind: 'outcome', value: 'success' })],
    },
    end('good'),
    end('bad'),
  ])
  const { report } = await drain(graph, {})
  assert.equal(lastVia(report), ['good', 'outcome'])
  assert.equal(
    [report.actions[0]?.dry_run, report.actions[0]?.output, report.variables],
    [true, 'gold', { tier: 'gold' }],
  )
})

test('transfer, voicemail and callback end the call with their name', async () => {
  for (const type of ['transfer', 'voicemail', 'callback'] as const) {
    assert.is((await drain(graphOf([start, { key: 'q', type }]), {})).report.end_reason, type)
  }
})

test('a model that cannot be asked leads to else, or ends the call with error', async () => {
  const ai = (transitions: FlowNode['transitions']): Graph =>
    graphOf([start, { key: 'q', type: 'ai', ai: { goal: 'g' }, transitions: transitions ?? [] }, end('e')])
  assert.equal(lastVia((await drain(ai([to('e', { kind: 'else' })]), {}, noModel)).report), ['e', 'else'])
  assert.is((await drain(ai([]), {}, noModel)).report.end_reason, 'error')
  assert.is(
    (await drain(asking([intent, { kind: 'else' }]), { message: 'pay' }, noModel)).report.path.at(-1)?.via,
    'else',
  )
})

test('a model is never told what is sensitive', async () => {
  const told: string[] = []
  const spy: FlowModel = {
    judge: async request => {
      told.push(JSON.stringify(request))
      return { intent: null }
    },
    reply: async request => {
      told.push(JSON.stringify(request))
      return { text: 'ok', done: false, value: null }
    },
  }
  const graph = graphOf([
    start,
    {
      key: 'q',
      type: 'collect',
      script: 'Card?',
      save_as: 'card',
      input: { sensitive: true },
      transitions: [to('ai'), to('q', intent)],
    },
    { key: 'ai', type: 'ai', ai: { goal: 'Charge {{card}}' }, transitions: [to('q', intent)] },
  ])
  await drain(graph, { messages: ['four one one one', 'and pay it'] }, spy)
  assert.is(told.length, 3)
  assert.not.match(told.join(), 'four one')
})

const keys = ['a', 'b', 'c', 'd', '__proto__']
const word = fc.constantFrom('x', '1', 'yes', '{{v}}', 'constructor')
const condition = fc.record(
  {
    kind: fc.constantFrom(...Object.keys(CONDITION_KINDS), 'unheard_of'),
    digits: fc.constantFrom('1', '12', '#'),
    phrases: fc.array(word, { maxLength: 2 }),
    pattern: fc.constantFrom('(x+)+$', '[', '\\d'),
    left: fc.constantFrom('v', 'constructor'),
    op: fc.constantFrom('eq', 'gt', 'contains'),
    right: fc.constantFrom(1, 'x', null),
    variable: fc.constant('v'),
    value: fc.constantFrom('success', 'done'),
    open: fc.boolean(),
    description: word,
  },
  { requiredKeys: ['kind'] },
)
const node = fc.record(
  {
    key: fc.constantFrom(...keys),
    type: fc.constantFrom(...Object.keys(NODE_TYPES), 'unheard_of'),
    script: word,
    save_as: fc.constantFrom('v', 'w'),
    set: fc.constantFrom({ v: '{{v}}{{v}}x' }, { w: 1 }),
    input: fc.record({ max_retries: fc.integer({ min: 0, max: 10 }), sensitive: fc.boolean() }),
    transitions: fc.array(fc.record({ condition, next: fc.constantFrom(...keys, 'nowhere', null) }), { maxLength: 4 }),
  },
  { requiredKeys: ['key', 'type'] },
)
const anyGraph = fc
  .array(node, { maxLength: 8 })
  .map(nodes => graphOf([{ key: 's', type: 'start', transitions: [to('a')] }, ...(nodes as FlowNode[])]))
const anyCaller = fc.record({
  messages: fc.array(fc.constantFrom('x', 'yes', '1', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx!'), { maxLength: 12 }),
  dtmf: fc.constantFrom(undefined, '1', '121#'),
  no_response: fc.boolean(),
})

test(
  'no graph hangs, throws or exceeds a loop limit, however wrong it is',
  async () => {
    await fc.assert(
      fc.asyncProperty(anyGraph, anyCaller, async (graph, caller) => {
        validateGraph(graph, { kind: 'voice', assets: new Set(), targets: new Set() })
        const { report, state } = await drain(graph, caller)
        const inputs = caller.messages.length + (caller.dtmf?.length ?? 0) + 2
        assert.ok(report.path.length <= (inputs + 1) * LIMITS.nodesSinceInput)
        assert.ok(state.nodes <= LIMITS.nodes && state.inputs <= LIMITS.inputs)
        assert.is(report.ended, report.end_reason !== null)
        assert.ok(report.coverage.node_pct >= 0 && report.coverage.transition_pct <= 100)
      }),
      { seed: 20, numRuns: 500 },
    )
  },
  { timeoutMs: 60_000 },
)

test('steps and report have the same content, and a state that was stored in between changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(anyGraph, anyCaller, async (graph, caller) => {
      const whole = await drain(graph, { messages: caller.messages })
      const of = (kind: FlowStep['step']) => whole.steps.filter(step => step.step === kind).map(step => step.entry)
      assert.equal(
        [of('node'), of('turn'), of('action')],
        [whole.report.path, whole.report.turns, whole.report.actions],
      )
      let state = newState(sampleVariables(graph))
      const parts = []
      for (const messages of [[], ...caller.messages.map(line => [line])]) {
        const part = await drain(graph, { messages }, mockModel, state)
        parts.push(...part.steps)
        state = JSON.parse(JSON.stringify(part.state))
      }
      assert.equal(parts, whole.steps)
      assert.equal(state, JSON.parse(JSON.stringify(whole.state)))
    }),
    { seed: 21, numRuns: 200 },
  )
})

test.run()
