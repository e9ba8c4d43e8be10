import * as assert from 'uvu/assert'
import { levelAt, loudness } from '../../../bench/spectrum.ts'
import { BandSplitter } from '../../../codecs/bands.ts'
import { Annex } from '../../../media/rooms/annex.ts'
import { GuestLeg } from '../../../media/rooms/guest-leg.ts'
import type { Leg } from '../../../media/rooms/leg.ts'
import { newLegLink } from '../../../media/rooms/leg-link.ts'
import { Room } from '../../../media/rooms/room.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, Party, run, sharpest, toneFrame } from '../engine/party.ts'
import { type PacketCodecName, PacketParty } from '../legs/packet-party.ts'

const test = suite('media/rooms/wideband-room')

const SPEC = { roomId: 'room', kind: 'conference' as const, chimes: false, musicWhenAlone: false, maxMembers: 9 }
/** After filters and buffers have filled, and of whole periods of all tones here [frames]. */
const [FROM, TO] = [20, 70]
const HEARD = -14
const UNHEARD = -50

const wideAt = (hz: number, party: PacketParty, from = FROM, to = TO): number => {
  const samples = party.heard(from, to)
  return levelAt(hz, samples, 0, samples.length, party.coder.sampleRateHz)
}

function gather(codecs: readonly PacketCodecName[], spec = SPEC) {
  const room = new Room(spec)
  const parties = codecs.map((codec, i) => new PacketParty(codec, `10.0.0.${i + 1}`))
  for (const { leg } of parties) room.legs.push(leg)
  return { room, parties }
}

const TONES = [5000, 6000, 7000]

test('wideband members hear each other up to 7 kHz, each without itself', () => {
  const { room, parties } = gather(['L16/16000', 'L16/16000', 'L16/16000'])
  run(room, TO, (tick, now) => {
    for (const [i, party] of parties.entries()) party.speak(party.tone(TONES[i]!, tick, 8000), now)
  })
  for (const [i, party] of parties.entries()) {
    for (const [n, hz] of TONES.entries()) {
      const level = wideAt(hz, party)
      assert.ok(i === n ? level < UNHEARD : Math.abs(level + 15.25) < 0.1, `${i} hears ${hz} Hz at ${level} dBov`)
    }
  }
})

test('a telephone of G.711 among them hears what is below 4 kHz, and nothing folded into it of what is above', () => {
  const { room, parties } = gather(['L16/16000', 'G722'])
  const phone = new Party('leg_p', '10.0.1.1')
  room.legs.push(phone.leg)
  run(room, TO, (tick, now) => {
    parties[0]!.speak(parties[0]!.tone(6000, tick), now)
    parties[1]!.speak(parties[1]!.tone(1000, tick), now)
    phone.speak(toneFrame(2000, tick), now)
  })
  const heard = phone.heard(FROM, TO)
  assert.ok(levelAt(1000, heard) > HEARD)
  assert.ok(levelAt(2000, heard) < UNHEARD, '6 kHz would be 2 kHz')
  for (const [hz, expected] of [
    [1000, true],
    [2000, true],
    [6000, false],
  ] as const) {
    assert.ok(wideAt(hz, parties[0]!) > HEARD === expected, `${hz} Hz: ${wideAt(hz, parties[0]!)} dBov`)
  }
  assert.ok(wideAt(6000, parties[1]!) > HEARD)
  // The image of the telephone's tone.
  assert.ok(wideAt(6000, parties[0]!) < UNHEARD)
})

test('one wideband member makes no wideband room, unless it is an echo; two do, and one that stays behind does no more', () => {
  for (const [kind, expected] of [
    ['conference', false],
    ['echo', true],
  ] as const) {
    const { room, parties } = gather(['L16/16000'], { ...SPEC, kind: kind as 'conference' })
    run(room, TO, (tick, now) => parties[0]!.speak(parties[0]!.tone(6000, tick), now))
    assert.is(parties[0]!.leg.isUpperWanted, expected)
    assert.is(wideAt(6000, parties[0]!) > HEARD, expected)
  }
  const { room, parties } = gather(['L16/16000', 'L16/16000'])
  run(room, 10, (tick, now) => parties[0]!.speak(parties[0]!.tone(6000, tick), now))
  assert.ok(parties[1]!.leg.isUpperWanted)
  room.legs.splice(1, 1)
  run(room, 3, () => {}, 10)
  assert.not.ok(parties[0]!.leg.isUpperWanted)
})

