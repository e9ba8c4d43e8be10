import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { inTurns } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'

const test = suite('media/protocol/rehearsal')

const spin = (ms: number): void => {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test('a thread that has real calls rehearses next to none; one without makes all, each once', async () => {
  const real = setInterval(() => spin(10), 1)
  const begun = new Set<string>()
  let isOver = false
  const rehearsal = inTurns(1000, async legId => {
    if (isOver) throw new Error('over')
    begun.add(legId)
  })
  await sleep(500)
  clearInterval(real)
  isOver = true
  assert.ok(begun.size <= 8, `${begun.size} calls`)
  await rehearsal.then(
    () => assert.unreachable('it would go on'),
    () => {},
  )
  const alone = new Set<string>()
  let rests = 0
  await inTurns(
    10,
    async legId => void alone.add(legId),
    () => rests++,
  )
  assert.equal([alone.size, rests], [10, 3])
})

test.run()
