import { getPriority, setPriority } from 'node:os'

/** How far a thread of audio is before all others of media, in steps of nice(1): while it waits for a core, every call on it is late. */
const AUDIO_AHEAD = 10
const FOREMOST = -20

/**
 * Puts this thread before the others of its process, if that is before other programs itself: else the operator wants it so. On Linux each
 * thread has a priority of its own.
 */
export function comeForwardForAudio(): void {
  const ofAll = getPriority()
  if (ofAll < 0) setOwn(Math.max(FOREMOST, ofAll - AUDIO_AHEAD))
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
