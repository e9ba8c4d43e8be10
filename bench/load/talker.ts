import { RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/rtp.ts'
import { MARK_PLACES, writeMark } from './mark.ts'
import { writeWideMark } from './wide-mark.ts'

const FRAME_SAMPLES = 160
const SILENCE = 0xff
/** In a room of more than ten, ten talk at a time, for so long [frames]. */
const TURN_FRAMES = 50
/** Nobody speaks without pauses, and a jitter buffer shortens itself in them: one frame in so many is silent. */
const PAUSE_EVERY = 25
/** When frames were sent is remembered for so many of each leg. */
const SENT_FRAMES = 1024

/** The packets of all legs: every leg sends every 20 ms, and says its mark when it is its turn. */
export class Talkers {
  readonly packet = new Uint8Array(RTP_HEADER_BYTES + FRAME_SAMPLES)
  /** The highest frame number that any leg has sent. */
  latest = 0
  readonly #roomSize: number
  readonly #turns: number
  readonly #sentAt: Float64Array
  readonly #header = { marker: false, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0 }

  constructor(legs: number, roomSize: number) {
    this.#roomSize = roomSize
    this.#turns = Math.ceil(roomSize / MARK_PLACES)
    this.#sentAt = new Float64Array(legs * SENT_FRAMES)
  }

  /** Whether a leg talks in a frame. */
  talks(leg: number, frame: number): boolean {
    const turn = Math.floor((leg % this.#roomSize) / MARK_PLACES)
    if ((frame + leg) % PAUSE_EVERY === 0) return false
    return Math.floor(frame / TURN_FRAMES) % this.#turns === turn
  }

  /** Makes the packet of a leg's frame in `packet`, to be sent at `now` [ms]. */
  write(leg: number, frame: number, now: number): void {
    const { packet } = this
    const header = this.#header
    this.latest = Math.max(this.latest, frame)
    header.marker = frame === 0
    header.sequence = frame & 0xffff
    header.timestamp = (frame * FRAME_SAMPLES) >>> 0
    header.ssrc = leg + 1
    writeRtpHeader(packet, header)
    packet.fill(SILENCE, RTP_HEADER_BYTES)
    if (this.#roomSize === 1) writeWideMark(packet, RTP_HEADER_BYTES, frame)
    else if (this.talks(leg, frame)) {
      writeMark(packet, RTP_HEADER_BYTES, (leg % this.#roomSize) % MARK_PLACES, leg, frame)
    }
    this.#sentAt[leg * SENT_FRAMES + (frame % SENT_FRAMES)] = now
  }

  /** When a frame was sent [ms]; right for the last 20 s. */
  sentAt(leg: number, frame: number): number {
    return this.#sentAt[leg * SENT_FRAMES + (frame % SENT_FRAMES)]!
  }
}
