import { readdirSync, writeFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/**
 * Of a process that computes speech, as nice(1) counts: any thread of its maker's that has a frame to send goes first. No more, or a machine that
 * is busy with other things takes minutes to load the models.
 */
const BEHIND = 2
/** When memory runs out the system ends this process before any that carries calls; 1000 is the most. */
const OOM_SCORE = 500

/**
 * Puts this process, with the threads that it has and those that they start, behind the audio, where the system can: Linux takes a
 * thread's number for a process's, and gives new threads what their maker has.
 */
export function workInBackground(): void {
  try {
    const nice = getPriority() + BEHIND
    for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), nice)
    writeFileSync('/proc/self/oom_score_adj', String(OOM_SCORE))
  } catch {
    // Another system: its scheduler does what it does.
  }
}
