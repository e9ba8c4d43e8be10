import type { Frame } from '../../../codecs/audio.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../../../codecs/goertzel.ts'
import type { LegMedia } from '../../../media/legs/leg-media.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { LEG_SAMPLES, NO_HOOKS } from '../../../media/rooms/leg.ts'
import type { Room, RoomTap } from '../../../media/rooms/room.ts'
import type { Sink, Track } from '../../../media/rooms/sink.ts'
import { parseRtp, RtpPacket, RtpSender } from '../../../media/rtp/rtp.ts'

const TELEPHONE_EVENT = 101
const COMFORT_NOISE = 13

/** What a leg has sent to its far end. */
export class Received {
  /** The µ-law payload of each audio packet. */
  readonly payloads: Uint8Array[] = []
  /** Telephone events (RFC 4733). */
  readonly events: { code: number; end: boolean }[] = []
  /** Timestamps, markers and sequence numbers of all packets. */
  readonly timestamps: number[] = []
  readonly markers: boolean[] = []
  readonly sequences: number[] = []
  /** Of the last packet. */
  ssrc = 0
  readonly #packet = new RtpPacket()

  take(bytes: Uint8Array, length: number): void {
    const packet = this.#packet
    parseRtp(bytes.subarray(0, length), packet)
    this.ssrc = packet.ssrc
    const payload = bytes.slice(packet.payloadOffset, packet.payloadOffset + packet.payloadLength)
    if (packet.payloadType === TELEPHONE_EVENT) this.events.push({ code: payload[0]!, end: (payload[1]! & 0x80) !== 0 })
    else {
      this.payloads.push(payload)
      this.timestamps.push(packet.timestamp)
      this.markers.push(packet.marker)
      this.sequences.push(packet.sequence)
    }
  }

  /** The decoded audio of these ticks. */
  heard(from = 0, to = this.payloads.length): Int16Array {
    const samples = new Int16Array((to - from) * LEG_SAMPLES)
    for (let i = from; i < to; i++) PCMU.decode(this.payloads[i]!, samples.subarray((i - from) * LEG_SAMPLES))
    return samples
  }
}

/** The far end as a sender: makes the packets of one party. */
export class Speaker {
  readonly #sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 1000, maxPayload: LEG_SAMPLES })
  readonly #deliver: (packet: Uint8Array, now: number) => void
  #timestampOfEvent = 0

  constructor(deliver: (packet: Uint8Array, now: number) => void) {
    this.#deliver = deliver
  }

  /** Sends a frame of audio. */
  speak(frame: Frame, now: number): void {
    PCMU.encode(frame, this.#sender.packet.subarray(12))
    this.#send(0, LEG_SAMPLES, undefined, now)
  }

  /** So many frames get lost on their way. */
  skip(frames: number): void {
    for (let i = 0; i < frames; i++) {
      this.#sender.write(0, LEG_SAMPLES)
      this.#sender.advance(LEG_SAMPLES)
    }
  }

  /** Falls silent: sends one packet of comfort noise at minus `level` dBov (RFC 3389). */
  rest(level: number, now: number): void {
    this.#sender.packet[12] = level
    this.#send(COMFORT_NOISE, 1, undefined, now)
  }

  /** Sends one packet of a telephone event (RFC 4733); `units`: its duration so far. */
  press(code: number, step: 'start' | 'middle' | 'end', units: number, now: number): void {
    if (step === 'start') this.#timestampOfEvent = this.#sender.timestamp
    this.#sender.packet.set([code, step === 'end' ? 0x8a : 0x0a, units >> 8, units & 0xff], 12)
    this.#send(TELEPHONE_EVENT, 4, this.#timestampOfEvent, now)
  }

  #send(payloadType: number, length: number, timestamp: number | undefined, now: number): void {
    const packet = this.#sender.write(payloadType, length, timestamp).slice(0, 12 + length)
    this.#sender.advance(LEG_SAMPLES)
    this.#deliver(packet, now)
  }
}

/** Media as SDP would have negotiated it with a far end at this host. */
export const mediaOf = (
  host: string,
  options: { telephoneEvent?: boolean; dtmf?: LegMedia['dtmf']; srtp?: LegMedia['srtp'] } = {},
): LegMedia => {
  const event = options.telephoneEvent === false ? null : TELEPHONE_EVENT
  return {
    codec: 'PCMU',
    payloadType: 0,
    receivePayloadTypes: [0],
    telephoneEvent: { send: event, receive: event },
    remote: {
      host,
      port: 4000,
      rtcpHost: host,
      rtcpPort: 4001,
      rtcpMux: false,
      signallingHost: null,
      isReachable: true,
      isRtcpReachable: true,
    },
    direction: 'sendrecv',
    dtmf: options.dtmf ?? 'auto',
    srtp: options.srtp ?? null,
    dtls: null,
  }
}

/** 32-bit numbers that look random and are the same in each run. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0)
}

/** A leg and its far end, all in memory. */
export class Party {
  readonly leg: RtpLeg
  readonly #received = new Received()
  readonly #speaker: Speaker

  constructor(id: string, host: string) {
    const out = {
      sendRtp: (bytes: Uint8Array, length: number) => this.#received.take(bytes, length),
      sendRtcp: () => {},
    }
    this.leg = new RtpLeg(id, out, NO_HOOKS, seeded(id.charCodeAt(id.length - 1)), () => {})
    this.leg.connect(mediaOf(host), 0)
    this.#speaker = new Speaker((packet, now) => this.leg.rtp(packet, host, 4000, now))
  }

  get payloads(): Uint8Array[] {
    return this.#received.payloads
  }

  get timestamps(): number[] {
    return this.#received.timestamps
  }

  get markers(): boolean[] {
    return this.#received.markers
  }

  get sequences(): number[] {
    return this.#received.sequences
  }

  get events(): Received['events'] {
    return this.#received.events
  }

  speak(frame: Frame, now: number): void {
    this.#speaker.speak(frame, now)
  }

  heard(from?: number, to?: number): Int16Array {
    return this.#received.heard(from, to)
  }
}

/** Frame `n` of a sine of this frequency, by default at −12 dBov. */
export function toneFrame(hz: number, n: number, amplitude = 11_600): Int16Array {
  return Int16Array.from({ length: LEG_SAMPLES }, (_, i) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hz * (n * LEG_SAMPLES + i)) / 8000)),
  )
}

/** Level of one frequency in samples at 8 kHz [dBov]. */
export const levelOf = (hz: number, samples: Int16Array): number =>
  goertzelDbov(goertzelPower(samples, goertzelCoefficient(hz, 8000)), samples.length)

/** How sharply samples bend at most: a cut is a bend. */
export const sharpest = (samples: Int16Array): number =>
  samples.reduce((most, sample, n) => Math.max(most, Math.abs(sample - 2 * samples[n - 1]! + samples[n - 2]!) || 0), 0)

/** A listener of a room, so that the room is mixed whoever is in it. */
export const LISTENER: RoomTap = { played: () => {}, tick: () => {} }

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
