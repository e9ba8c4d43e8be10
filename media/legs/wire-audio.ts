import type { Frame } from '../../codecs/audio.ts'
import type { CodecName } from '../protocol.ts'
import type { JitterBuffer } from '../rtp/jitter.ts'
import type { RtpPacket } from '../rtp/rtp.ts'
import type { LegMedia } from './leg-media.ts'

/**
 * The audio of a leg's wire: a codec with the buffer of what comes, what makes up for losses, and the packets that go out. A tick takes
 * one frame out and puts one in. Nothing here knows of addresses, keys or encryption.
 */
export interface WireAudio {
  readonly codec: CodecName
  /** Of timestamps on the wire. */
  readonly clockRateHz: number
  /** Units of that clock in one tick. */
  readonly frameUnits: number
  readonly jitter: JitterBuffer
  /** It is of 16 kHz: there is something above 4 kHz. */
  readonly isWide: boolean
  /** That of the last `pull`, where it was wanted; null: nothing. */
  readonly upper: Frame | null
  /** Its listener hears what comes in `push`; false: packets mean nothing by themselves, what is played is to be heard. */
  readonly isHeardOnWire: boolean
  /** Packets that were none of this codec. */
  readonly refused: number
  /** The last packet that was made; its first bytes, as many as was answered, are to be sent. */
  readonly sent: Uint8Array

  /**
   * A description was agreed on, the first or another one. What waits becomes of the new codec where that can be, so that nothing is heard
   * of the change. @returns false: this cannot become what was agreed on, and another is to be made
   */
  agree(media: LegMedia, now: number): boolean
  /** Whether packets of this payload type carry its audio. */
  carries(payloadType: number, now: number): boolean
  /** A timestamp of the wire in units of 8 kHz, which all counting is done in; to be asked once for each packet. */
  timestampOf(timestamp: number): number
  /** Takes a packet that it `carries`; it may write to the payload. @param timestamp in units of 8 kHz */
  push(packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void
  /** Notes a packet of the same source that carries no audio. */
  skip(sequence: number): void
  /** The next frame, borrowed until the next call; null: silence. To be called once per tick. @param isUpperWanted what is above 4 kHz, too */
  pull(now: number, isUpperWanted: boolean): Frame | null
  /**
   * Adds a frame to what is sent; null: silence. `encoded`: the same in its law, where it has one. `upper`: what of it is above 4 kHz.
   *
   * @returns length of the packet that is full now [bytes], or 0
   */
  add(frame: Frame | null, encoded: Uint8Array | null, upper: Frame | null): number
  /** Finishes a packet that is not full. @returns its length [bytes], or 0 */
  flush(): number
  /** What was begun is not sent. */
  drop(): void
  /** A fax or a modem talks: nothing is made up, and nothing played faster or slower, from now on. Absent: the codec is of no use to one. */
  leaveAlone?(): void
  /**
   * Packets are to go on as they come: hands over what waits, a packet's worth at a time, and is empty then. Absent: those of the codec cannot.
   *
   * @returns false: what waits does not just go on from what was played, and nothing has happened
   */
  handOver?(take: (octets: Uint8Array) => void): boolean
  /** What `push` does besides keeping the packet: it becomes of this law, and its listener hears it. */
  hear?(packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void
  /** Another source: nothing goes on. */
  reset(): void
}
