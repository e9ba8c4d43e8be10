import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** CPU that all threads of a process have used so far [ms]. */
export interface Cpu {
  userMs: number
  systemMs: number
  /** When it was read, by the monotonic clock [ms]. */
  at: number
}

const ticksPerSecond = ((): number => {
  try {
    return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  } catch {
    return 100
  }
})()

/** Reads fields 14 and 15 of `/proc/<pid>/stat`, also of a thread (`<pid>/task/<thread>`; proc(5)). The name before them may contain spaces. */
export function readCpu(pid: number | string): Cpu {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ms = (field: number): number => (Number(fields[field - 3]) * 1000) / ticksPerSecond
  return { userMs: ms(14), systemMs: ms(15), at: performance.now() }
}

/** CPU that each thread of a process has used so far, by its ID [ms]. */
export const readThreads = (pid: number): Map<string, number> =>
  new Map(
    readdirSync(`/proc/${pid}/task`).map(thread => {
      const { userMs, systemMs } = readCpu(`${pid}/task/${thread}`)
      return [thread, userMs + systemMs]
    }),
  )

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

/** The running child processes of a process. */
export function childrenOf(pid: number): number[] {
  const parentOf = (child: string): number => {
    try {
      const stat = readFileSync(`/proc/${child}/stat`, 'utf8')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    } catch {
      return 0
    }
  }
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number)
}
