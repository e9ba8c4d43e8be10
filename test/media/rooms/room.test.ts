import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { Player } from '../../../media/engine/player.ts'
import type { RoomSpec } from '../../../media/protocol.ts'
import { Room } from '../../../media/rooms/room.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, levelOf, Party, run, seeded, sharpest, toneFrame } from '../engine/party.ts'

const SECOND = 50
/** Ticks until the first audio has passed the jitter buffers. */
const SETTLED = 10
const TONES = [440, 1000, 1720]

const spec = (changes: Partial<RoomSpec> = {}): RoomSpec => ({
  roomId: 'call_1',
  kind: 'conference',
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 100,
  ...changes,
})

function roomOf(count: number, changes: Partial<RoomSpec> = {}): { room: Room; parties: Party[] } {
  const room = new Room(spec(changes))
  const parties = Array.from({ length: count }, (_, i) => new Party(`part_${i}`, `192.0.2.${i + 1}`))
  room.legs.push(...parties.map(party => party.leg))
  return { room, parties }
}

const speakTones =
  (parties: Party[]) =>
  (tick: number, now: number): void =>
    parties.forEach((party, i) => party.speak(toneFrame(TONES[i]!, tick), now))

/** Asserts by frequency who hears whom over a whole second. */
function assertHears(parties: Party[], hears: (listener: number, speaker: number) => boolean): void {
  parties.forEach((party, listener) => {
    const heard = party.heard(SETTLED, SETTLED + SECOND)
    TONES.slice(0, parties.length).forEach((hz, speaker) => {
      const level = levelOf(hz, heard)
      if (hears(listener, speaker)) assert.ok(level > -13, `${listener} hears ${speaker}: ${level} dBov`)
      else assert.ok(level < -60, `${listener} does not hear ${speaker}: ${level} dBov`)
    })
  })
}

const test = suite('media/engine/room')

test('three parties hear each other and not themselves over a whole second', () => {
  const { room, parties } = roomOf(3)
  run(room, SETTLED + SECOND, speakTones(parties))
  assertHears(parties, (listener, speaker) => listener !== speaker)
})

for (const count of [2, 3]) {
  for (const state of ['muted', 'onHold'] as const) {
    test(`of ${count}, who is ${state} in the middle of a tone falls silent and comes back without a click`, () => {
      const { room, parties } = roomOf(count)
      const [{ leg }, listener] = [parties[0]!, parties[1]!]
      for (let tick = 0; tick < 200; tick++) {
        // The tone is elsewhere in its period each time.
        leg[state] = tick > 60 && tick % 33 > 15
        run(room, 1, (at, now) => parties[0]!.speak(toneFrame(415, at), now), tick)
      }
      assert.ok(levelOf(415, listener.heard(40, 60)) > -13)
      assert.ok(levelOf(415, listener.heard(88, 98)) < -90)
      assert.ok(levelOf(415, listener.heard(104, 112)) > -13)
      const whole = listener.heard(40, 60)
      const all = listener.heard(SETTLED)
      assert.ok(sharpest(all) < 2 * sharpest(whole), `${sharpest(all)} in place of ${sharpest(whole)}`)
    })
  }
}

/** A loop of a tone that has no whole number of periods in a frame. */
const toneLoop = (): Player => {
  const samples = Int16Array.from({ length: 8000 }, (_, i) =>
    Math.round(11_600 * Math.cos((2 * Math.PI * 415 * i) / 8000)),
  )
  return new Player([{ samples, length: samples.length }], { loop: true, frameSamples: 160 })
}

for (const count of [2, 3]) {
  for (const music of [true, false]) {
    test(`of ${count}, who is put on hold ${music ? 'with' : 'without'} music hears where it begins and ends without a click`, () => {
      const { room, parties } = roomOf(count)
      const { leg } = parties[1]!
      for (let tick = 0; tick < 200; tick++) {
        const isHeld = tick > 60 && tick % 33 > 15
        if (isHeld && !leg.onHold) leg.holdAudio = music ? toneLoop() : null
        if (!isHeld) leg.holdAudio = null
        leg.onHold = isHeld
        run(room, 1, (at, now) => parties[0]!.speak(toneFrame(415, at), now), tick)
      }
      assert.ok(levelOf(415, parties[1]!.heard(104, 112)) > -13)
      const onHold = levelOf(415, parties[1]!.heard(88, 98))
      assert.ok(music ? onHold > -13 : onHold < -90, `${onHold} dBov`)
      const whole = parties[1]!.heard(40, 60)
      const all = parties[1]!.heard(SETTLED)
      assert.ok(sharpest(all) < 2 * sharpest(whole), `${sharpest(all)} in place of ${sharpest(whole)}`)
    })
  }
}

