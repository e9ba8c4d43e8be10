import * as assert from 'uvu/assert'
import { ReadingShare } from '../../../media/kernel/reading-share.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/reading-share')

/** Reads for so long whenever it may, each piece this long [ms]. @returns how long it was read, and the longest at once */
function read(forMs: number, pieceMs: number): { readMs: number; mostAtOnceMs: number } {
  const share = new ReadingShare()
  let [now, readMs, atOnceMs, mostAtOnceMs] = [1000, 0, 0, 0]
  while (now < 1000 + forMs) {
    const rest = share.took(now, now + pieceMs)
    now += pieceMs
    readMs += pieceMs
    atOnceMs += pieceMs
    mostAtOnceMs = Math.max(mostAtOnceMs, atOnceMs)
    if (rest === null) continue
    atOnceMs = 0
    now += Math.max(rest, 1)
  }
  return { readMs, mostAtOnceMs }
}

test('a receiver that sends without end is read for 2 ms at once, and for a twentieth of the time behind the first 200 ms', () => {
  const { readMs, mostAtOnceMs } = read(60_000, 0.3)
  assert.ok(mostAtOnceMs < 2.4, `${mostAtOnceMs} ms at once`)
  assert.ok(readMs > 3100 && readMs < 3300, `${readMs} ms in a minute`)
})

test('a long message is read whole, and rested for', () => {
  const share = new ReadingShare()
  assert.is(share.took(1000, 1020), 0)
  assert.is(share.took(1100, 1450), 500)
  assert.is(share.took(10_000, 10_001), null)
})

test('live audio is never waited for: 300 messages a second that take 0.1 ms each', () => {
  const share = new ReadingShare()
  for (let n = 0; n < 30_000; n++) assert.is(share.took(1000 + (n * 1000) / 300, 1000.1 + (n * 1000) / 300), null)
})

test.run()
