import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { constants, cpus, setPriority } from 'node:os'

/** The core of what is measured, and that of everything else. */
export const MEASURED_CORE = 0
const OTHER_CORE = 1

/** Why processes cannot be pinned to cores here, or null. */
export function pinProblem(): string | null {
  if (cpus().length < 2) return 'there is one core only'
  return spawnSync('taskset', ['-p', String(process.pid)]).status === 0 ? null : 'taskset is not installed'
}

/**
 * Puts all threads of a process before whatever else wants their core, where the system allows it: the load is the world outside, whose phones wait
 * for no process of ours. Late packets of its own would make the jitter buffers grow. Not by a real-time priority: what all of those take together is
 * bounded (sched(7), `sched_rt_runtime_us`), and when the load took too much of a second, its thread that speaks stood still for the rest of it, 26 ms.
 */
export function putFirst(pid: number): void {
  try {
    setPriorityOfAll(pid, constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Not Linux, or not allowed.
  }
}

/** Gives all threads that a process has now a priority, in steps of nice(1): Linux accepts a thread's number as a process's. */
export function setPriorityOfAll(pid: number, nice: number): void {
  for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), nice)
}

/** What has a command begin on the core of what is measured, as if there were no other: what it makes of that is measured too. */
export const onMeasuredCore = (): string[] =>
  pinProblem() === null ? ['taskset', '--cpu-list', String(MEASURED_CORE)] : []

/** Keeps all threads of a process on one core, so that a figure is that of one core. */
export function pin(pid: number, to: 'measured' | 'other'): void {
  const core = String(to === 'measured' ? MEASURED_CORE : OTHER_CORE)
  spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', core, String(pid)])
}
