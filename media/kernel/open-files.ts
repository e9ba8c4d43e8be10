import { readdirSync, readFileSync } from 'node:fs'

/** Number of files open in a process without calls. */
const WITHOUT_CALLS = 100
/** With fewer it does not start: its own threads and modules take them. */
export const LEAST_FILES = 64
/** Sockets of a call: RTP and RTCP. */
const OF_A_CALL = 2

/** How many files so many calls need. With a lower limit, calls would be refused before the limit of calls is reached. */
export const filesFor = (calls: number): number => WITHOUT_CALLS + OF_A_CALL * calls

/** How many files and sockets this process may have open; null: no limit, or another system than Linux. */
export function openFilesLimit(): number | null {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return limit === null ? null : Number(limit[1])
  } catch {
    return null
  }
}

const limit = openFilesLimit()

/** Gauges: how many files are left, and whether a call still gets its own. Empty if that is not known. */
export function fileGauges(): Record<string, number> {
  if (limit === null) return {}
  const left = Math.max(0, limit - openFiles())
  return { open_files_left: left, files_used_up: left < OF_A_CALL ? 1 : 0 }
}

function openFiles(): number {
  try {
    // Not counting the file by which this is read.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    // No file is left to read it by.
    return Number.POSITIVE_INFINITY
  }
}
