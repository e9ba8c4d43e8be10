import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Phones, type Plan } from './phones.ts'
import { Dry, runFrame } from './subjects.ts'

/** Long enough that buffers have been used [frames]. */
const FRAMES = 100
/** As each leg loses a packet some time: what it is concealed with is no leg's. */
const LOST_FRAME = 50
/** For so long the thread stands still, and packets gather [frames]. */
const STALL_FRAMES = 50

/** On the heap and beside it [KB]. */
interface Memory {
  heap: number
  buffers: number
}

/** What is alive. */
function readMemory(): Memory {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // What is beside the heap is freed while the next one begins.
  for (let times = 0; times < 2; times++) collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heap: heapUsed / 1024, buffers: arrayBuffers / 1024 }
}

const less = (more: Memory, less: Memory): Memory => ({
  heap: more.heap - less.heap,
  buffers: more.buffers - less.buffers,
})

/** What legs take each, after a few seconds of talking, and what they all keep in addition once the thread has stood still for a second. */
export function legMemoryKb(plan: Plan): { each: Memory; afterStall: Memory } {
  const phones = new Phones(plan)
  // What all legs share is not theirs.
  runFrame(new Dry('warm-up', { ...plan, legs: plan.roomSize }, 0), phones, 0)
  const before = readMemory()
  const legs = new Dry('legs', plan, 0)
  let frame = 0
  const run = (frames: number): void => {
    for (const end = frame + frames; frame < end; frame++) {
      legs.isDeaf = frame === LOST_FRAME
      runFrame(legs, phones, frame)
    }
  }
  run(FRAMES)
  const talking = readMemory()
  legs.isStalled = true
  run(STALL_FRAMES)
  legs.isStalled = false
  run(FRAMES)
  const afterStall = less(readMemory(), talking)
  legs.close()
  const all = less(talking, before)
  return { each: { heap: all.heap / plan.legs, buffers: all.buffers / plan.legs }, afterStall }
}