test('who is put on hold where packets were relayed hears the music begin without a click, behind the last of them', () => {
  const { room, parties } = roomOf(2)
  const { leg } = parties[1]!
  let relays = 0
  room.passing = isOn => (relays += isOn ? 1 : 0)
  for (let tick = 0; tick < 330; tick++) {
    run(
      room,
      1,
      (at, now) => {
        parties[0]!.speak(toneFrame(415, at), now)
        parties[1]!.speak(toneFrame(0, 0), now)
        // The last packet before it has been relayed.
        const isHeld = tick > 60 && tick % 83 > 66
        if (isHeld && !leg.onHold) leg.holdAudio = toneLoop()
        leg.onHold = isHeld
      },
      tick,
    )
  }
  assert.ok(relays > 2, `${relays}`)
  const heard = parties[1]!.heard(SETTLED)
  const whole = sharpest(parties[1]!.heard(30, 50))
  assert.ok(sharpest(heard) < 2 * whole, `${sharpest(heard)} in place of ${whole}`)
})

test('whose audio goes on with another SSRC, while some of it waits in the jitter buffer, is heard without a click', () => {
  for (const [jitterMs, seed] of [
    [20, 9],
    [40, 5],
    [40, 9],
    [60, 6],
    [60, 8],
    [60, 9],
  ] as const) {
    for (const from of [101, 103, 300, 301, 303]) {
      const { room, parties } = roomOf(3)
      const random = seeded(seed)
      const senders = [1, 2].map(
        ssrc => new RtpSender({ ssrc, sequence: 300 * ssrc, timestamp: 77_777 * ssrc, maxPayload: 160 }),
      )
      const onTheWay: { at: number; packet: Uint8Array }[] = []
      run(room, from + 50, (tick, now) => {
        const sender = senders[tick < from ? 0 : 1]!
        PCMU.encode(toneFrame(415, tick), sender.packet.subarray(12))
        const at = Math.max(onTheWay.at(-1)?.at ?? 0, now + ((random() >>> 8) % jitterMs))
        onTheWay.push({ at, packet: sender.write(0, 160).slice() })
        sender.advance(160)
        while (onTheWay.length > 0 && onTheWay[0]!.at <= now + 4) {
          const { at: arrival, packet } = onTheWay.shift()!
          parties[0]!.leg.rtp(packet, '192.0.2.1', 4000, arrival)
        }
      })
      const whole = sharpest(parties[1]!.heard(from - 60, from - 10))
      const most = sharpest(parties[1]!.heard(from - 10, from + 40))
      assert.ok(most < 2 * whole, `${most} in place of ${whole}, with ${jitterMs} ms of jitter`)
    }
  }
})

test('a muted party is heard by nobody and hears all others', () => {
  const { room, parties } = roomOf(3)
  parties[1]!.leg.muted = true
  run(room, SETTLED + SECOND, speakTones(parties))
  assertHears(parties, (listener, speaker) => listener !== speaker && speaker !== 1)
})

test('a deaf party hears nobody and is heard by all others', () => {
  const { room, parties } = roomOf(3)
  parties[1]!.leg.deaf = true
  run(room, SETTLED + SECOND, speakTones(parties))
  assertHears(parties, (listener, speaker) => listener !== speaker && listener !== 1)
})

test('a party that only rings is heard as the tone in its place, and as itself while it is heard; two others need no packet of it', () => {
  const { room, parties } = roomOf(2)
  const [waiting, rung] = parties as [Party, Party]
  const standIn = { tick: 0, pull: () => toneFrame(425, standIn.tick++) }
  rung.leg.standIn = standIn
  const speaks = (tick: number): boolean => tick >= SETTLED + SECOND
  run(room, 2 * (SETTLED + SECOND), (tick, now) => speaks(tick) && rung.speak(toneFrame(1000, tick), now))
  const [before, after] = [waiting.heard(SETTLED, SECOND), waiting.heard(SETTLED * 2 + SECOND, 2 * SECOND)]
  assert.ok(levelOf(425, before) > -13 && levelOf(1000, before) < -60, `${levelOf(425, before)} dBov`)
  assert.ok(levelOf(1000, after) > -13 && levelOf(425, after) < -60, `${levelOf(1000, after)} dBov`)
  assert.ok(levelOf(425, rung.heard(SETTLED, SECOND)) < -60, 'nobody hears himself')
})

