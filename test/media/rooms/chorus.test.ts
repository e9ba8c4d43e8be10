import * as assert from 'uvu/assert'
import { Chorus } from '../../../media/rooms/chorus.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import type { Source } from '../../../media/rooms/source.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, levelOf, Party, run, toneFrame } from '../engine/party.ts'

const test = suite('media/rooms/chorus')

const SECOND = 50
const SETTLED = 10

/** A source of a tone that counts its pulls. */
class ToneSource implements Source {
  pulls = 0
  readonly #hz: number

  constructor(hz: number) {
    this.#hz = hz
  }

  pull(): Int16Array {
    return toneFrame(this.#hz, this.pulls++)
  }
}

function roomOf(count: number, changes = {}): { room: Room; parties: Party[] } {
  const room = new Room({
    roomId: 'call_1',
    kind: 'conference',
    chimes: false,
    musicWhenAlone: false,
    maxMembers: 9,
    ...changes,
  })
  const parties = Array.from({ length: count }, (_, i) => new Party(`part_${i}`, `192.0.2.${i + 1}`))
  room.legs.push(...parties.map(party => party.leg))
  return { room, parties }
}

function speakTo(to: { chorus: Chorus | null }, hz: number): ToneSource {
  const source = new ToneSource(hz)
  to.chorus ??= new Chorus(LEG_SAMPLES)
  to.chorus.add(source)
  return source
}

const hears = (party: Party, hz: number): boolean => levelOf(hz, party.heard(SETTLED, SETTLED + SECOND)) > -16

test('whoever speaks to one party is heard by it, beside the others, and by nobody else', () => {
  const { room, parties } = roomOf(2)
  speakTo(parties[0]!.leg, 1000)
  run(room, SETTLED + SECOND, (tick, now) => parties[1]!.speak(toneFrame(440, tick), now))
  assert.ok(hears(parties[0]!, 1000) && hears(parties[0]!, 440))
  assert.not.ok(hears(parties[1]!, 1000))
})

test('two who speak to one party are heard both', () => {
  const { room, parties } = roomOf(1)
  speakTo(parties[0]!.leg, 1000)
  speakTo(parties[0]!.leg, 1720)
  run(room, SETTLED + SECOND, () => {})
  assert.ok(hears(parties[0]!, 1000) && hears(parties[0]!, 1720))
})

test('whoever speaks to a room is heard by all, and what listens to the room has it as `outbound`', () => {
  const { room, parties } = roomOf(2)
  const sink = new KeepingSink('silence')
  room.sinks.push(sink)
  speakTo(room, 1000)
  run(room, SETTLED + SECOND, () => {})
  assert.ok(parties.every(party => hears(party, 1000)))
  assert.ok(levelOf(1000, sink.samples('outbound').subarray(SETTLED * 160, (SETTLED + SECOND) * 160)) > -16)
})

test('on hold nothing of it is played, and nothing is lost', () => {
  const { room, parties } = roomOf(2)
  const source = speakTo(parties[0]!.leg, 1000)
  parties[0]!.leg.onHold = true
  run(room, SECOND, () => {})
  assert.is(source.pulls, 0)
  parties[0]!.leg.onHold = false
  run(room, 1, () => {})
  assert.is(source.pulls, 1)
})

test('who is removed in the middle of a word fades out within 5 ms', () => {
  const chorus = new Chorus(LEG_SAMPLES)
  const source = { pull: () => new Int16Array(LEG_SAMPLES).fill(1000), breakOff: () => source.pull() }
  chorus.add(source)
  chorus.pull(null)
  chorus.remove(source)
  assert.not(chorus.isEmpty)
  const ended = chorus.pull(null)!
  assert.equal([...ended.slice(0, 2)], [976, 951])
  assert.ok(ended.slice(40).every(sample => sample === 0))
  assert.ok(chorus.isEmpty)
  assert.is(chorus.pull(null), null)
})

test('who is put on hold hears what speaks to it fade out within 5 ms, and later in where it was', () => {
  const chorus = new Chorus(LEG_SAMPLES)
  const source = { isMidway: true, pull: () => new Int16Array(LEG_SAMPLES).fill(1000), breakOff: () => source.pull() }
  chorus.add(source)
  assert.ok(chorus.pull(null)!.every(sample => sample === 1000))
  const ended = chorus.wait(null)!
  assert.equal([...ended.slice(0, 2), ...ended.slice(39, 42)], [976, 951, 24, 0, 0])
  assert.is(chorus.wait(null), null)
  const begun = chorus.pull(null)!
  assert.equal([...begun.slice(0, 2), ...begun.slice(39, 42)], [24, 49, 976, 1000, 1000])
  assert.ok(chorus.pull(null)!.every(sample => sample === 1000))
})

test('in a card-payment pause it goes on', () => {
  const { room, parties } = roomOf(1)
  speakTo(parties[0]!.leg, 1000)
  room.pause = { maskDtmf: true, destinationLegId: null, reason: 'payment' }
  run(room, SETTLED + SECOND, () => {})
  assert.ok(hears(parties[0]!, 1000))
})

test('a member who is alone with one who speaks to it hears no music, and hears it again without', () => {
  const { room, parties } = roomOf(1, { musicWhenAlone: true })
  const music = new ToneSource(440)
  room.music = music
  const source = speakTo(parties[0]!.leg, 1000)
  run(room, SECOND, () => {})
  assert.is(music.pulls, 0)
  parties[0]!.leg.chorus?.remove(source)
  run(room, 5, () => {})
  assert.is(music.pulls, 5)
})

test.run()
