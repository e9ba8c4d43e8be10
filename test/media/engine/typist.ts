import { PCMU } from '../../../codecs/g711.ts'
import { dtmfTone } from '../../../codecs/tones.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import type { FarEnd, TestEngine } from '../../fakes/engine.ts'

const TELEPHONE_EVENT = 101
const SOUNDS: readonly Way[] = ['both', 'inband', 'info and tone']
const CODES = '0123456789*#ABCD'

/**
 * How a key is sent: as an event instead of audio; as an event with its tone in the audio too, as bad gateways do; only as a tone; by SIP INFO,
 * alone or with its tone.
 */
export type Way = 'event' | 'both' | 'inband' | 'info' | 'info and tone'

export interface Press {
  key: string
  /** Ticks of the typist's own clock. */
  from: number
  ticks: number
  way: Way
}

interface Flying {
  arrivesAt: number
  arrive: () => void
}

/** A party that presses keys by a timetable, over a network with delays. */
export class Typist {
  /** Delay of what is sent in this tick [ms]. */
  delayOf: (tick: number, what: 'audio' | 'event' | 'info') => number = () => 30
  /** What the party says meanwhile; null: nothing. */
  voice: ((tick: number) => Int16Array) | null = null
  /** Level of its tones, relative to that of a phone's keypad [dB]; null: no tones are sent. */
  toneDb: number | null = 0
  /** When the first packet of each key arrives at the engine [ms]. */
  readonly arrivals = new Map<Press, number>()
  readonly #engine: TestEngine
  readonly #legId: string
  readonly #farEnd: FarEnd
  readonly #presses: readonly Press[]
  readonly #flying: Flying[] = []
  readonly #sender: RtpSender
  readonly #tones = new Map<Press, Int16Array>()

  constructor(engine: TestEngine, legId: string, farEnd: FarEnd, presses: readonly Press[]) {
    this.#engine = engine
    this.#legId = legId
    this.#farEnd = farEnd
    this.#presses = presses
    this.#sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 4_294_900_000, maxPayload: LEG_SAMPLES })
  }

  /** To be called before each tick of the engine. @param isRead whether the engine reads what has arrived */
  tick(tick: number, isRead = true): void {
    const press = this.#presses.find(({ from, ticks }) => tick >= from && tick < from + ticks + 2)
    const at = press === undefined ? 0 : tick - press.from
    const frame = this.voice?.(tick).slice() ?? new Int16Array(LEG_SAMPLES)
    if (press !== undefined && at < press.ticks && SOUNDS.includes(press.way)) {
      this.#addTone(press, at, frame)
    }
    if ((press?.way === 'info' || press?.way === 'info and tone') && at === 0) this.#signal(press, tick)
    if (press?.way === 'event' || press?.way === 'both') this.#event(press, at, tick)
    if (press?.way !== 'event') this.#audio(frame, tick)
    this.#sender.advance(LEG_SAMPLES)
    if (isRead) this.deliver()
  }

  #addTone(press: Press, at: number, frame: Int16Array): void {
    if (this.toneDb === null) return
    const tone = this.#tones.get(press) ?? dtmfTone(press.key, press.ticks * 20)
    this.#tones.set(press, tone)
    const gain = 10 ** (this.toneDb / 20)
    for (let i = 0; i < LEG_SAMPLES; i++) frame[i]! += gain * (tone[at * LEG_SAMPLES + i] ?? 0)
  }

  #signal(press: Press, tick: number): void {
    const delayMs = this.delayOf(tick, 'info')
    this.arrivals.set(press, this.#engine.now + delayMs)
    this.#send(delayMs, () =>
      this.#engine.engine.do('leg.key', {
        legId: this.#legId,
        key: press.key,
        source: 'info',
        durationMs: press.ticks * 20,
      }),
    )
  }

  #event(press: Press, at: number, tick: number): void {
    const units = Math.min(at + 1, press.ticks) * LEG_SAMPLES
    const isEnd = at + 1 >= press.ticks
    this.#sender.packet.set([CODES.indexOf(press.key), isEnd ? 0x8a : 0x0a, units >> 8, units & 0xff], 12)
    const began = this.#sender.timestamp - at * LEG_SAMPLES
    const packet = this.#sender.write(TELEPHONE_EVENT, 4, began >>> 0, at === 0).slice(0, 16)
    const delayMs = this.delayOf(tick, 'event')
    if (at === 0) this.arrivals.set(press, this.#engine.now + delayMs)
    this.#send(delayMs, () => this.#receive(packet))
  }

  #audio(frame: Int16Array, tick: number): void {
    PCMU.encode(frame, this.#sender.packet.subarray(12))
    const packet = this.#sender.write(0, LEG_SAMPLES).slice(0, 12 + LEG_SAMPLES)
    this.#send(this.delayOf(tick, 'audio'), () => this.#receive(packet))
  }

  #receive(packet: Uint8Array): void {
    this.#farEnd.receiver?.rtp(packet, `192.0.2.${this.#legId.length}`, 4000, this.#engine.now)
  }

  #send(delayMs: number, arrive: () => void): void {
    this.#flying.push({ arrivesAt: this.#engine.now + delayMs, arrive })
  }

  /** Delivers what has arrived by now. */
  deliver(): void {
    const due = this.#flying.filter(({ arrivesAt }) => arrivesAt <= this.#engine.now)
    due.sort((a, b) => a.arrivesAt - b.arrivesAt)
    for (const flying of due) {
      this.#flying.splice(this.#flying.indexOf(flying), 1)
      flying.arrive()
    }
  }
}
