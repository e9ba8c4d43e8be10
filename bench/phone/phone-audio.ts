import { randomInt } from 'node:crypto'
import { FRAME_MS, NARROWBAND_HZ, samplesPerFrame } from '../../codecs/audio.ts'
import { type G711, g711ByName, g711ByPayloadType, PCMU } from '../../codecs/g711.ts'
import { dtmfTone } from '../../codecs/tones.ts'
import { DtmfEventWriter } from '../../media/rtp/dtmf-events.ts'
import { PortPool } from '../../media/rtp/port-pool.ts'
import { parseRtp, RtpPacket, RtpSender, Unwrapper } from '../../media/rtp/rtp.ts'
import { RtpSocket } from '../../media/rtp/rtp-socket.ts'
import type { NegotiatedMedia } from '../../sip/sdp/offer-answer.ts'
import { Timeline } from '../timeline.ts'
import { silence, type Voice } from '../voices.ts'
import { pacer } from './pacer.ts'

const SAMPLES = samplesPerFrame(NARROWBAND_HZ)
const END_BIT = 0x80
const EVENT_KEYS = '0123456789*#ABCD'
/** Ports of the phones in this process, above those that the system gives to outgoing connections; the first free pairs are used. */
const ports = new PortPool({ first: 61_000 + 2 * randomInt(0, 1000), last: 65_534 })

/** How keys are pressed. */
export interface PressOptions {
  as: 'rfc4733' | 'inband'
  toneMs?: number
  /** Pause between two keys. Default 80 [ms]. */
  gapMs?: number
  /** RFC 4733 only. `marker`: the bit is never set; `first`: the first packet is lost; `ends`: all packets with the E bit are lost. */
  lose?: ('marker' | 'first' | 'ends')[]
}

/** One received RTP packet. */
export interface HeardPacket {
  /** Monotonic arrival time [ms]. */
  at: number
  sequence: number
  timestamp: number
  ssrc: number
  marker: boolean
  payloadType: number
  payload: Uint8Array
}

interface Press {
  events: DtmfEventWriter | null
  samples: Int16Array
  lose: NonNullable<PressOptions['lose']>
  done: () => void
}

