import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** CPU that a process has used so far, all of its threads [ms]. */
export interface Cpu {
  userMs: number
  systemMs: number
  /** When it was read, monotonic [ms]. */
  at: number
}

const ticksPerSecond = ((): number => {
  try {
    return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  } catch {
    return 100
  }
})()

/** Reads `/proc/<pid>/stat` (proc(5)): fields 14 and 15, counted after the name, which may hold spaces. */
export function readCpu(pid: number): Cpu {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ms = (field: number): number => (Number(fields[field - 3]) * 1000) / ticksPerSecond
  return { userMs: ms(14), systemMs: ms(15), at: performance.now() }
}

/** CPU between two readings [ms per second]. */
export interface CpuRate {
  user: number
  system: number
  total: number
}

export function cpuRate(before: Cpu, after: Cpu): CpuRate {
  const seconds = (after.at - before.at) / 1000
  const user = (after.userMs - before.userMs) / seconds
  const system = (after.systemMs - before.systemMs) / seconds
  return { user, system, total: user + system }
}
