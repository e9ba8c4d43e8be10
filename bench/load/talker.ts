import { PCMU } from '../../codecs/g711.ts'
import { DTMF_EVENT_BYTES, DtmfEventWriter } from '../../media/rtp/dtmf-events.ts'
import { emptyBlock } from '../../media/rtp/reception-stats.ts'
import { RTCP_BUFFER_BYTES, rtcpIntervalMs, writeReport } from '../../media/rtp/rtcp.ts'
import { RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/rtp.ts'
import { seededNoise } from '../hearing/noises.ts'
import { Ledger, type Saying } from './ledger.ts'
import { writeMark } from './mark.ts'
import { FRAME_SAMPLES } from './mark-reader.ts'

/** Payload type of telephone events (RFC 4733) in our calls' offers. */
export const EVENT_PAYLOAD_TYPE = 101
const KEY = '8'
/** A leg presses a key once in two minutes [frames]. */
const KEY_EVERY = 6000
const KEY_MS = 160
/** RMS of the background noise, -60 dBov, and of noise that stands for a voice. */
const NOISE_RMS = 32.8
const VOICE_RMS = 1500
const POOL_SAMPLES = 16_384

/** White noise in µ-law. Its distribution is nearly normal: the sum of four uniform ones. */
function noisePool(rms: number, seed: number): Buffer {
  const random = seededNoise(seed)
  const octets = Buffer.alloc(POOL_SAMPLES)
  // Each of the four has a variance of a third.
  const scale = rms / Math.sqrt(4 / 3)
  const samples = Int16Array.from(octets, () => Math.round(scale * (random() + random() + random() + random())))
  PCMU.encode(samples, octets)
  return octets
}

/** The sending state of one leg. */
class Voice {
  /** RFC 3550 §5.1: both start at random. */
  readonly firstSequence: number
  readonly firstTimestamp: number
  readonly ssrc: number
  readonly keys = new DtmfEventWriter()
  readonly keyAt: number
  packets = 0
  octets = 0
  reportAt: number

  constructor(leg: number, now: number) {
    const random = seededNoise(leg + 77)
    this.firstSequence = Math.floor((random() + 1) * 0x7fff)
    this.firstTimestamp = Math.floor((random() + 1) * 0x7fffffff)
    this.ssrc = Math.floor((random() + 1) * 0x7fffffff) + leg
    this.keyAt = Math.floor(((random() + 1) / 2) * KEY_EVERY)
    this.reportAt = now + rtcpIntervalMs(Math.random(), true)
  }
}

/** Makes the packets of all legs: every 20 ms a frame with a mark, a voice or background noise, sometimes a key instead, and RTCP reports. */
export class Talkers {
  /** The last packet of `write`. */
  packet: Buffer = Buffer.alloc(0)
  /** The last report of `report`. */
  readonly reports = new Uint8Array(RTCP_BUFFER_BYTES)
  readonly #audio = Buffer.alloc(RTP_HEADER_BYTES + FRAME_SAMPLES)
  readonly #event = Buffer.alloc(RTP_HEADER_BYTES + DTMF_EVENT_BYTES)
  readonly #noise = noisePool(NOISE_RMS, 1)
  readonly #voice = noisePool(VOICE_RMS, 2)
  readonly #voices: Voice[]
  readonly #ledger: Ledger
  readonly #header = { marker: false, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0 }
  readonly #block = emptyBlock()

  /** @param now the time by the clock of `report` [ms] */
  constructor(legs: number, ledger = new Ledger(legs), now = performance.now()) {
    this.#voices = Array.from({ length: legs }, (_, leg) => new Voice(leg, now))
    this.#ledger = ledger
  }

  /** Makes the packet of a leg's frame in `packet`, to be sent at `now` [ms]. @returns whether it has a mark */
  write(leg: number, frame: number, saying: Saying, now: number): boolean {
    const voice = this.#voices[leg]!
    if (frame % KEY_EVERY === voice.keyAt) voice.keys.enqueue(KEY, KEY_MS)
    const timestamp = (voice.firstTimestamp + frame * FRAME_SAMPLES) >>> 0
    const isKey = voice.keys.tick(timestamp)
    if (isKey) this.#key(voice, frame, timestamp)
    else {
      this.#say(leg, frame, saying)
      this.#head(voice, this.#audio, frame, { marker: frame === 0, payloadType: 0, timestamp })
    }
    voice.packets++
    voice.octets += this.packet.length - RTP_HEADER_BYTES
    this.#ledger.say(leg, frame, isKey ? 'key' : saying, now)
    return saying === 'marks' && !isKey
  }

  #say(leg: number, frame: number, saying: Saying): void {
    const pool = saying === 'voice' ? this.#voice : this.#noise
    const from = Math.imul(leg * 31 + frame, 97) & (POOL_SAMPLES / 2 - 1)
    pool.copy(this.#audio, RTP_HEADER_BYTES, from, from + FRAME_SAMPLES)
    if (saying === 'marks') writeMark(this.#audio, RTP_HEADER_BYTES, leg, frame)
  }

  /** Makes the packet of a key; in the gap after it, one with noise. */
  #key(voice: Voice, frame: number, timestamp: number): void {
    const { send, marker, timestamp: startedAt, payload } = voice.keys.packet
    if (!send) {
      this.#say(0, frame, 'silence')
      this.#head(voice, this.#audio, frame, { marker: false, payloadType: 0, timestamp })
      return
    }
    this.#event.set(payload, RTP_HEADER_BYTES)
    this.#head(voice, this.#event, frame, { marker, payloadType: EVENT_PAYLOAD_TYPE, timestamp: startedAt })
  }

  #head(
    voice: Voice,
    packet: Buffer,
    frame: number,
    { marker, payloadType, timestamp }: { marker: boolean; payloadType: number; timestamp: number },
  ): void {
    const header = this.#header
    header.marker = marker
    header.payloadType = payloadType
    header.sequence = (voice.firstSequence + frame) & 0xffff
    header.timestamp = timestamp
    header.ssrc = voice.ssrc
    writeRtpHeader(packet, header)
    this.packet = packet
  }

  /** Makes a leg's RTCP report in `reports` if it is due. @returns its length [bytes]; 0: not due */
  report(leg: number, frame: number, now: number): number {
    const voice = this.#voices[leg]!
    if (now < voice.reportAt) return 0
    voice.reportAt = now + rtcpIntervalMs(Math.random(), false)
    const sender = {
      wallMs: Date.now(),
      rtpTimestamp: (voice.firstTimestamp + frame * FRAME_SAMPLES) >>> 0,
      packets: voice.packets,
      octets: voice.octets,
    }
    const { ssrc, sequence } = this.#ledger.lastHeard(leg)
    this.#block.ssrc = ssrc
    this.#block.highestSequence = sequence
    return writeReport(this.reports, voice.ssrc, sender, this.#block, `load-${leg}@127.0.0.1`)
  }
}
