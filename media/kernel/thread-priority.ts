import { getPriority, setPriority } from 'node:os'

/** How far a thread of audio is before all others of media, in steps of nice(1): while it waits for a core, every call on it is late. */
const AUDIO_AHEAD = 10
const FOREMOST = -20

/** Scheduling policies of sched(7). */
const SCHED_OTHER = 0
const SCHED_RR = 2
/** Threads created by this one do not inherit its real-time priority. Clearing this flag would need a capability. */
const SCHED_RESET_ON_FORK = 0x40000000
/** Real-time priorities of audio threads, and of a thread that hands something over to them. Kernel threads for devices have 50. */
const AUDIO = 10
const OVER_AUDIO = 11

/** Runs `send`, which wakes an audio thread. */
export type HandOver = (send: () => void) => void

/**
 * Raises this thread above the others of its process, if the process itself is above other programs; otherwise the operator wants it as it
 * is. On Linux each thread has its own priority, and an audio thread gets a core as soon as it has something to do, however busy the
 * machine is (SCHED_RR).
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
 * Returns how this thread hands something over to an audio thread. A message port holds its lock while it wakes the receiver, which runs at
 * once and waits for the lock. Any thread with a higher priority than ours then runs first, and audio waits for all of them (seen: 5 to 47
 * ms). So our priority is raised meanwhile: the priority ceiling protocol, as with PTHREAD_PRIO_PROTECT.
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

/** Gives this thread the priority of its process, since it has inherited that of its creator, an audio thread. */
export const workAmongOthers = (): void => setOwn(getPriority(process.pid))

function setOwn(nice: number): void {
  try {
    setPriority(nice)
  } catch {
    // This process lacks the capability CAP_SYS_NICE.
  }
}

/** Sets how this thread is scheduled; false: the capability CAP_SYS_NICE is missing. */
type Scheduler = (policy: number, priority: number) => boolean

/** Null: not available on this system. */
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
