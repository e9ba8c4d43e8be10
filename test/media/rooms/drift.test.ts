import * as assert from 'uvu/assert'
import type { RoomSpec } from '../../../media/protocol.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { suite } from '../../harness.ts'
import { LISTENER, Party } from '../engine/party.ts'

const test = suite('media/rooms/drift')

const FRAME_MS = 20
const MINUTES = 30
const TICKS = (MINUTES * 60_000) / FRAME_MS
/** How much faster or slower than ours the far ends' clocks are. */
const PPM = 200
/** A frame has no whole number of periods, so that a missing or repeated frame causes a click; a second has one [Hz]. */
const TONES = [423, 517] as const
const AMPLITUDE = 8000
/** Every ten seconds the tone is quieter for some frames (a mark), so that its delay can be measured [frames]. */
const MARK_EVERY = 500
const MARK_FRAMES = 3
/** Ticks around a mark in which the tone itself changes. */
const MARK_TICKS = 8
/** Until the first packets are heard [ticks]. */
const BEGUN = 50
/** When the tick is within our frame [ms]. */
const TICK_AT = 7
/** A frame of ours, one that waits for it, and one by which a mark may be noticed late. */
const MOST_DELAY_MS = 3 * FRAME_MS
/** Share of the amplitude; both laws on the way make half of it. */
const CLICK = 0.1

const spec: RoomSpec = { roomId: 'call_1', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 9 }

/** A far end that sends one tone, by its own clock. */
class Drifting {
  readonly party: Party
  readonly #frameMs: number
  /** A second of the tone. */
  readonly #tone: Float64Array
  readonly #said = new Int16Array(LEG_SAMPLES)
  #frame = 0

  constructor(id: string, host: string, hz: number, ppm: number) {
    this.party = new Party(id, host)
    this.#frameMs = FRAME_MS / (1 + ppm / 1e6)
    this.#tone = Float64Array.from({ length: 8000 }, (_, i) => Math.sin((2 * Math.PI * hz * i) / 8000))
  }

  /** When it sends a frame [ms]. */
  sentAt(frame: number): number {
    return (frame + 1) * this.#frameMs
  }

  /** Sends everything that is due by now. */
  speakUntil(now: number): void {
    for (; this.sentAt(this.#frame) <= now; this.#frame++) {
      const isMark = this.#frame % MARK_EVERY < MARK_FRAMES
      const from = (this.#frame * LEG_SAMPLES) % this.#tone.length
      const amplitude = isMark ? AMPLITUDE / 2 : AMPLITUDE
      for (let i = 0; i < LEG_SAMPLES; i++) this.#said[i] = amplitude * this.#tone[from + i]!
      this.party.speak(this.#said, this.sentAt(this.#frame))
    }
  }
}

/** Deviation from the recurrence of a sine in each frame, as a share of its amplitude: a click, or a repeated or missing part. */
function breaks(samples: Int16Array, hz: number): Float64Array {
  const turn = 2 * Math.cos((2 * Math.PI * hz) / 8000)
  const worst = new Float64Array(samples.length / LEG_SAMPLES)
  for (let i = 2; i < samples.length; i++) {
    const residue = Math.abs(samples[i]! - turn * samples[i - 1]! + samples[i - 2]!) / AMPLITUDE
    const frame = Math.floor(i / LEG_SAMPLES)
    if (residue > worst[frame]!) worst[frame] = residue
  }
  return worst
}

/** The ticks in which a mark begins to be heard. */
function marksIn(samples: Int16Array): number[] {
  const ticks: number[] = []
  for (let tick = 0; tick < samples.length / LEG_SAMPLES; tick++) {
    let peak = 0
    for (let i = tick * LEG_SAMPLES; i < (tick + 1) * LEG_SAMPLES; i++) if (samples[i]! > peak) peak = samples[i]!
    if (peak < 0.75 * AMPLITUDE && tick - (ticks.at(-1) ?? -MARK_EVERY) > MARK_EVERY / 2) ticks.push(tick)
  }
  return ticks
}

test('a frame that is left out of the tones would be seen', () => {
  for (const hz of TONES) {
    const tone = Int16Array.from({ length: 4 * LEG_SAMPLES }, (_, i) => {
      const at = i < 2 * LEG_SAMPLES ? i : i + LEG_SAMPLES
      return AMPLITUDE * Math.sin((2 * Math.PI * hz * at) / 8000)
    })
    const [, before, after] = breaks(tone, hz)
    assert.ok(before! < CLICK && after! > CLICK, `${hz} Hz: ${before}, ${after}`)
  }
})

test(`half an hour between two clocks that are ${2 * PPM} ppm apart: nothing clicks, and the delay stays`, halfAnHour, {
  timeoutMs: 120_000,
})

function halfAnHour(): void {
  const room = new Room(spec)
  room.taps.push(LISTENER)
  const [fast, slow] = [
    new Drifting('part_0', '192.0.2.1', TONES[0], PPM),
    new Drifting('part_1', '192.0.2.2', TONES[1], -PPM),
  ]
  room.legs.push(fast.party.leg, slow.party.leg)
  for (let tick = 0; tick < TICKS; tick++) {
    const now = tick * FRAME_MS + TICK_AT
    fast.speakUntil(now)
    slow.speakUntil(now)
    room.tick(now)
  }
  for (const [speaker, listener, hz] of [
    [fast, slow, TONES[0]],
    [slow, fast, TONES[1]],
  ] as const) {
    const heard = listener.party.heard()
    // The first one is where it all begins.
    const marks = marksIn(heard).slice(1)
    assert.ok(marks.length >= (MINUTES * 60) / 10 - 2, `${marks.length} marks`)
    const delays = marks.map((tick, i) => tick * FRAME_MS + TICK_AT - speaker.sentAt((i + 1) * MARK_EVERY))
    const [least, most] = [Math.min(...delays), Math.max(...delays)]
    assert.ok(least >= 0 && most <= MOST_DELAY_MS, `${least} to ${most} ms`)
    const clicks = [...breaks(heard, hz).entries()].filter(
      ([tick, size]) => tick > BEGUN && size > CLICK && !marks.some(mark => Math.abs(mark - tick) < MARK_TICKS),
    )
    assert.equal(clicks, [])
  }
}

test.run()
