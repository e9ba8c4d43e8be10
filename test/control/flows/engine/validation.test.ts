import * as assert from 'uvu/assert'
import type { FlowNode, Graph } from '../../../../control/flows/engine/graph.ts'
import { ISSUE_SEVERITY, type IssueCode, isValid, validateGraph } from '../../../../control/flows/engine/validation.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/flows/engine/validation')

const always = (next: string | null) => ({ condition: { kind: 'always' }, next })
const when = (next: string | null, condition: { kind: string; [field: string]: unknown }) =>
  ({ condition, next }) as NonNullable<FlowNode['transitions']>[number]
const graphOf = (nodes: FlowNode[], more: Partial<Graph> = {}): Graph => ({
  kind: 'voice',
  schema_version: 1,
  settings: {},
  variables: [],
  nodes,
  ...more,
})
/** Start, this node, end. */
const around = (node: Partial<FlowNode> & { type: string }, more: Partial<Graph> = {}): Graph =>
  graphOf(
    [
      { key: 's', type: 'start', transitions: [always('n')] },
      { key: 'n', transitions: [always('e')], ...node },
      { key: 'e', type: 'end' },
    ],
    more,
  )
const issuesOf = (graph: Graph, kind = graph.kind) =>
  validateGraph(graph, { kind, assets: new Set(['aud_1']), targets: new Set(['queue q_1']) })
const found = (graph: Graph, kind = graph.kind) =>
  issuesOf(graph, kind).map(issue => [issue.code, issue.node_key, issue.transition_key, issue.field])

const end: FlowNode = { key: 'e', type: 'end' }
const start: FlowNode = { key: 's', type: 'start', transitions: [always('e')] }

/** For each code a graph that has this issue and no other. */
const CASES: Record<IssueCode, [Graph, string | null, string | null, string | null]> = {
  no_start: [graphOf([end]), null, null, null],
  multiple_starts: [
    graphOf([start, { ...start, key: 't', transitions: [always('s')] }, { ...end, key: 'e' }]),
    't',
    null,
    null,
  ],
  dead_end: [around({ type: 'say', script: 'x', transitions: [always(null), always('e')] }), 'n', 'n.0', 'next'],
  unreachable_node: [graphOf([start, end, { key: 'u', type: 'end' }]), 'u', null, null],
  unknown_next: [around({ type: 'say', script: 'x', transitions: [always('?'), always('e')] }), 'n', 'n.0', 'next'],
  duplicate_key: [graphOf([start, end, { ...end }]), 'e', null, 'key'],
  unknown_node_type: [around({ type: 'sing' }), 'n', null, 'type'],
  unknown_condition_kind: [
    around({ type: 'question', script: '?', transitions: [when('e', { kind: 'mood' }), always('e')] }),
    'n',
    'n.0',
    'condition.kind',
  ],
  missing_field: [around({ type: 'action' }), 'n', null, 'action.name'],
  missing_asset: [around({ type: 'play', asset_id: 'aud_2' }), 'n', null, 'asset_id'],
  missing_target: [around({ type: 'transfer', target: { type: 'queue', id: 'q_2' } }), 'n', null, 'target.id'],
  wrong_target: [around({ type: 'voicemail', target: { type: 'number', id: '+15550100' } }), 'n', null, 'target.type'],
  unused_field: [around({ type: 'say', script: 'x', save_as: 'answer' }), 'n', null, 'save_as'],
  unknown_variable: [around({ type: 'say', script: 'Hi {{nobody}}' }), 'n', null, 'script'],
  kind_mismatch: [around({ type: 'step', script: 'Ask' }), 'n', null, 'type'],
  infinite_loop: [
    around({ type: 'branch', transitions: [when('n', { kind: 'schedule', open: true }), always('e')] }),
    'n',
    null,
    null,
  ],
  no_fallback: [
    around({ type: 'menu', script: '1', transitions: [when('e', { kind: 'dtmf', digits: '1' })] }),
    'n',
    null,
    null,
  ],
  sensitive_unmasked: [
    around({ type: 'say', script: '{{card}}' }, { variables: [{ name: 'card', sensitive: true }] }),
    'n',
    null,
    'script',
  ],
  missing_recording: [around({ type: 'say', script: 'x' }, { kind: 'ivr' }), 'n', null, 'asset_id'],
}

for (const [code, [graph, node, transition, field]] of Object.entries(CASES)) {
  test(`${code} is found, at its place and alone`, () => {
    const others =
      code === 'multiple_starts' ? found(graph).filter(([other]) => other !== 'unreachable_node') : found(graph)
    assert.equal(others, [[code, node, transition, field]])
    assert.is(isValid(issuesOf(graph)), ISSUE_SEVERITY[code as IssueCode] !== 'error')
  })
}

test('a node that is not final needs a transition', () => {
  const graph = around({ type: 'say', script: 'x', transitions: [] })
  assert.equal(found(graph), [
    ['unreachable_node', 'e', null, null],
    ['dead_end', 'n', null, 'transitions'],
  ])
})

test('a circle that waits for the caller is no infinite loop', () => {
  assert.equal(found(around({ type: 'question', script: '?', transitions: [always('n'), always('e')] })), [])
})

test('the graph must be of the kind of its flow', () => {
  assert.equal(found(around({ type: 'say', script: 'x' }), 'ivr')[0], ['kind_mismatch', null, null, 'kind'])
})

test('a pattern that cannot be used, a condition without its fields, and variables in conditions are found', () => {
  const codes = (condition: { kind: string; [field: string]: unknown }) =>
    found(around({ type: 'question', script: '?', transitions: [when('e', condition), always('e')] }))
  assert.equal(codes({ kind: 'match', pattern: '(' }), [['missing_field', 'n', 'n.0', 'condition.pattern']])
  assert.equal(codes({ kind: 'dtmf' }), [['missing_field', 'n', 'n.0', 'condition.digits']])
  assert.equal(codes({ kind: 'filled', variable: 'x' }), [['unknown_variable', 'n', 'n.0', 'condition.variable']])
  assert.equal(codes({ kind: 'expression', left: 'caller', op: 'eq', right: null }), [])
})

test('errors come first, then warnings, then tasks', () => {
  const menu = { type: 'menu', script: '1', asset_id: 'aud_2', transitions: [when('e', { kind: 'dtmf', digits: '1' })] }
  const graph = graphOf(
    [...around(menu, {}).nodes, { key: 'z', type: 'say', script: 'x', transitions: [always('e')] }],
    { kind: 'ivr' },
  )
  assert.equal(
    issuesOf(graph).map(issue => issue.severity),
    ['error', 'error', 'warning', 'task'],
  )
})

test('what a condition takes from another kind is said to have no effect, and nothing that has one is', () => {
  const asks = around({
    type: 'menu',
    script: 'Sales or support?',
    input: { modes: ['dtmf'] },
    save_as: 'choice',
    transitions: [when('e', { kind: 'dtmf', digits: '1', phrases: ['one'] }), always('e')],
  })
  assert.equal(found(asks), [['unused_field', 'n', 'n.0', 'condition.phrases']])
})

test.run()