test('who is muted, on hold, deaf, or heard by others only is neither heard nor hears above 4 kHz', () => {
  const { room, parties } = gather(['L16/16000', 'L16/16000', 'L16/16000'])
  const [speaker, listener, third] = parties as [PacketParty, PacketParty, PacketParty]
  let at = 0
  /** Levels at which both others hear it. */
  const heard = (): boolean[] => {
    const from = at
    run(room, 30, (tick, now) => speaker.speak(speaker.tone(6000, tick), now), from)
    at += 30
    return [listener, third].map(party => wideAt(6000, party, at - 15, at) > HEARD)
  }
  assert.equal(heard(), [true, true])
  speaker.leg.muted = true
  assert.equal(heard(), [false, false])
  speaker.leg.muted = false
  speaker.leg.onHold = true
  assert.equal(heard(), [false, false])
  speaker.leg.onHold = false
  listener.leg.deaf = true
  assert.equal(heard(), [false, true])
  listener.leg.deaf = false
  speaker.leg.heardBy = new Set([listener.leg.id])
  assert.equal(heard(), [true, false])
})

/** A room whose last member is on another thread. Both threads run alternately, and either may be first. */
function spread(codecs: readonly PacketCodecName[], isAnnexFirst: boolean) {
  const { room, parties } = gather(codecs)
  const [far] = room.legs.splice(-1) as [Leg]
  const [annex, memory] = [new Annex(SPEC), newLegLink()]
  const guest = new GuestLeg(far.id, '', memory, () => {})
  room.isSpread = true
  room.legs.push(guest)
  guest.comeIn(room)
  annex.legs.push(far)
  annex.link(far, memory)
  const rooms = isAnnexFirst ? [annex, room] : [room, annex]
  const tick = (ticks: number, speak: (tick: number, now: number) => void, from = 0): void => {
    for (let at = from; at < from + ticks; at++) {
      speak(at, at * 20)
      for (const one of rooms) one.tick(at * 20 + 5)
    }
  }
  return { room, annex, parties, tick }
}

/** What is above 4 kHz of what a party has heard from a frame on, mirrored: 7.6 kHz are 400 Hz. */
function upperOf(party: PacketParty, from = 0): Int16Array {
  const wide = party.heard()
  const splitter = new BandSplitter()
  const low = new Int16Array(160)
  const upper = new Int16Array(wide.length / 2)
  for (let at = 0; at < upper.length; at += 160) {
    splitter.split(wide.subarray(2 * at, 2 * at + 320), low, upper.subarray(at, at + 160))
  }
  return upper.subarray(160 * from)
}

/** As the engine does it. */
function move({ leg }: PacketParty, from: Room, to: Room): void {
  from.legs.splice(from.legs.indexOf(leg), 1)
  from.left(leg)
  leg.comes(false)
  leg.hearsRoom = false
  to.legs.push(leg)
}

/** On its own a tone of 400 Hz bends by a tenth of its amplitude; a cut is a sharper bend. */
const assertNoCut = (party: PacketParty, from: number, what: string): void => {
  const [whole, most] = [sharpest(upperOf(party).subarray(160 * 15, 160 * 30)), sharpest(upperOf(party, from))]
  assert.ok(most < 2 * whole, `${what}: ${most} in place of ${whole}`)
}

test('who moves to another room hears what is above 4 kHz fade out and in, and is heard so', () => {
  for (const at of [40, 41, 43]) {
    const { room, parties } = gather(['L16/16000', 'L16/16000', 'L16/16000'])
    const other = gather(['L16/16000'])
    const [mover, speaker, listener] = parties as [PacketParty, PacketParty, PacketParty]
    for (let tick = 0; tick < at + 20; tick++) {
      const now = tick * 20
      if (tick === at) move(mover, room, other.room)
      mover.speak(mover.tone(7500, tick, 8000), now)
      speaker.speak(speaker.tone(7600, tick, 8000), now)
      other.parties[0]!.speak(new Int16Array(320), now)
      for (const one of [room, other.room]) one.tick(now + 5)
    }
    assertNoCut(mover, at - 5, `${at}, what it hears`)
    assertNoCut(speaker, at - 5, `${at}, for those who stay`)
    assert.ok(wideAt(7600, mover, at + 5, at + 15) < UNHEARD && wideAt(7500, speaker, at + 5, at + 15) < UNHEARD)
    assert.ok(wideAt(7600, listener, at + 5, at + 15) > -20)
  }
})

