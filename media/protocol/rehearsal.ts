import { setTimeout as sleep } from 'node:timers/promises'
import { newUlid } from './chance.ts'

/** Calls at a time, the pause for what follows from them, and the pause that leaves the processor to real calls [ms]. */
const TOGETHER = 4
const PAUSE_MS = 10
/** Share of that pause from which on they are left alone for so long [ms]: what is to be compiled they compile. */
const BUSY = 0.5
const BUSY_MS = 1000

/** After this many calls, most of the code for a call is compiled. */
export const REHEARSED_CALLS = 1000
/** By then a start has finished its other work [ms]. */
export const REHEARSAL_AFTER_MS = 3000

/** Makes calls within this thread, beside real ones, which take precedence. `rest`: waits for what follows from calls that were begun. */
export async function inTurns(
  calls: number,
  call: (legId: string) => Promise<void>,
  rest: () => unknown = () => {},
): Promise<void> {
  for (let begun = 0; begun < calls; ) {
    const together = Math.min(TOGETHER, calls - begun)
    await Promise.all(Array.from({ length: together }, () => call(`part_${newUlid()}`)))
    begun += together
    await sleep(PAUSE_MS)
    await rest()
    const before = performance.eventLoopUtilization()
    await sleep(PAUSE_MS)
    if (performance.eventLoopUtilization(before).utilization > BUSY) await sleep(BUSY_MS)
  }
}
