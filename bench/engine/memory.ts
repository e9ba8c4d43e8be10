import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Phones, type Plan } from './phones.ts'
import { Dry, runFrame } from './subjects.ts'

/** How long legs talk before a measurement, so that all their buffers have been used [frames]. */
const FRAMES = 100
/** Every leg loses the packet of this frame, as any leg does some time, so that the memory of loss concealment counts too. */
const LOST_FRAME = 50
/** How long the thread stalls, so that packets queue up [frames]. */
const STALL_FRAMES = 50

/** Memory on V8's heap, and in buffers outside of it [KB]. */
interface Memory {
  heap: number
  buffers: number
}

/** The memory that is in use, after garbage collection. */
function readMemory(): Memory {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // Buffers outside of the heap are freed only when the next collection begins.
  for (let times = 0; times < 2; times++) collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heap: heapUsed / 1024, buffers: arrayBuffers / 1024 }
}

const less = (more: Memory, less: Memory): Memory => ({
  heap: more.heap - less.heap,
  buffers: more.buffers - less.buffers,
})

/** The memory of a leg after two seconds of talking, and what all legs together keep in addition after the thread has stalled for a second. */
export function legMemoryKb(plan: Plan): { each: Memory; afterStall: Memory } {
  const phones = new Phones(plan)
  // Allocates what all legs share, which does not count.
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
