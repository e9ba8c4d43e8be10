import { type Frame, NARROWBAND_HZ, samplesPerFrame } from '../../codecs/audio.ts'

/** `inbound`: what the party said; `outbound`: what it heard (for a room: the mix of all, and what the room itself plays). */
export type Track = 'inbound' | 'outbound'

/**
 * The silent frame that a sink gets in a capture pause, and no other one: who filters what it hears lets nothing of before out of its filter
 * with it. Not to be written to.
 */
export const COVERED: Frame = new Int16Array(samplesPerFrame(NARROWBAND_HZ))

/**
 * Something that listens to a leg or a room without being heard: recorder, stream fork, transcriber. It gets one 20 ms frame per track
 * and tick, silence included. It must not throw, block or keep the frame.
 */
export interface Sink {
  /** What replaces the audio during a capture pause: the frame `COVERED`, or no call at all. The tap decides, once per frame. */
  readonly onPause: 'silence' | 'nothing'
  /** It gets the party's audio as received, because gain and noise suppression are for people. Absent: as others hear it. */
  readonly hearsPlain?: boolean
  /**
   * @param isComfort true: it is comfort noise in place of a party that has fallen silent, which is no voice
   * @param isMissing true: the frame is silent because nothing came from the party, which may be speaking
   */
  write(track: Track, frame: Frame, isComfort?: boolean, isMissing?: boolean): void
  /** The leg or room has ended. Idempotent. */
  close(): void
}
