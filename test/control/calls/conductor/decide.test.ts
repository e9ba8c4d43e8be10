import * as assert from 'uvu/assert'
import { type LegRows, onPlayFinished } from '../../../../control/calls/conductor/decide.ts'

import { suite } from '../../../harness.ts'

const test = suite('control/calls/conductor/decide')

/** A caller who hears the prompt of its step, `on_hold` as its row says. */
const hearing = (on_hold: number | null): LegRows =>
  ({ call: {}, participant: { step: 'settled', prompted: 0, on_hold }, room: null }) as unknown as LegRows

test('a prompt that has been heard to its end is not played again', () => {
  assert.equal(onPlayFinished(hearing(null), 'settled').participant, { prompted: 1 })
  assert.equal(onPlayFinished(hearing(null), 'another').participant, {})
})

test('a prompt that ends while its caller is put on hold does not make the hold done', () => {
  for (const onHold of [1, 0]) assert.equal(onPlayFinished(hearing(onHold), 'settled').participant, {})
})

test.run()
