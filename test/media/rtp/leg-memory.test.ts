import * as assert from 'uvu/assert'
import { legMemoryKb } from '../../../bench/engine/memory.ts'
import { suite } from '../../harness.ts'

// Own process: what other tests leave would be collected in between, and counted.

const PLAN = { legs: 60, roomSize: 3 }

const test = suite('media/rtp/leg-memory')

for (const isEncrypted of [false, true]) {
  test(`${isEncrypted ? 'an encrypted' : 'a plain'} leg that talks takes less than 100 KB`, () => {
    const { heap, buffers } = legMemoryKb({ ...PLAN, isEncrypted })
    // It takes some, or it was not there.
    assert.ok(heap > 1 && buffers > 1, `${heap} KB, ${buffers} KB`)
    assert.ok(heap + buffers < 100, `${heap} KB of heap, ${buffers} KB beside it`)
  })
}

test.run()
