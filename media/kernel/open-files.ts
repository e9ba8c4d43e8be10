import { readFileSync } from 'node:fs'

/** What a process without calls has open. */
const WITHOUT_CALLS = 100
/** RTP and RTCP. */
const OF_A_CALL = 2

/** Without them calls are refused before the limit of calls is reached. */
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
