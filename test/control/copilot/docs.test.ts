import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { bodyOf } from '../../../control/copilot/fast/bodies.ts'
import { reduce } from '../../../control/copilot/fast/reduce.ts'
import { type CopilotState, MESSAGE_TYPES, newState, type Outgoing } from '../../../control/copilot/fast/state.ts'
import { suite } from '../../harness.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/docs')
const page = readFileSync(new URL('../../../docs/copilot.md', import.meta.url), 'utf8')
const rows = new Map(
  page.split('\n').flatMap(line => {
    const [, type, , data] = /^\| `([a-z]+)` \| ([^|]*) \| (.*) \|$/.exec(line) ?? []
    return type === undefined ? [] : [[type, data ?? ''] as const]
  }),
)

test('the page has a row for every type of message, and for no other', () => {
  assert.equal([...rows.keys()], [...MESSAGE_TYPES])
})

test('whatever a message of the fast path holds stands in the row of its type', () => {
  let state: CopilotState = newState('2026-11-22T10:00:00.000Z')
  const told: Outgoing[] = []
  const passages = [{ id: 'kbp_1', documentId: 'kbd_1', text: 'Nine to five.', score: 0.9 }]
  const lines: ['agent' | 'customer', string][] = [
    ['agent', 'thank you for calling, we guarantee it'],
    ['customer', 'it is too expensive, my name is Ann Smith'],
    ['customer', 'I want to cancel my contract, this is really terrible and awful'],
  ]
  for (const [at, [party, text]] of lines.entries()) {
    const times = { atMs: at * 1000, fromMs: at * 1000, toMs: at * 1000 }
    const outcome = reduce(state, PROFILE, {
      kind: 'said',
      id: `u${at}`,
      party,
      text,
      isFinal: true,
      passages,
      ...times,
    })
    state = outcome.state
    told.push(...outcome.messages)
  }
  const late = reduce(state, PROFILE, { kind: 'tick', atMs: 200_000, isQuiet: false })
  told.push(...late.messages)
  const seen = new Set(told.map(({ type }) => type))
  for (const type of MESSAGE_TYPES) {
    if (type !== 'script' && type !== 'summary') assert.ok(seen.has(type), `${type} was not told`)
  }
  const figures = ['talk_ratio', 'monologue_seconds', 'silence_seconds', 'words_per_minute', 'figure', 'disclosure']
  for (const { type, body } of told) {
    for (const key of Object.keys(body)) {
      if (!figures.includes(key)) assert.ok(rows.get(type)?.includes(`\`${key}\``), `${type}: ${key}`)
    }
  }
  assert.is(bodyOf(state, PROFILE, 'item:no/such', { claims: [], person: null, told: null, atMs: 0 }, 'done'), null)
})

test.run()
