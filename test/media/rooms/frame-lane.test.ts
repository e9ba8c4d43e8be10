import * as assert from 'uvu/assert'
import { GuestLeg } from '../../../media/rooms/guest-leg.ts'
import { LegEnd, LINK, newLegLink, RoomEnd } from '../../../media/rooms/leg-link.ts'
import { suite } from '../../harness.ts'
import { levelOf, toneFrame } from '../engine/party.ts'

const test = suite('media/rooms/frame-lane')

const HZ = 410
const AMPLITUDE = 8000
/** A larger second difference than that of the tone itself is a click. */
const CLICK = 1.6 * AMPLITUDE * ((2 * Math.PI * HZ) / 8000) ** 2

/** The largest second difference of the samples. */
function sharpest(samples: readonly number[]): number {
  let most = 0
  for (let i = 2; i < samples.length; i++) {
    most = Math.max(most, Math.abs(samples[i]! - 2 * samples[i - 1]! + samples[i - 2]!))
  }
  return most
}

/** Both ends of a link. The leg sends a frame of a tone in each tick; from tick `late` on, only after the room asks for it. */
function link(late: number) {
  const memory = newLegLink()
  const [leg, room] = [new LegEnd(memory), new RoomEnd(memory)]
  let said = 0
  const say = (amplitude = AMPLITUDE): void => {
    const frame = toneFrame(HZ, said++, amplitude)
    leg.say(frame, frame, null, null, 0)
  }
  const hear = (isAllowed = true): Int16Array | null => {
    const flags = room.next()
    if (flags === -1) return room.makeUp(isAllowed)
    return (flags & LINK.voice) === 0 ? null : room.said
  }
  return {
    ...{ leg, room, say, hear },
    /** What the room hears in so many ticks. */
    run: (ticks: number): number[] => {
      const heard: number[] = []
      for (let tick = 0; tick < ticks; tick++) {
        if (tick < late) say()
        heard.push(...(hear() ?? new Int16Array(160)))
        if (tick >= late) say()
      }
      return heard
    },
  }
}

test('a tick that comes too late is made up from the voice before it, and the voice goes on without a click', () => {
  const { room, run } = link(20)
  const heard = run(40)
  assert.is(room.missed, 1)
  assert.ok(sharpest(heard) < CLICK, `${sharpest(heard)}, ${CLICK}`)
  const made = Int16Array.from(heard.slice(20 * 160, 21 * 160))
  assert.ok(levelOf(HZ, made) > levelOf(HZ, toneFrame(HZ, 0, AMPLITUDE)) - 3, `${levelOf(HZ, made)} dBov`)
})

test('where nothing comes any more the voice fades within 60 ms; in a card-payment pause nothing goes on', () => {
  const silent = link(20)
  for (let tick = 0; tick < 20; tick++) {
    silent.say()
    silent.hear()
  }
  const levels = [1, 2, 3, 4].map(() => {
    const frame = silent.hear()
    return frame === null ? null : Math.max(...frame)
  })
  assert.ok(levels[0]! > 0.9 * AMPLITUDE && levels[1]! < levels[0]! && levels[2]! < levels[1]!, `${levels}`)
  assert.is(levels[3], null)

  const paused = link(20)
  for (let tick = 0; tick < 20; tick++) {
    paused.say()
    paused.hear()
  }
  assert.is(paused.hear(false), null)
  paused.leg.say(new Int16Array(160).fill(7), null, null, null, 0)
  assert.equal(paused.hear(), new Int16Array(160).fill(7))
})

test('who has been silent is not made up', () => {
  const { leg, room, say, hear } = link(20)
  say()
  hear()
  leg.say(null, null, null, null, 0)
  hear()
  assert.is(room.next(), -1)
  assert.is(room.makeUp(true), null)
})

test('a surplus tick is left out where nobody speaks, though there is noise, and not in a voice', () => {
  for (const [amplitude, waiting] of [
    [AMPLITUDE, 1],
    [20, 0],
  ] as const) {
    const { room, say } = link(0)
    for (let tick = 0; tick < 200; tick++) {
      say(amplitude)
      if (tick === 10) say(amplitude)
      room.next()
    }
    let left = 0
    while (room.next() !== -1) left++
    assert.is(left, waiting, `${amplitude}`)
  }
})

test('three surplus ticks in a voice are left out down to two, and what follows is joined to what was heard', () => {
  const { say, hear, room } = link(0)
  const heard: number[] = []
  for (let tick = 0; tick < 200; tick++) {
    say()
    if (tick === 10) for (let i = 0; i < 3; i++) say()
    heard.push(...(hear() ?? new Int16Array(160)))
  }
  let left = 0
  while (room.next() !== -1) left++
  assert.is(left, 2)
  assert.ok(sharpest(heard) < CLICK, `${sharpest(heard)}, ${CLICK}`)
})

test('what the product plays to one and to all in a room of another thread, both loud, is bounded, not turned over', () => {
  const memory = newLegLink()
  const [leg, guest] = [new LegEnd(memory), new GuestLeg('part_a', 'org', memory, () => {})]
  const loud = new Int16Array(160).fill(20_000)
  guest.played(loud, guest)
  guest.played(loud, null)
  guest.send(null)
  assert.ok((leg.next() & LINK.product) !== 0)
  assert.equal(leg.product, new Int16Array(160).fill(32_767))
})

test.run()
