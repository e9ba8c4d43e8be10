import * as assert from 'uvu/assert'
import { legMemoryKb } from '../../../bench/engine/memory.ts'
import { suite } from '../../harness.ts'

// Own process: what other tests leave would be collected in between, and counted.

const PLAN = { legs: 300, roomSize: 3 }
/**
 * Maximum memory in use by a leg [KB]. With the call's signalling and garbage that is not collected yet, which take as much and half as much again, a leg
 * is to take less than 100 of the process.
 */
const MOST = { plain: 26, encrypted: 34 }
/** Maximum for all legs together, since some blocks are kept for later legs [KB]. */
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
