import * as assert from 'uvu/assert'
import { RefusalLog } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'

const test = suite('media/protocol/refusal-log')

/** A log whose intervals end when `pass` is called. */
function scene() {
  const lines: { fields: Record<string, unknown>; message: string }[] = []
  const inOrder: string[] = []
  let due: (() => void)[] = []
  const log = {
    info: (_fields: object, message: string) => void inOrder.push(message),
    warn: (fields: object, message: string) => void lines.push({ fields: { ...fields }, message }),
  }
  const refusals = new RefusalLog(log, 'call', run => due.push(run))
  const pass = (): void => {
    const now = due
    due = []
    for (const run of now) run()
  }
  return { lines, inOrder, refusals, pass, waiting: () => due.length }
}

test('the first refusal of a reason has a line of its own, those that follow one in each interval with their number and sources', () => {
  const { lines, refusals, pass, waiting } = scene()
  refusals.note('max_calls', '192.0.2.1', () => ({ from: 'sip:ann@192.0.2.1' }))
  const first = { reason: 'max_calls', source: '192.0.2.1', from: 'sip:ann@192.0.2.1' }
  assert.equal(lines, [{ fields: first, message: 'a call was refused' }])
  for (let n = 0; n < 30; n++)
    refusals.note('max_calls', `192.0.2.${n % 3 === 0 ? 1 : 2}`, () => assert.unreachable() as never)
  refusals.note('overload', '192.0.2.9', () => ({}))
  assert.is(lines.length, 2, 'another reason has its own first line')
  pass()
  const sources = { '192.0.2.2': 20, '192.0.2.1': 10 }
  const rest = { fields: { reason: 'max_calls', count: 30, seconds: 10, sources }, message: 'calls were refused' }
  assert.equal(lines.slice(2), [rest])
  pass()
  assert.is(waiting(), 0, 'nothing was refused in the second interval: the next is a first one again')
  refusals.note('max_calls', '192.0.2.1', () => ({}))
  assert.is(lines.at(-1)!.message, 'a call was refused')
})

test('however many sources there are, few are kept, and all refusals counted', () => {
  const { lines, refusals, pass } = scene()
  for (let n = 0; n < 100_001; n++) refusals.note('strangers', `source ${n % 1000}`, () => ({}))
  pass()
  assert.is(lines.length, 2)
  const { count, sources } = lines[1]!.fields
  assert.equal([count, Object.keys(sources as object).length], [100_000, 5])
})

test('a node that drains refuses calls on purpose, which is no warning', () => {
  const { lines, inOrder, refusals, pass } = scene()
  for (let n = 0; n < 2; n++) refusals.note('draining', '192.0.2.1', () => ({}))
  pass()
  assert.equal([lines, inOrder], [[], ['a call was refused', 'calls were refused']])
})

test.run()
