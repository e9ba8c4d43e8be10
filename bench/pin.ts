import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { constants, cpus, setPriority } from 'node:os'

/** The core on which the measured process runs, and that of everything else. */
const MEASURED_CORE = 0
const OTHER_CORE = 1

/** Why processes cannot be pinned to cores here; null: they can. */
export function pinProblem(): string | null {
  if (cpus().length < 2) return 'there is one core only'
  return spawnSync('taskset', ['-p', String(process.pid)]).status === 0 ? null : 'taskset is not installed'
}

/**
 * Gives all threads of a process priority over everything else on their core, where the system allows it. The load stands for phones on other
 * machines, so it must not wait for processes here: packets that it sends late would make the jitter buffers grow. Not a real-time priority, since
 * Linux limits the CPU of all such threads (sched(7), `sched_rt_runtime_us`): when the load exceeded that, its sending thread stopped for 26 ms.
 */
export function putFirst(pid: number): void {
  try {
    setPriorityOfAll(pid, constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Not Linux, or not allowed.
  }
}

/** Sets the nice value of all threads that a process has now: Linux accepts the ID of a thread instead of a process. */
export function setPriorityOfAll(pid: number, nice: number): void {
  for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), nice)
}

/** A prefix that starts a command on the measured core, so that it sees a single core and adapts to that, as it would on such a machine. */
export const onMeasuredCore = (): string[] =>
  pinProblem() === null ? ['taskset', '--cpu-list', String(MEASURED_CORE)] : []

/** Pins all threads of a process to one core. */
export function pin(pid: number, to: 'measured' | 'other'): void {
  const core = String(to === 'measured' ? MEASURED_CORE : OTHER_CORE)
  spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', core, String(pid)])
}
