import { uint8Array } from '../../codecs/arrays.ts'
import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import { LAWS, type LawName } from '../../codecs/g711.ts'
import { dtmfTone } from '../../codecs/tones.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import type { LegMedia } from '../legs/leg-media.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { emptyBlock } from '../rtp/reception-stats.ts'
import { RTCP_BUFFER_BYTES, writeReport } from '../rtp/rtcp.ts'
import { RTP_HEADER_BYTES, RtpSender } from '../rtp/rtp.ts'
import type { RtpReceiver } from '../rtp/rtp-socket.ts'
import { SrtpWire } from '../srtp/srtp-wire.ts'
import type { LegSocket } from './legs.ts'

/** A string made at run time, as sockets make it: V8 treats those differently from string literals. */
const HOST = structuredClone('192.0.2.1')
const TELEPHONE_EVENT = 101
/** Fractions, as in reality: single packets, and groups of packets, are this much later than those before them [ms]. */
const JITTER_MS = { packets: 1.37, groups: 0.93 }
const FIRST_SSRC = 0xf000_0000
const FIRST_TIMESTAMP = 0xf000_0000
/** Chosen so that the middle of its NTP timestamp needs all of 32 bits too: 0xf000 seconds after 1900 [ms since 1970]. */
const REPORT_WALL_MS = (0xf000 - 2_208_988_800) * 1000
/** Interval of its reports [ticks]. */
const REPORT_EVERY = 90
/** One of this many packets is lost. */
const LOST_EVERY = 40
/** Interval and duration of a key press [ticks]. */
const KEY_EVERY = 150
const KEY_TICKS = 6
/** Packets sent in these ticks arrive together in the tick after them, so that the delay grows and shrinks again. */
const STALLS = [
  { from: 20, to: 23 },
  { from: 50, to: 62 },
] as const
/** Length of its sound, which is repeated [frames]. */
const SOUND_FRAMES = 64

export interface Kind {
  codec: LawName
  telephoneEvent: boolean
  srtp: { ours: SrtpKeys; theirs: SrtpKeys } | null
}

/** The sockets of a leg of the warm-up together with its far end: consumes what the leg sends, and makes what it receives. */
export class WarmParty implements LegSocket {
  readonly port = 4000
  readonly sendRtp: PacketOut['sendRtp'] = () => {}
  readonly sendRtcp: PacketOut['sendRtcp'] = () => {}
  /** The SSRC of the leg, on which it reports. */
  hears = 0
  readonly #kind: Kind
  readonly #place: number
  readonly #sender: RtpSender
  readonly #way: PacketOut
  readonly #sound: Frame
  readonly #tone: Frame
  readonly #report = uint8Array(RTCP_BUFFER_BYTES)
  /** Packets on their way to the leg. */
  readonly #packets: Uint8Array[] = []
  #receiver: RtpReceiver | null = null
  #now = 0
  #eventBegan = 0

  /** @param datagramOf makes a datagram with these bytes, of the class that sockets deliver here */
  constructor(kind: Kind, place: number, datagramOf: (bytes: Uint8Array) => Uint8Array) {
    this.#kind = kind
    this.#place = place
    const first = { ssrc: FIRST_SSRC + place, sequence: 1, timestamp: FIRST_TIMESTAMP }
    this.#sender = new RtpSender({ ...first, maxPayload: LEG_SAMPLES })
    const out: PacketOut = {
      sendRtp: (bytes, length) => this.#packets.push(datagramOf(bytes.subarray(0, length))),
      sendRtcp: (bytes, length) =>
        this.#receiver?.rtcp(datagramOf(bytes.subarray(0, length)), HOST, this.port + 1, this.#now),
    }
    this.#way = kind.srtp === null ? out : new SrtpWire(out, kind.srtp.theirs)
    this.#sound = Int16Array.from({ length: SOUND_FRAMES * LEG_SAMPLES }, (_, i) =>
      Math.round(3000 * Math.sin(i * (0.05 + place * 0.02)) * Math.sin(i / 4000) + 40 * Math.sin(i * i)),
    )
    this.#tone = dtmfTone(String(place % 10), KEY_TICKS * FRAME_MS)
  }

  listen(receiver: RtpReceiver): void {
    this.#receiver = receiver
  }

  close(): void {
    this.#receiver = null
  }

  speak(tick: number, now: number): void {
    this.#now = now + (tick % 3) * JITTER_MS.packets + ((tick >> 4) & 1) * JITTER_MS.groups
    const inKey = (tick + 40 * this.#place) % KEY_EVERY
    if ((tick + this.#place) % LOST_EVERY === 0) this.#sender.sequence = (this.#sender.sequence + 1) & 0xffff
    else if (inKey < KEY_TICKS && this.#kind.telephoneEvent) this.#press(inKey)
    else this.#say(inKey < KEY_TICKS ? this.#tone : this.#sound, inKey < KEY_TICKS ? inKey : tick % SOUND_FRAMES)
    this.#sender.advance(LEG_SAMPLES)
    if (tick % REPORT_EVERY === REPORT_EVERY - 1) this.#sendReport()
    if (STALLS.some(({ from, to }) => tick >= from && tick < to)) return
    for (const packet of this.#packets.splice(0)) this.#receiver?.rtp(packet, HOST, this.port, this.#now)
  }

  #say(sound: Frame, frame: number): void {
    const law = LAWS[this.#kind.codec]
    const at = frame * LEG_SAMPLES
    law.encode(sound.subarray(at, at + LEG_SAMPLES), this.#sender.packet.subarray(RTP_HEADER_BYTES))
    this.#send(law === LAWS.PCMU ? 0 : 8, LEG_SAMPLES)
  }

  #press(step: number): void {
    const { packet, timestamp } = this.#sender
    if (step === 0) this.#eventBegan = timestamp
    const units = (step + 1) * LEG_SAMPLES
    packet.set([this.#place % 10, step === KEY_TICKS - 1 ? 0x8a : 0x0a, units >> 8, units & 0xff], RTP_HEADER_BYTES)
    this.#send(TELEPHONE_EVENT, 4, this.#eventBegan)
  }

  #send(payloadType: number, length: number, timestamp?: number): void {
    const packet = this.#sender.write(payloadType, length, timestamp)
    this.#way.sendRtp(packet, RTP_HEADER_BYTES + length, HOST, this.port)
  }

  #sendReport(): void {
    const { ssrc, timestamp, packetsSent, octetsSent } = this.#sender
    const sent = { wallMs: REPORT_WALL_MS, rtpTimestamp: timestamp, packets: packetsSent, octets: octetsSent }
    const heard = { ...emptyBlock(), ssrc: this.hears, lastSr: FIRST_TIMESTAMP }
    const length = writeReport(this.#report, ssrc, sent, heard, 'warm')
    this.#way.sendRtcp(this.#report, length, HOST, this.port + 1)
  }

  get media(): LegMedia {
    const payloadType = this.#kind.codec === 'PCMU' ? 0 : 8
    const event = this.#kind.telephoneEvent ? TELEPHONE_EVENT : null
    const ports = { port: this.port, rtcpPort: this.port + 1, rtcpMux: false }
    const remote = { host: HOST, rtcpHost: HOST, ...ports, signallingHost: null }
    return {
      codec: this.#kind.codec,
      payloadType,
      receivePayloadTypes: [payloadType],
      telephoneEvent: { send: event, receive: event },
      remote: { ...remote, isReachable: true, isRtcpReachable: true },
      direction: 'sendrecv',
      dtmf: 'auto',
      srtp: this.#kind.srtp?.ours ?? null,
      dtls: null,
    }
  }
}
