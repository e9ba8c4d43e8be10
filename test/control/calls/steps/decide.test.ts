import * as assert from 'uvu/assert'
import { type LegRows, onPlayFinished } from '../../../../control/calls/steps/decide.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/calls/steps/decide')

const played = (playId: string) => ({ legId: 'leg', playId, ended: 'played' as const, heardMs: 1000 })

/** A caller who hears the prompt of its step, `on_hold` as its row says. */
const hearing = (on_hold: number | null): LegRows =>
  ({ call: {}, participant: { step: 'settled', prompted: 0, on_hold }, room: null }) as unknown as LegRows

test('a prompt that has been heard to its end is not played again', () => {
  assert.equal(onPlayFinished(hearing(null), played('settled')).participant, { prompted: 1 })
  assert.equal(onPlayFinished(hearing(null), played('another')).participant, {})
})

test('a prompt that was noted as heard is not noted again when it ends', () => {
  const rows = hearing(null)
  rows.participant.prompted = 1
  assert.equal(onPlayFinished(rows, played('settled')).participant, {})
})

test('a prompt that ends while its caller is put on hold does not make the hold done', () => {
  for (const onHold of [1, 0]) assert.equal(onPlayFinished(hearing(onHold), played('settled')).participant, {})
})

test.run()
