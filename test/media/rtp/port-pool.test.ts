import * as assert from 'uvu/assert'
import { PortPool } from '../../../media/rtp/port-pool.ts'
import { suite } from '../../harness.ts'

const test = suite('media/rtp/port-pool')

test('RTP gets the even ports whose odd neighbour is in the range too (RFC 3550 §11)', () => {
  const pool = new PortPool({ first: 20_001, last: 20_006 })
  assert.equal([pool.allocate(), pool.allocate(), pool.allocate()], [20_002, 20_004, null])
})

test('a released port is used again after all others', () => {
  const pool = new PortPool({ first: 100, last: 107 })
  const first = pool.allocate()!
  pool.release(first)
  assert.equal([pool.allocate(), pool.allocate(), pool.allocate(), pool.allocate()], [102, 104, 106, first])
  assert.is(pool.allocate(), null)
})

test('a port that is not in use cannot be released', () => {
  const pool = new PortPool({ first: 100, last: 103 })
  const port = pool.allocate()!
  pool.release(port)
  pool.release(port)
  pool.release(9_999)
  assert.is(pool.available, 2)
})

test('a range without a pair is exhausted from the start', () => {
  for (const range of [
    { first: 101, last: 102 },
    { first: 10, last: 4 },
    { first: 65_535, last: 70_000 },
  ]) {
    assert.is(new PortPool(range).allocate(), null)
  }
})

test.run()
