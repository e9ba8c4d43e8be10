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

const test = suite('media/rtp/leg-memory')

for (const [kind, most] of Object.entries(MOST)) {
  test(`a leg that talks (${kind}) keeps less than ${most} KB`, () => {
    const { heap, buffers } = legMemoryKb({ ...PLAN, isEncrypted: kind === 'encrypted' })
    // It takes some, or it was not there.
    assert.ok(heap > 1 && buffers > 1, `${heap} KB, ${buffers} KB`)
    assert.ok(heap + buffers < most, `${heap} KB of heap, ${buffers} KB beside it`)
  })
}

test.run()
