import { setTimeout as sleep } from 'node:timers/promises'

/** So many at once, and a pause in which everybody else gets their turn [ms]. */
const TOGETHER = 4
const PAUSE_MS = 10

export interface RehearsalOptions {
  /** After so many most of what a call takes is compiled. */
  calls: number
  /** What else a start has to do is done by then [ms]. */
  afterMs: number
}

export const REHEARSAL: RehearsalOptions = { calls: 1000, afterMs: 3000 }

/** Makes calls of which only this thread knows, beside those of others. `rest`: to be done in each pause. */
export async function inTurns(
  { calls, afterMs }: RehearsalOptions,
  call: (id: string) => Promise<void>,
  rest: () => void = () => {},
): Promise<void> {
  await sleep(afterMs)
  for (let begun = 0; begun < calls; ) {
    for (const end = Math.min(calls, begun + TOGETHER); begun < end; begun++) await call(`rehearsal_${begun}`)
    await sleep(PAUSE_MS)
    rest()
  }
}
