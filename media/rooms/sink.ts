import type { Frame } from '../../codecs/audio.ts'

/** `inbound`: what the party said; `outbound`: what it heard (of a room: the mix of all, and what the room itself plays). */
export type Track = 'inbound' | 'outbound'

/**
 * What listens to a leg or a room without being heard: recorder, stream fork, transcriber. It gets one 20 ms frame per track
 * and tick, silence included. It must not throw, block or keep the frame.
 */
export interface Sink {
  /** What a capture pause puts in place of the audio: silent frames, or no call at all. The tap decides, once, per frame. */
  readonly onPause: 'silence' | 'nothing'
  /** What the party says comes to it as it came: gain and noise suppression are for people. Absent: as others hear it. */
  readonly hearsPlain?: boolean
  write(track: Track, frame: Frame): void
  /** The leg or room is over. Idempotent. */
  close(): void
}
