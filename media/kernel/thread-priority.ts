import { getPriority, setPriority } from 'node:os'

/** How far a thread of audio is before all others of media, in steps of nice(1): while it waits for a core, every call on it is late. */
const AUDIO_AHEAD = 10
const FOREMOST = -20

/** Of sched(7). */
const SCHED_OTHER = 0
const SCHED_RR = 2
/** Threads that this one makes do not inherit its real-time priority. To take this back would take a right. */
const SCHED_RESET_ON_FORK = 0x40000000
/** Real-time priorities: threads of audio, and who hands something over to them. Threads of the kernel that serve devices have 50. */
const AUDIO = 10
const OVER_AUDIO = 11

/** Does what wakes a thread of audio: `send`. */
export type HandOver = (send: () => void) => void

/**
 * Puts this thread before the others of its process, if that is before other programs itself: else the operator wants it so. On Linux each
 * thread has a priority of its own, and one of audio gets a core as soon as it has something to do, however busy the machine is (SCHED_RR).
 */
export async function comeForwardForAudio(): Promise<void> {
  const ofAll = getPriority()
  if (ofAll >= 0) return
  setOwn(Math.max(FOREMOST, ofAll - AUDIO_AHEAD))
  await becomeRealTime(AUDIO)
}

/** Gives this thread a real-time priority, 1 to 99. Nothing happens where the system does not allow it. */
export async function becomeRealTime(priority: number): Promise<void> {
  const schedule = await loadScheduler()
  schedule?.(SCHED_RR | SCHED_RESET_ON_FORK, priority)
}

/**
 * How this thread hands something over to a thread of audio. A message port holds its lock while it wakes the receiver, who comes forward at once
 * and waits for the lock; whoever is before us then runs first, and audio waits for all of them (seen: 5 to 47 ms). So nobody overtakes us meanwhile: the
 * priority ceiling protocol, as of PTHREAD_PRIO_PROTECT.
 */
export async function loadHandOver(): Promise<HandOver> {
  const schedule = getPriority() < 0 ? await loadScheduler() : null
  if (schedule === null) return send => send()
  return send => {
    const isForward = schedule(SCHED_RR, OVER_AUDIO)
    try {
      send()
    } finally {
      if (isForward) schedule(SCHED_OTHER, 0)
    }
  }
}

/** Puts this thread among the others of its process: it has inherited the place of its maker, a thread of audio. */
export const workAmongOthers = (): void => setOwn(getPriority(process.pid))

function setOwn(nice: number): void {
  try {
    setPriority(nice)
  } catch {
    // It takes a right (CAP_SYS_NICE) that we have not got.
  }
}

/** Sets how this thread is scheduled; false: it takes a right (CAP_SYS_NICE). */
type Scheduler = (policy: number, priority: number) => boolean

/** null: not on this system. */
async function loadScheduler(): Promise<Scheduler | null> {
  if (process.platform !== 'linux') return null
  try {
    const { default: koffi } = await import('koffi')
    const call = koffi.load(null).func('int sched_setscheduler(int, int, const int *)')
    const parameters = new Int32Array(1)
    return (policy, priority) => {
      parameters[0] = priority
      return call(0, policy, parameters) === 0
    }
  } catch {
    return null
  }
}
