import type { Frame } from '../../codecs/audio.ts'
import { PCMU } from '../../codecs/g711.ts'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../../codecs/goertzel.ts'
import { Leg, LEG_SAMPLES, type LegMedia } from '../../media/leg.ts'
import type { Room } from '../../media/room.ts'
import { parseRtp, RtpPacket, RtpSender } from '../../media/rtp.ts'
import type { Sink, Track } from '../../media/sink.ts'

const TELEPHONE_EVENT = 101

/** A leg, and the far end of it: speaks packets into it and keeps what it sends, all in memory. */
export class Party {
  readonly leg: Leg
  /** The µ-law payload of each tick that the far end received. */
  readonly payloads: Uint8Array[] = []
  /** Telephone events that the far end received. */
  readonly events: { code: number; end: boolean }[] = []
  readonly keys: { key: string; source: string }[] = []
  readonly #sender: RtpSender
  readonly #host: string
  #timestampOfEvent = 0

  constructor(id: string, host: string, options: { telephoneEvent?: boolean } = {}) {
    this.#host = host
    let random = id.charCodeAt(id.length - 1)
    const packet = new RtpPacket()
    this.leg = new Leg(
      id,
      {
        sendRtp: (bytes, length) => {
          parseRtp(bytes.subarray(0, length), packet)
          const payload = bytes.slice(packet.payloadOffset, packet.payloadOffset + packet.payloadLength)
          if (packet.payloadType === TELEPHONE_EVENT) {
            this.events.push({ code: payload[0]!, end: (payload[1]! & 0x80) !== 0 })
          } else this.payloads.push(payload)
        },
        sendRtcp: () => {},
      },
      { key: (_leg, key, source) => this.keys.push({ key, source }), timedOut: () => {} },
      () => (random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0),
    )
    this.#sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 1000, maxPayload: LEG_SAMPLES })
    const event = options.telephoneEvent === false ? null : TELEPHONE_EVENT
    const media: LegMedia = {
      codec: 'PCMU',
      payloadType: 0,
      receivePayloadTypes: [0],
      telephoneEvent: { send: event, receive: event },
      remote: { host, port: 4000, rtcpHost: host, rtcpPort: 4001, rtcpMux: false },
      direction: 'sendrecv',
    }
    this.leg.connect(media, 0)
  }

  /** The far end sends one frame of audio. */
  speak(frame: Frame, now: number): void {
    const bytes = this.#sender.packet
    PCMU.encode(frame, bytes.subarray(12))
    this.#deliver(this.#sender.write(0, LEG_SAMPLES).slice(0, 12 + LEG_SAMPLES), now)
  }

  /** The far end sends one packet of a telephone event (RFC 4733). */
  press(code: number, step: 'start' | 'middle' | 'end', durationUnits: number, now: number): void {
    if (step === 'start') this.#timestampOfEvent = this.#sender.timestamp
    this.#sender.packet.set([code, step === 'end' ? 0x8a : 0x0a, durationUnits >> 8, durationUnits & 0xff], 12)
    const packet = this.#sender.write(TELEPHONE_EVENT, 4, this.#timestampOfEvent, step === 'start')
    this.#deliver(packet.slice(0, 16), now)
  }

  #deliver(packet: Uint8Array, now: number): void {
    this.#sender.advance(LEG_SAMPLES)
    this.leg.rtp(packet, this.#host, 4000, now)
  }

  /** What the far end heard in these ticks, decoded. */
  heard(from = 0, to = this.payloads.length): Int16Array {
    const samples = new Int16Array((to - from) * LEG_SAMPLES)
    for (let i = from; i < to; i++) PCMU.decode(this.payloads[i]!, samples.subarray((i - from) * LEG_SAMPLES))
    return samples
  }
}

/** Frame `n` of a sine of this frequency, level −12 dBov unless told otherwise. */
export function toneFrame(hz: number, n: number, amplitude = 11_600): Int16Array {
  return Int16Array.from({ length: LEG_SAMPLES }, (_, i) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hz * (n * LEG_SAMPLES + i)) / 8000)),
  )
}

/** Level of one frequency in samples at 8 kHz [dBov]. */
export const levelOf = (hz: number, samples: Int16Array): number =>
  goertzelDbov(goertzelPower(samples, goertzelCoefficient(hz, 8000)), samples.length)

/** Runs a room for a number of ticks on a virtual clock; `speak` is called before each tick. */
export function run(room: Room, ticks: number, speak: (tick: number, now: number) => void, from = 0): void {
  for (let tick = from; tick < from + ticks; tick++) {
    speak(tick, tick * 20)
    room.tick(tick * 20 + 5)
  }
}

/** Keeps every frame it gets. */
export class KeepingSink implements Sink {
  readonly onPause: Sink['onPause']
  readonly frames: Record<Track, Int16Array[]> = { inbound: [], outbound: [] }
  closed = false

  constructor(onPause: Sink['onPause'] = 'silence') {
    this.onPause = onPause
  }

  write(track: Track, frame: Frame): void {
    this.frames[track].push(frame.slice())
  }

  close(): void {
    this.closed = true
  }

  samples(track: Track, from = 0, to = this.frames[track].length): Int16Array {
    return Int16Array.from(this.frames[track].slice(from, to).flatMap(frame => [...frame]))
  }
}
