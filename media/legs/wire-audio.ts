import type { Frame } from '../../codecs/audio.ts'
import type { CodecName } from '../protocol.ts'
import type { JitterBuffer } from '../rtp/jitter.ts'
import type { RtpPacket } from '../rtp/rtp.ts'
import type { LegMedia } from './leg-media.ts'

/**
 * Audio on a leg's wire: a codec with its jitter buffer, loss concealment, and outgoing packets. A tick takes
 * one frame out and puts one in. Addresses, keys and encryption are handled elsewhere.
 */
export interface WireAudio {
  readonly codec: CodecName
  /** Clock rate of timestamps on the wire. */
  readonly clockRateHz: number
  /** Units of that clock in one tick. */
  readonly frameUnits: number
  readonly jitter: JitterBuffer
  /** What has left that and is not played yet [samples of 8 kHz]. */
  readonly waiting: number
  /** It has 16 kHz: there is audio above 4 kHz. */
  readonly isWide: boolean
  /** Samples of 8 kHz at its beginning in which nothing is heard yet, or not all of it. Absent: none. */
  readonly leadIn?: number
  /** The upper band of the last `pull`, if wanted; null: none. */
  readonly upper: Frame | null
  /** Its listener hears packets in `push`, at present; false: it hears what is played. */
  readonly isHeardOnWire: boolean
  /** Packets that were not of this codec. */
  readonly refused: number
  /** The last packet; send as many of its first bytes as returned. */
  readonly sent: Uint8Array
  /** Another packet is ready behind the one that `add` has told of: `flush` makes it. */
  readonly isFull: boolean

  /**
   * A description was agreed on, the first or another one. Waiting audio is transcoded if possible, so that the change is inaudible.
   * @param follows its first frame continues what another instance has sent
   * @returns false: this instance cannot be changed to the new codec, and another one is needed
   */
  agree(media: LegMedia, now: number, follows?: boolean): boolean
  /** Whether packets of this payload type carry its audio. */
  carries(payloadType: number, now: number): boolean
  /** Converts a timestamp of the wire to units of 8 kHz, in which everything is counted; to be called once per packet. */
  timestampOf(timestamp: number): number
  /** Takes a packet that it `carries`; it may overwrite the payload. @param timestamp in units of 8 kHz */
  push(packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void
  /** Notes a packet of the same source without audio. */
  skip(sequence: number): void
  /** The next frame, borrowed until the next call; null: silence. To be called once per tick. @param isUpperWanted with the upper band */
  pull(now: number, isUpperWanted: boolean): Frame | null
  /**
   * What the codec itself makes of a pause in which the sender leaves packets out (DTX): its comfort noise, borrowed as by `pull`; null: silence.
   * To be called after a `pull` that returned null. Absent: it makes nothing of it.
   */
  rest?(isUpperWanted: boolean): Frame | null
  /**
   * Adds a frame to the output; null: silence. `encoded`: the same in its law, if there is one. `upper`: the part above 4 kHz.
   *
   * @returns length of the packet that is now full [bytes], or 0
   */
  add(frame: Frame | null, encoded: Uint8Array | null, upper: Frame | null): number
  /** Finishes a partial packet. @returns its length [bytes], or 0 */
  flush(): number
  /** Discards the unfinished packet. */
  drop(): void
  /** Another codec follows: what is missing continues what was heard until that begins. Absent: it always does. */
  ends?(): void
  /** For fax and modems: no concealment and a fixed playout speed from now on. Absent: the codec is useless for them. */
  leaveAlone?(): void
  /**
   * Packets are to be relayed as they come: returns what waits, a packet's worth at a time, until it is empty. Absent: the codec does not
   * support this.
   *
   * @returns false: the waiting audio does not continue what was played, and nothing has happened
   */
  handOver?(take: (octets: Uint8Array) => void): boolean
  /** After `handOver`: forgets what was played. Its listener hears on: a key may be down. */
  passes?(): void
  /** What is played is not what was sent: its listener is to hear packets for a while. Absent: it always does, or cannot. @param madeUp frames at the end of what was played */
  hearWire?(madeUp: number, now: number): void
  /** To be called a few times a second. Absent: nothing waits to be heard by its listener. */
  settle?(now: number): void
  /** What would follow the packets that were relayed, once another codec follows; null: not known. Absent: it is never relayed. */
  guess?(): Frame | null
  /** What `push` does besides storing the packet: it transcodes it to this law, and passes it to its listener. */
  hear?(packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void
  /** Another source: nothing continues. */
  reset(): void
}