test('the tone in the place of a party that rings ends without a click, at its early media and at its answer', () => {
  for (const isAnswered of [true, false]) {
    const { room, parties } = roomOf(2)
    const [waiting, rung] = parties as [Party, Party]
    rung.leg.standIn = toneLoop()
    run(room, 23, () => {})
    if (isAnswered) rung.leg.standIn = null
    run(room, 10, (_, now) => isAnswered || rung.speak(toneFrame(0, 0), now), 23)
    const heard = waiting.heard(5)
    const whole = sharpest(waiting.heard(5, 20))
    assert.ok(sharpest(heard) < 2 * whole, `${sharpest(heard)} in place of ${whole}`)
    assert.ok(waiting.heard(27).every(sample => sample === 0))
  }
})

test('in an echo room a party hears itself', () => {
  const { room, parties } = roomOf(1, { kind: 'echo' })
  run(room, SETTLED + SECOND, speakTones(parties))
  assertHears(parties, () => true)
})

test('one talker passes to the others with every byte as it was sent', () => {
  const { room, parties } = roomOf(3)
  const sent: string[] = []
  run(room, SETTLED + SECOND, (tick, now) => {
    const frame = toneFrame(937, tick)
    parties[0]!.speak(frame, now)
    const payload = new Uint8Array(frame.length)
    PCMU.encode(frame, payload)
    sent.push(Buffer.from(payload).toString('base64'))
  })
  for (const listener of parties.slice(1)) {
    const heard = listener.payloads.map(payload => Buffer.from(payload).toString('base64'))
    const first = heard.indexOf(sent[0]!)
    assert.is(first, 0, 'in the tick after it came')
    // The talker's stream, changed by nothing.
    assert.equal(heard.slice(first, first + SECOND), sent.slice(0, SECOND))
  }
})

test('the sum is clamped once, so the order of loud parties does not matter', () => {
  const loud = 30_000
  const heardIn = (order: number[]): Int16Array => {
    const { room, parties } = roomOf(4)
    room.legs.length = 0
    room.legs.push(...order.map(i => parties[i]!.leg))
    run(room, SETTLED + 5, (tick, now) => {
      parties[0]!.speak(toneFrame(500, tick, loud), now)
      parties[1]!.speak(toneFrame(500, tick, loud), now)
      // In opposite phase: the sum is that of one loud party, which no clamping on the way may change.
      parties[2]!.speak(toneFrame(500, tick, -loud), now)
    })
    return parties[3]!.heard(SETTLED)
  }
  const heard = heardIn([0, 1, 2, 3])
  assert.equal(heardIn([2, 0, 3, 1]), heard)
  assert.ok(Math.max(...heard) > 29_000, 'one party is left of three')
})

test('a room sink gets as inbound the mix of all participants and as outbound what the room plays', () => {
  const { room, parties } = roomOf(2)
  const sink = new KeepingSink()
  room.sinks.push(sink)
  const announcement = Int16Array.from({ length: 8000 }, (_, i) =>
    Math.round(9000 * Math.sin((2 * Math.PI * 2500 * i) / 8000)),
  )
  room.announce(new Player([{ samples: announcement, length: 8000 }], { loop: true, frameSamples: 160 }))
  run(room, SETTLED + SECOND, speakTones(parties))
  const inbound = sink.samples('inbound', SETTLED)
  const outbound = sink.samples('outbound', SETTLED)
  for (const hz of [440, 1000]) {
    assert.ok(levelOf(hz, inbound) > -13)
    assert.ok(levelOf(hz, outbound) < -60)
  }
  assert.ok(levelOf(2500, inbound) < -60)
  assert.ok(levelOf(2500, outbound) > -15)
  assert.ok(levelOf(2500, parties[0]!.heard(SETTLED)) > -15, 'the members hear the announcement')
})

