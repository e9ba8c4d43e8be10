import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'

/** What this thread has run, and has waited for a core while it could have run [ns]; then how often (Linux, "sched-stats"). */
const SCHEDULED = '/proc/thread-self/schedstat'

/**
 * How long this thread has been busy so far [s]. On other systems than Linux measured by the event loop, for which sleeping in a system
 * call counts as busy, as a thread does that relays packets.
 */
export function busySeconds(): number {
  try {
    const [ran = 0, waited = 0] = readFileSync(SCHEDULED, 'latin1').split(' ').map(Number)
    return (ran + waited) / 1e9
  } catch {
    return performance.eventLoopUtilization().active / 1000
  }
}
