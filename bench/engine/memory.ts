import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Phones, type Plan } from './phones.ts'
import { Dry, runFrame } from './subjects.ts'

/** Long enough that buffers have been used [frames]. */
const FRAMES = 100
/** As each leg loses a packet some time: what it is concealed with is no leg's. */
const LOST_FRAME = 50

/** What legs take of the heap and beside it [KB each], after a few seconds of talking. */
export function legMemoryKb(plan: Plan): { heap: number; buffers: number } {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const phones = new Phones(plan)
  // What all legs share is not theirs.
  runFrame(new Dry('warm-up', { ...plan, legs: plan.roomSize }, 0), phones, 0)
  collect()
  const before = process.memoryUsage()
  const legs = new Dry('legs', plan, 0)
  for (let frame = 0; frame < FRAMES; frame++) {
    legs.isDeaf = frame === LOST_FRAME
    runFrame(legs, phones, frame)
  }
  collect()
  const after = process.memoryUsage()
  legs.close()
  const each = (of: 'heapUsed' | 'arrayBuffers'): number => (after[of] - before[of]) / 1024 / plan.legs
  return { heap: each('heapUsed'), buffers: each('arrayBuffers') }
}
