import * as assert from 'uvu/assert'
import { legMemoryKb } from '../../../bench/engine/memory.ts'
import { suite } from '../../harness.ts'

// Own process: what other tests leave would be collected in between, and counted.

const PLAN = { legs: 300, roomSize: 3 }
/**
 * Of what is alive [KB]. A call's signalling, and what is not collected yet, take as much and half as much again: of the process a leg is to take
 * less than 100.
 */
const MOST = { plain: 26, encrypted: 34 }
/** Of all together: some blocks are kept for whoever comes next [KB]. */
const MOST_AFTER_STALL = 2500

const test = suite('media/rtp/leg-memory')

for (const [kind, most] of Object.entries(MOST)) {
  test(`a leg that talks (${kind}) keeps less than ${most} KB, and hardly more after a stall`, () => {
    const { each, afterStall } = legMemoryKb({ ...PLAN, isEncrypted: kind === 'encrypted' })
    const { heap, buffers } = each
    // It takes some, or it was not there.
    assert.ok(heap > 1 && buffers > 1, `${heap} KB, ${buffers} KB`)
    assert.ok(heap + buffers < most, `${heap} KB of heap, ${buffers} KB beside it`)
    // A second of all their packets is 7,500 KB, with the objects that they are found by.
    assert.ok(afterStall.heap + afterStall.buffers < MOST_AFTER_STALL, JSON.stringify(afterStall))
  })
}

test.run()
