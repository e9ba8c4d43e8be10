import * as assert from 'uvu/assert'
import { callerNumber } from '../../../control/campaigns/caller-numbers.ts'
import { suite } from '../../harness.ts'

const test = suite('control/campaigns/caller-numbers')
const POOL = ['+14155559001', '+14155559002', '+12125559003', '+442075559004', '+436641234567']

const froms = (to: string, isLocal = true): (string | null)[] =>
  Array.from({ length: 5 }, (_, turn) => callerNumber(POOL, { to, turn, isLocal }))

test('with local presence a call is from the number of its country that begins most like it, those alike in turn', () => {
  assert.equal(froms('+14155550101').slice(0, 3), [POOL[0], POOL[1], POOL[0]])
  assert.equal(new Set(froms('+12125550101')), new Set([POOL[2]]))
  assert.equal(new Set(froms('+442079460000')), new Set([POOL[3]]))
  // An area that none is of: one of the country all the same.
  for (const from of froms('+18005550101')) assert.ok(from!.startsWith('+1'), String(from))
})

test('a country that none is of gets each in turn, also where its code begins like another; so does everybody without local presence', () => {
  assert.equal(froms('+33140000000'), POOL)
  // 49 is Germany, 44 the United Kingdom, 43 Austria.
  assert.equal(froms('+493012345678'), POOL)
  assert.equal(froms('+14155550101', false), POOL)
  assert.is(callerNumber([], { to: '+14155550101', turn: 0, isLocal: true }), null)
})

test.run()
