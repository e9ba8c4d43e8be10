import * as assert from 'uvu/assert'
import { Clock, newClockFace, readClockFaces, SLOTS } from '../../../media/engine/clock.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/clock')

/** Runs a clock whose time is moved by hand; resolves when `enough` slots have run. */
function runClock(
  steps: (slotsSoFar: number) => number,
  enough: number,
): Promise<{ deadlines: number[]; slots: number[]; clock: Clock }> {
  return new Promise(resolve => {
    let now = 0
    const deadlines: number[] = []
    const slots: number[] = []
    const clock = new Clock(
      (slot, deadline) => {
        deadlines.push(deadline)
        slots.push(slot)
        if (deadlines.length >= enough) {
          clock.stop()
          resolve({ deadlines, slots, clock })
        }
      },
      () => (now += steps(deadlines.length)),
    )
    clock.start()
  })
}

test('deadlines are t0 + n * 5 ms, whatever the lateness of single slots', async () => {
  const { deadlines } = await runClock(count => (count % 3) * 0.7 + 0.1, 40)
  deadlines.forEach((deadline, n) => assert.ok(Math.abs(deadline - deadlines[0]! - n * 5) < 1e-6))
})

test('each 20 ms frame has its slots in order', async () => {
  const { slots } = await runClock(() => 1, 3 * SLOTS)
  assert.equal(
    slots,
    [...Array(3)].flatMap(() => [...Array(SLOTS).keys()]),
  )
})

test('a late tick catches up a bounded number of slots and counts the rest, in whole frames', async () => {
  const { deadlines, slots, clock } = await runClock(count => (count === 8 ? 1000 : 1), 60)
  assert.ok(clock.skipped > 0 && clock.skipped % SLOTS === 0, `${clock.skipped} skipped`)
  assert.ok(clock.late > 0)
  slots.forEach((slot, n) => assert.is(slot, n % SLOTS))
  const leap = Math.max(...deadlines.slice(1).map((deadline, i) => deadline - deadlines[i]!))
  assert.is(Math.round(leap), 5 + clock.skipped * 5)
})

test('in an overload, what is behind is skipped at once, so that what is played between is whole', async () => {
  // Each slot takes a tenth longer than it lasts.
  const { deadlines, clock } = await runClock(() => 5.5, 2000)
  const leaps = deadlines.slice(1).flatMap((deadline, i) => (deadline - deadlines[i]! > 5.1 ? [i] : []))
  const whole = leaps.slice(1).map((at, i) => at - leaps[i]!)
  assert.ok(whole.length > 3, `${leaps}`)
  assert.ok(Math.min(...whole) >= 100, `${whole} slots between two skips`)
  // A tenth of all is lost, whichever way it is skipped.
  assert.ok(clock.skipped / (clock.skipped + clock.slots) < 0.12, `${clock.skipped} of ${clock.slots}`)
})

test('in an overload the thread is not the slots alone: others see how late they are, and commands are carried out meanwhile', async () => {
  let now = 0
  let [slots, slotsAtMost] = [0, 0]
  const face = newClockFace()
  const seen: ReturnType<typeof readClockFaces>[] = []
  await new Promise<void>((resolve, reject) => {
    const clock = new Clock(
      () => {
        seen.push(readClockFaces([face]))
        now += 5.5
        slotsAtMost = Math.max(slotsAtMost, ++slots)
        if (slots > 1000) {
          clock.stop()
          reject(new Error('nothing else had its turn'))
        }
      },
      () => now,
      face,
    )
    clock.start()
    const command = (left: number): void => {
      slots = 0
      if (left > 0) setTimeout(command, 1, left - 1)
      else {
        clock.stop()
        resolve()
      }
    }
    now = 5
    command(200)
  })
  assert.ok(seen.length > 100 && slotsAtMost <= 2 * 40, `${seen.length} slots, ${slotsAtMost} of them at once`)
  seen.slice(1).forEach((one, n) => assert.is(one.slots, n + 1, 'shown after each slot'))
  const { late, slots: ran, inSlotsMs } = seen.at(-1)!
  assert.ok(late > 0.9 * ran, `${late} of ${ran} are late`)
  assert.ok(inSlotsMs[0]! > 0.95 * (now - 5), `${inSlotsMs} of ${now} ms in slots`)
})

test('stalls that follow each other are caught up with like the first one', async () => {
  const { deadlines, clock } = await runClock(count => (count % 60 === 30 ? 200 : 1), 400)
  const leaps = deadlines.slice(1).map((deadline, i) => Math.round(deadline - deadlines[i]!))
  const skips = leaps.filter(leap => leap > 5)
  assert.ok(skips.length > 3, `${skips}`)
  // Of each stall of 200 ms, 100 are played.
  for (const skip of skips) assert.ok(skip <= 105 + 20, `${skips}`)
  assert.is(clock.skipped % SLOTS, 0)
})

test('slots are counted: all that ran, and those more than 2 ms and more than 5 ms behind', async () => {
  const { clock } = await runClock(count => (count === 8 ? 12 : 1), 20)
  assert.is(clock.slots, 20)
  assert.ok(
    clock.behind >= clock.late && clock.late > 0 && clock.behind < 20,
    `${clock.behind} behind, ${clock.late} late`,
  )
})

test('each slot that ran is in the histogram of lateness, in seconds', async () => {
  const { clock } = await runClock(count => (count === 8 ? 12 : 0.1), 20)
  const { bounds, counts, sum, count } = clock.lateness.histogram
  assert.is(count, 20)
  assert.is(bounds[4], 0.005)
  const within = (bound: number): number => counts.slice(0, bounds.indexOf(bound) + 1).reduce((all, n) => all + n, 0)
  assert.is(within(0.002), 20 - clock.behind)
  assert.is(within(0.005), 20 - clock.late)
  assert.ok(sum > 0.005 && sum < 0.1, `${sum}`)
})

test('a slot wakes the thread once', async () => {
  const looks: number[] = []
  const slots = 40
  await new Promise<void>(resolve => {
    let ran = 0
    const clock = new Clock(
      () => {
        if (++ran < slots) return
        clock.stop()
        resolve()
      },
      () => {
        looks.push(ran)
        return performance.now()
      },
    )
    clock.start()
  })
  // For its timer, when that fires, and after the slot.
  assert.ok(looks.length < 3.5 * slots, `${looks.length} looks at the time for ${slots} slots`)
})

test('a stopped clock runs no slot', async () => {
  let ran = 0
  const clock = new Clock(
    () => ran++,
    () => performance.now(),
  )
  clock.start()
  clock.stop()
  await new Promise(resolve => setTimeout(resolve, 20))
  assert.is(ran, 0)
})

test.run()