for (const isAnnexFirst of [true, false]) {
  const order = isAnnexFirst ? 'before' : 'behind'
  test(`a wideband member of another thread, whose tick is ${order} the room's, hears up to 7 kHz and is heard so`, () => {
    const { parties, tick } = spread(['L16/16000', 'L16/16000', 'L16/16000'], isAnnexFirst)
    tick(TO, (at, now) => {
      for (const [i, party] of parties.entries()) party.speak(party.tone(TONES[i]!, at, 8000), now)
    })
    for (const [i, party] of parties.entries()) {
      for (const [n, hz] of TONES.entries()) {
        const level = wideAt(hz, party)
        assert.ok(i === n ? level < UNHEARD : Math.abs(level + 15.25) < 0.1, `${i} hears ${hz} Hz at ${level} dBov`)
      }
    }
  })
}

test('a member of another thread with a telephone codec makes no room wide, and hears nothing folded from above 4 kHz', () => {
  const { room, parties, tick } = spread(['L16/16000', 'L16/8000'], true)
  tick(TO, (at, now) => parties[0]!.speak(parties[0]!.tone(6000, at), now))
  assert.not.ok(room.legs.some(leg => leg.isUpperWanted))
  assert.ok(wideAt(2000, parties[1]!) < UNHEARD)
})

test('on two threads, too, nothing above 4 kHz of who is muted, deaf, or masked in a pause is let through', () => {
  const { room, annex, parties, tick } = spread(['L16/16000', 'L16/16000'], true)
  const [near, far] = parties as [PacketParty, PacketParty]
  let at = 0
  /** Whether each hears the other. */
  const heard = (): boolean[] => {
    const from = at
    const speak = (n: number, now: number): void => {
      for (const party of parties) {
        const [low, high] = [party.tone(700, n, 6000), party.tone(6000, n, 6000)]
        party.speak(
          low.map((sample, i) => sample + high[i]!),
          now,
        )
      }
    }
    tick(40, speak, from)
    at += 40
    return [near, far].map(party => wideAt(6000, party, at - 15, at) > -25)
  }
  assert.equal(heard(), [true, true])
  far.leg.muted = true
  assert.equal(heard(), [false, true])
  far.leg.muted = false
  far.leg.deaf = true
  assert.equal(heard(), [true, false])
  far.leg.deaf = false
  const pause = { maskDtmf: true, destinationLegId: null, reason: '' }
  room.pause = annex.pause = pause
  assert.equal(heard(), [false, false])
})

test('in a card-payment pause whose keys are masked nothing above 4 kHz is let through', () => {
  const { room, parties } = gather(['L16/16000', 'L16/16000'])
  const [payer, agent] = parties as [PacketParty, PacketParty]
  room.pause = { maskDtmf: true, destinationLegId: null, reason: '' }
  run(room, TO, (tick, now) => {
    const [low, high] = [payer.tone(700, tick, 6000), payer.tone(6000, tick, 6000)]
    payer.speak(
      low.map((sample, i) => sample + high[i]!),
      now,
    )
  })
  assert.ok(wideAt(6000, agent) < UNHEARD, `${wideAt(6000, agent)} dBov`)
})

test('sinks keep their format: 8 kHz, and what is below 4', () => {
  const { room, parties } = gather(['L16/16000', 'L16/16000'])
  const sink = new KeepingSink()
  room.sinks.push(sink)
  parties[0]!.leg.sinks.push(sink)
  run(room, TO, (tick, now) => parties[0]!.speak(parties[0]!.tone(1000, tick), now))
  assert.ok(sink.frames.inbound.every(frame => frame.length === 160))
  assert.ok(levelAt(1000, sink.samples('inbound', 2 * FROM, 2 * TO)) > -20)
})

test('what is too loud together is limited in both bands alike', () => {
  const { room, parties } = gather(['L16/16000', 'L16/16000', 'L16/16000', 'L16/16000'])
  const listener = parties[3]!
  run(room, TO, (tick, now) => {
    for (const party of parties.slice(0, 3)) {
      const [low, high] = [party.tone(1000, tick, 20_000), party.tone(6000, tick, 4000)]
      party.speak(
        low.map((sample, i) => sample + high[i]!),
        now,
      )
    }
  })
  const [low, high] = [wideAt(1000, listener), wideAt(6000, listener)]
  assert.ok(Math.abs(low - high - 20 * Math.log10(5)) < 1, `${low} and ${high} dBov`)
  const samples = listener.heard(FROM, TO)
  const rest = 10 ** (loudness(samples) / 10) - 10 ** (low / 10) - 10 ** (high / 10)
  assert.ok(10 * Math.log10(Math.max(rest, 1e-12)) < -25, `${10 * Math.log10(rest)} dBov of something else`)
})

test.run()
