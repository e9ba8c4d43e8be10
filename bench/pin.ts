import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'

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
 * for no process of ours. Late packets of its own would make the jitter buffers grow.
 */
export function putFirst(pid: number): void {
  spawnSync('chrt', ['--all-tasks', '--rr', '--pid', '1', String(pid)])
}

/** What has a command begin on the core of what is measured, as if there were no other: what it makes of that is measured too. */
export const onMeasuredCore = (): string[] =>
  pinProblem() === null ? ['taskset', '--cpu-list', String(MEASURED_CORE)] : []

/** Keeps all threads of a process on one core, so that a figure is that of one core. */
export function pin(pid: number, to: 'measured' | 'other'): void {
  const core = String(to === 'measured' ? MEASURED_CORE : OTHER_CORE)
  spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', core, String(pid)])
}