test('a leg sink gets a frame per track and tick, silence included', () => {
  const { room, parties } = roomOf(2)
  const sink = new KeepingSink()
  parties[0]!.leg.sinks.push(sink)
  run(room, 100, (tick, now) => parties[0]!.speak(toneFrame(440, tick), now))
  assert.is(sink.frames.inbound.length, 100)
  assert.is(sink.frames.outbound.length, 100)
  assert.ok(levelOf(440, sink.samples('inbound', SETTLED, SETTLED + SECOND)) > -13)
  assert.ok(sink.samples('outbound').every(sample => sample === 0))
})

/** Samples in which what is stopped fades out: 5 ms. */
const FADE = 40

test('a member who is alone hears music, which fades out once somebody comes', () => {
  const { room, parties } = roomOf(2, { musicWhenAlone: true })
  const late = room.legs.pop()!
  const music = Int16Array.from({ length: 8000 }, (_, i) => Math.round(8000 * Math.sin((2 * Math.PI * 600 * i) / 8000)))
  room.music = new Player([{ samples: music, length: 8000 }], { loop: true, frameSamples: 160 })
  run(room, SECOND, () => {})
  assert.ok(levelOf(600, parties[0]!.heard()) > -16)
  room.legs.push(late)
  run(room, SECOND, () => {}, SECOND)
  assert.ok(parties[0]!.heard(SECOND).every((sample, n) => sample === 0 || n < FADE))
  assert.ok(sharpest(parties[0]!.heard(SECOND - 5)) < 2 * sharpest(parties[0]!.heard(10, SECOND)))
})

test('an announcement that nobody pulls does not wait without bound', () => {
  const { room } = roomOf(0)
  for (let i = 0; i < 1000; i++) room.announce({ pull: () => null })
  run(room, 1, () => {})
  let pulled = 0
  room.announce({
    pull: () => {
      pulled++
      return null
    },
  })
  run(room, 1, () => {})
  assert.is(pulled, 1)
})

test('a whisper is heard by one alone, and is in no mix of the room', () => {
  const { room, parties } = roomOf(3)
  const sink = new KeepingSink()
  room.sinks.push(sink)
  parties[2]!.leg.heardBy = new Set(['part_0'])
  run(room, SETTLED + SECOND, speakTones(parties))
  assertHears(parties, (listener, speaker) => listener !== speaker && !(speaker === 2 && listener === 1))
  assert.ok(levelOf(TONES[2]!, sink.samples('inbound', SETTLED)) < -60)
  assert.ok(levelOf(TONES[1]!, sink.samples('inbound', SETTLED)) > -13)
})

test('a monitor hears all and is heard by nobody, not even by who records it', () => {
  const { room, parties } = roomOf(3)
  const sink = new KeepingSink()
  parties[2]!.leg.sinks.push(sink)
  parties[2]!.leg.heardBy = new Set()
  run(room, SETTLED + SECOND, speakTones(parties))
  assertHears(parties, (listener, speaker) => listener !== speaker && speaker !== 2)
  assert.ok(sink.samples('inbound').every(sample => sample === 0))
})

test('a leg that hears only some hears those, and the others hear as ever', () => {
  const { room, parties } = roomOf(3)
  parties[0]!.leg.hears = new Set(['part_2'])
  run(room, SETTLED + SECOND, speakTones(parties))
  assertHears(parties, (listener, speaker) => listener !== speaker && !(listener === 0 && speaker === 1))
})

test('a leg on hold neither hears nor is heard, and hears its own audio in a loop', () => {
  const { room, parties } = roomOf(3)
  const { leg } = parties[1]!
  leg.onHold = true
  const samples = Int16Array.from({ length: 8000 }, (_, i) => toneFrame(600, Math.floor(i / 160))[i % 160]!)
  leg.holdAudio = new Player([{ samples, length: samples.length }], { loop: true, frameSamples: 160 })
  run(room, SETTLED + 2 * SECOND, speakTones(parties))
  assertHears(parties, (listener, speaker) => listener !== speaker && listener !== 1 && speaker !== 1)
  assert.ok(levelOf(600, parties[1]!.heard(SETTLED + SECOND, SETTLED + 2 * SECOND)) > -13)
})

test.run()
