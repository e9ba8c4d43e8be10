import { setTimeout as sleep } from 'node:timers/promises'
import { newUlid } from './chance.ts'

/** So many calls at once, a pause for what follows from them, and another in which nobody needs much but those who really call [ms]. */
const TOGETHER = 4
const PAUSE_MS = 10
/** Share of that pause from which on they are left alone for so long [ms]: what is to be compiled they compile. */
const BUSY = 0.5
const BUSY_MS = 1000

/** After so many most of what a call takes is compiled. */
export const REHEARSED_CALLS = 1000
/** What else a start has to do is done by then [ms]. */
export const REHEARSAL_AFTER_MS = 3000

/** Makes calls of which only this thread knows, beside real ones, which come first. `rest`: what is left to do for those begun. */
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
