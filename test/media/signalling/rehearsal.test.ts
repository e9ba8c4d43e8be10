import * as assert from 'uvu/assert'
import { rehearse } from '../../../media/signalling/rehearsal.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/rehearsal')

test('before callers come, calls of which nobody hears are dialled, answered and hung up; the last one stays', async () => {
  const rehearsed = await rehearse(9)
  rehearsed.close()
  const { answered, ended } = rehearsed
  assert.equal([answered, ended], [9, 8])
})

test.run()
