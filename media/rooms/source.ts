import { addTo, type Frame, faded } from '../../codecs/audio.ts'

/** Something that can be heard: prompt, hold music, tone, speech. */
export interface Source {
  /** The next 20 ms frame at the room's rate, borrowed until the next pull, or null when it has ended. */
  pull(): Frame | null
  /** The one of several sources that the last frame was of. Absent: there is only one. */
  readonly part?: Source | null
  /** The last frame began in the middle of something. Absent: it never does. */
  readonly isMidway?: boolean
  /**
   * Stops where it is, until the next `pull`. Absent: nothing stops it in the middle.
   *
   * @returns what would have come next, borrowed as by `pull`; null: it was at its end
   */
  breakOff?(): Frame | null
}

/**
 * A frame of another source than the one before it, or of none. What was stopped in the middle fades out in it, and what goes on in its middle fades
 * in: a cut would be a click.
 */
export function joined(frame: Frame | null, source: Source | null, before: Source | null): Frame | null {
  const begun = frame !== null && source?.isMidway === true ? faded(frame, 'in') : frame
  const rest = before?.breakOff?.() ?? null
  if (rest === null) return begun
  const ended = faded(rest, 'out')
  if (begun !== null) addTo(ended, begun)
  return ended
}
