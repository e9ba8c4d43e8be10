import type { Frame } from '../../codecs/audio.ts'

/** Something that can be heard: prompt, hold music, tone, speech. */
export interface Source {
  /** The next 20 ms frame at the room's rate, borrowed until the next pull, or null when it has ended. */
  pull(): Frame | null
}