/** The audio half of a phone: sends 20 ms of audio at each tick, and keeps everything that it hears. */
export class PhoneAudio {
  readonly heard = new Timeline()
  /** What was sent; silence where keys were sent as events. */
  readonly said = new Timeline()
  readonly packets: HeardPacket[] = []
  /** Keys received as telephone events, each once. */
  keysHeard = ''
  voice: Voice = silence
  readonly #socket: RtpSocket
  readonly #packet = new RtpPacket()
  readonly #sender = new RtpSender({
    ssrc: randomInt(2 ** 32),
    sequence: randomInt(2 ** 16),
    timestamp: randomInt(2 ** 32),
    maxPayload: SAMPLES,
  })
  readonly #frame = new Int16Array(SAMPLES)
  readonly #octets = new Uint8Array(SAMPLES)
  readonly #presses: Press[] = []
  readonly #timestamps = new Unwrapper(32)
  #media: NegotiatedMedia | null = null
  #law: G711 = PCMU
  #origin = 0
  #ssrc = -1
  #lastEvent = -1
  #toneAt = 0
  #startedAt = 0
  /** Frames sent, or left to a key. */
  #ticks = 0
  #stopPacing: () => void = () => {}

  private constructor(socket: RtpSocket) {
    this.#socket = socket
    socket.listen({ rtp: bytes => this.#receive(bytes), rtcp: () => {} }, error => {
      throw error
    })
  }

  /** Opens a pair of RTP ports on `host`. */
  static async open(host: string): Promise<PhoneAudio> {
    const socket = await RtpSocket.open(ports, host)
    if (socket === null) throw new Error('no free RTP port for a phone')
    return new PhoneAudio(socket)
  }

  get port(): number {
    return this.#socket.port
  }

  get media(): NegotiatedMedia | null {
    return this.#media
  }

  /** Number of packets that are missing in the sequence numbers. */
  get packetsLost(): number {
    const sequences = new Unwrapper(16)
    const numbers = this.packets
      .filter(({ ssrc }) => ssrc === this.#ssrc)
      .map(({ sequence }) => sequences.unwrap(sequence))
    if (numbers.length === 0) return 0
    return Math.max(...numbers) - Math.min(...numbers) + 1 - new Set(numbers).size
  }

  /**
   * What this process was too busy to send, since it began: its timestamps lag behind the clock by this much, as those of a phone without the
   * processor do (RFC 3550 §5.1 would have them go on) [ms].
   */
  get unsentMs(): number {
    return this.#media === null ? 0 : performance.now() - this.#startedAt - this.#ticks * FRAME_MS
  }

  /** Uses the negotiated media; the first time, this starts sending. */
  connect(media: NegotiatedMedia): void {
    const isFirst = this.#media === null
    this.#media = media
    this.#law = g711ByName(media.codec.name) ?? PCMU
    if (!isFirst) return
    this.#startedAt = performance.now()
    this.#stopPacing = pacer.join(() => this.#send())
  }

  /** Presses keys one after the other; resolves when the last one has been sent. */
  press(keys: string, { as, toneMs = 100, gapMs = 80, lose = [] }: PressOptions): Promise<void> {
    return new Promise(done => {
      if (as === 'inband') this.#presses.push({ events: null, samples: inbandKeys(keys, toneMs, gapMs), lose, done })
      else {
        const events = new DtmfEventWriter({ toneMs, gapMs })
        for (const key of keys) events.enqueue(key)
        this.#presses.push({ events, samples: new Int16Array(0), lose, done })
      }
    })
  }

  /** Idempotent. */
  close(): void {
    this.#stopPacing()
    this.#socket.close()
    this.heard.end()
    this.said.end()
    for (const { done } of this.#presses.splice(0)) done()
  }

  // ------------------------------------------------------------------ saying

  #send(): void {
    const media = this.#media!
    const frame = this.#frame
    this.voice(frame)
    if (media.direction === 'sendrecv' || media.direction === 'sendonly') {
      if (!this.#sendKey(media)) this.#sendFrame(media)
    }
    this.#sender.advance(SAMPLES)
    this.#ticks++
  }

  #sendFrame(media: NegotiatedMedia): void {
    this.#law.encode(this.#frame, this.#octets)
    this.#law.decode(this.#octets, this.#frame)
    this.said.write(this.said.length, this.#octets, this.#frame)
    this.#sender.packet.set(this.#octets, 12)
    this.#transmit(this.#sender.write(media.payloadType, SAMPLES), 12 + SAMPLES, media)
  }

  #transmit(packet: Uint8Array, length: number, media: NegotiatedMedia): void {
    this.#socket.sendRtp(packet, length, media.remoteHost, media.remotePort)
  }

  /** Sends a telephone event instead of audio, if a key is due. @returns whether this tick belongs to a key */
  #sendKey(media: NegotiatedMedia): boolean {
    const press = this.#presses[0]
    if (press === undefined) return false
    const sent = press.events === null ? this.#pullTone(press) : this.#sendEvent(press, press.events, media)
    const isOver = press.events === null ? this.#toneAt >= press.samples.length : !press.events.busy
    if (isOver) {
      this.#presses.shift()
      this.#toneAt = 0
      press.done()
    }
    return sent
  }

  /** Fills the frame with the keypad's tones instead of the voice. */
  #pullTone({ samples }: Press): boolean {
    this.#frame.fill(0)
    this.#frame.set(samples.subarray(this.#toneAt, this.#toneAt + SAMPLES))
    this.#toneAt += SAMPLES
    return false
  }

  #sendEvent({ lose }: Press, events: DtmfEventWriter, media: NegotiatedMedia): boolean {
    if (media.telephoneEventPayloadType === null) throw new Error('the other side takes no telephone events')
    if (!events.tick(this.#sender.timestamp)) return false
    this.#frame.fill(0)
    this.#law.encode(this.#frame, this.#octets)
    this.said.write(this.said.length, this.#octets, this.#frame)
    const { send, marker, timestamp, payload } = events.packet
    if (!send) return true
    this.#sender.packet.set(payload, 12)
    const keepsMarker = marker && !lose.includes('marker')
    const packet = this.#sender.write(media.telephoneEventPayloadType, payload.length, timestamp, keepsMarker)
    const isLost = (marker && lose.includes('first')) || ((payload[1]! & END_BIT) !== 0 && lose.includes('ends'))
    if (!isLost) this.#transmit(packet, 12 + payload.length, media)
    return true
  }

  // ------------------------------------------------------------------ hearing

  #receive(bytes: Uint8Array): void {
    const packet = this.#packet
    if (!parseRtp(bytes, packet)) return
    const { sequence, timestamp, ssrc, marker, payloadType, payloadOffset, payloadLength } = packet
    const payload = bytes.slice(payloadOffset, payloadOffset + payloadLength)
    this.packets.push({ at: performance.now(), sequence, timestamp, ssrc, marker, payloadType, payload })
    if (payloadType === this.#media?.receiveTelephoneEventPayloadType) this.#hearEvent(timestamp, payload)
    else this.#hearAudio(payloadType, timestamp, ssrc, payload)
  }

  #hearAudio(payloadType: number, timestamp: number, ssrc: number, payload: Uint8Array): void {
    const law = g711ByPayloadType(payloadType)
    if (law === undefined) return
    if (ssrc !== this.#ssrc) {
      this.#ssrc = ssrc
      this.#timestamps.reset()
      this.#origin = this.#timestamps.unwrap(timestamp) - this.heard.length
    }
    const samples = new Int16Array(payload.length)
    law.decode(payload, samples)
    this.heard.write(this.#timestamps.unwrap(timestamp) - this.#origin, payload, samples)
  }

  #hearEvent(timestamp: number, payload: Uint8Array): void {
    const key = EVENT_KEYS[payload[0] ?? 255]
    if (key === undefined || timestamp === this.#lastEvent) return
    this.#lastEvent = timestamp
    this.keysHeard += key
  }
}

/** Keypad tones with silence between them, in whole frames. */
function inbandKeys(keys: string, toneMs: number, gapMs: number): Int16Array {
  const perKey = Math.ceil((toneMs + gapMs) / FRAME_MS) * SAMPLES
  const samples = new Int16Array(perKey * keys.length)
  for (const [n, key] of [...keys].entries()) samples.set(dtmfTone(key, toneMs), n * perKey)
  return samples
}
