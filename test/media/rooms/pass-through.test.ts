import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { dtmfTone } from '../../../codecs/tones.ts'
import { Chorus } from '../../../media/rooms/chorus.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, LISTENER, mediaOf, Party, toneFrame } from '../engine/party.ts'

const test = suite('media/rooms/pass-through')

const FRAME_MS = 20
/** When a party's packet arrives within our frame, and when the room is mixed [ms]. */
const COMES_AT = 3
const TICK_AT = 15
/** Until packets pass [frames]. */
const BEGUN = 60

/** Frames of which no two are alike. */
const frameOf = (n: number): Int16Array =>
  Int16Array.from({ length: LEG_SAMPLES }, (_, i) => ((n * 7919 + i * 104_729) % 16_000) - 8000)

const coded = (frame: Int16Array): Uint8Array => {
  const octets = new Uint8Array(LEG_SAMPLES)
  PCMU.encode(frame, octets)
  return octets
}

/** Two parties in a room; the first one says `frameOf(n)` in frame n. */
class Pair {
  readonly room = new Room({ roomId: 'room', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 9 })
  readonly one = new Party('one', '192.0.2.1')
  readonly other = new Party('other', '192.0.2.2')
  changes: boolean[] = []
  #frame = 0

  constructor() {
    this.room.legs.push(this.one.leg, this.other.leg)
    this.room.passing = isOn => this.changes.push(isOn)
  }

  /** Spoken so far. */
  get frames(): number {
    return this.#frame
  }

  get isPassing(): boolean {
    return this.changes.at(-1) === true
  }

  /** What the other one heard, packet by packet. */
  get heard(): number[] {
    const spoken = Array.from({ length: this.#frame }, (_, n) => coded(frameOf(n)).join())
    return this.other.payloads.map(payload => spoken.indexOf(payload.join()))
  }

  /** Sends `frames` frames; `before` is called before each tick. */
  talk(
    frames: number,
    { isLost = () => false, before = () => {}, rewrite = () => {}, comesAt = COMES_AT }: Talk = {},
  ): this {
    for (const end = this.#frame + frames; this.#frame < end; this.#frame++) {
      const now = this.#frame * FRAME_MS
      this.other.speak(toneFrame(440, this.#frame), now + comesAt)
      this.#say(isLost(this.#frame), now + comesAt, rewrite)
      before(this.#frame, now + comesAt)
      this.room.tick(now + TICK_AT)
    }
    return this
  }

  #say(isLost: boolean, now: number, rewrite: (packet: DataView) => void): void {
    const { leg } = this.one
    const rtp = leg.rtp
    if (isLost) leg.rtp = () => {}
    else {
      leg.rtp = (packet, ...from) => {
        rewrite(new DataView(packet.buffer, packet.byteOffset))
        rtp.call(leg, packet, ...from)
      }
    }
    this.one.speak(frameOf(this.#frame), now)
    leg.rtp = rtp
  }
}

interface Talk {
  /** Into each frame of ours [ms]. */
  comesAt?: number
  /** Of the first one's packets. */
  rewrite?: (packet: DataView) => void
  isLost?: (frame: number) => boolean
  before?: (frame: number, now: number) => void
}

const upTo = (last: number): number[] => Array.from({ length: last + 1 }, (_, n) => n)

/** Checks that each packet continues the one before in sequence number and timestamp. */
function assertGoesOn({ sequences, timestamps }: Party): void {
  for (let i = 1; i < sequences.length; i++) {
    assert.is((sequences[i]! - sequences[i - 1]!) & 0xffff, 1, `packet ${i}`)
    assert.is((timestamps[i]! - timestamps[i - 1]!) >>> 0, LEG_SAMPLES, `packet ${i}`)
  }
}

/** How far the timestamps of what the other party was sent are ahead of the time that has passed [ms]. */
function aheadOf({ other, frames }: Pair): number {
  const { timestamps } = other
  return (timestamps.at(-1)! + LEG_SAMPLES - timestamps[0]!) / 8 - frames * FRAME_MS
}

/** What was heard, without what came before anything was said. */
const said = (heard: readonly number[]): number[] => heard.filter(n => n >= 0)

test('of two parties whom nobody else hears each packet goes on when it comes, as it came', () => {
  const pair = new Pair().talk(BEGUN)
  assert.ok(pair.isPassing)
  const before = pair.heard.length
  pair.talk(40, {
    before: frame => assert.is(pair.other.payloads.length, before + frame - BEGUN + 1),
  })
  assert.equal(pair.heard.slice(before), upTo(99).slice(BEGUN))
  assertGoesOn(pair.other)
})

test('not a sample is lost or said twice when that begins, and when it ends', () => {
  const pair = new Pair().talk(BEGUN)
  assert.equal(said(pair.heard), upTo(BEGUN - 1))
  pair.room.taps.push(LISTENER)
  pair.talk(40)
  assert.equal(pair.changes, [true, false])
  // The last packets wait for their tick again.
  const heard = said(pair.heard)
  assert.equal(heard, upTo(heard.length - 1))
  assert.ok(heard.length >= 98)
  pair.room.taps.pop()
  pair.talk(BEGUN)
  assert.ok(pair.isPassing)
  assert.equal(said(pair.heard), upTo(159))
  assertGoesOn(pair.other)
})

test('nor where a third one is heard at once who comes into the room', () => {
  for (const comesAt of [COMES_AT, TICK_AT - 2]) {
    const pair = new Pair().talk(BEGUN, { comesAt })
    const third = new Party('third', '192.0.2.3')
    const silence = new Int16Array(LEG_SAMPLES)
    const own = new Room({ roomId: 'own', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 1 })
    own.legs.push(third.leg)
    const before = (_frame: number, now: number): void => {
      third.speak(silence, now)
      own.tick(now)
    }
    pair.talk(10, { comesAt, before })
    own.legs.pop()
    pair.room.legs.push(third.leg)
    pair.talk(40, { comesAt, before })
    assert.is(pair.isPassing, false)
    const from = pair.heard.indexOf(BEGUN)
    const heard = pair.heard.slice(from)
    assert.equal(heard, upTo(BEGUN + heard.length - 1).slice(BEGUN), `${comesAt} ms`)
    assertGoesOn(pair.other)
  }
})

test('it begins a second after the last that had to be mixed, not before', () => {
  const pair = new Pair().talk(40)
  assert.equal(pair.changes, [])
  pair.one.leg.muted = true
  pair.talk(1)
  pair.one.leg.muted = false
  pair.talk(49)
  assert.equal(pair.changes, [])
  pair.talk(2)
  assert.equal(pair.changes, [true])
})

test('who comes in the place of another, whose codec was another one, is mixed for as long as anybody', () => {
  const pair = new Pair()
  const { room, other } = pair
  other.leg.connect({ ...mediaOf('192.0.2.2'), codec: 'PCMA', payloadType: 8, receivePayloadTypes: [8, 0] }, 0)
  pair.talk(2 * BEGUN)
  assert.equal(pair.changes, [])
  room.legs.pop()
  room.left(other.leg)
  const next = new Party('next', '192.0.2.3')
  next.leg.comes(false)
  next.leg.hearsRoom = false
  room.legs.push(next.leg)
  let since = 0
  pair.talk(BEGUN, {
    before: (frame, now) => {
      next.speak(toneFrame(440, frame), now)
      if (!pair.isPassing) since++
    },
  })
  assert.ok(since >= 50 && since < BEGUN, `${since}`)
})

/** Reasons not to pass packets through: other audio, other listeners, or processing. */
const OTHERS: Record<string, (pair: Pair) => void> = {
  'a sink of a leg': ({ one }) => one.leg.sinks.push(new KeepingSink()),
  'a sink of the room': ({ room }) => room.sinks.push(new KeepingSink()),
  'a recorder': ({ room }) => room.taps.push(LISTENER),
  'a third party': ({ room }) => room.legs.push(new Party('third', '192.0.2.3').leg),
  'one party alone': ({ room }) => room.legs.pop(),
  'a pause': ({ room }) => (room.pause = { maskDtmf: true, destinationLegId: null, reason: 'payment' }),
  'other threads': ({ room }) => (room.isSpread = true),
  'an announcement': ({ room }) => room.announce({ pull: () => toneFrame(440, 0) }),
  'a voice to all': ({ room }) => (room.chorus = chorusOf()),
  'a voice to one': ({ other }) => (other.leg.chorus = chorusOf()),
  'what plays to one': ({ one }) => (one.leg.player = { pull: () => null }),
  'a wait for keys': ({ one }) => (one.leg.waiter = { tick: () => {} }),
  'a mute': ({ one }) => (one.leg.muted = true),
  'one who hears nothing': ({ one }) => (one.leg.deaf = true),
  'a hold': ({ one }) => (one.leg.onHold = true),
  'a whisper': ({ one }) => (one.leg.heardBy = new Set()),
  'who hears not all': ({ one }) => (one.leg.hears = new Set()),
}
const chorusOf = (): Chorus => {
  const chorus = new Chorus(LEG_SAMPLES)
  chorus.add({ pull: () => null })
  return chorus
}

for (const [what, begin] of Object.entries(OTHERS)) {
  test(`${what} ends it with the next packet`, () => {
    const pair = new Pair().talk(BEGUN)
    const before = pair.other.payloads.length
    begin(pair)
    pair.one.speak(frameOf(BEGUN), BEGUN * FRAME_MS)
    assert.is(pair.other.payloads.length, before, 'nothing goes on')
    pair.room.tick(BEGUN * FRAME_MS + TICK_AT)
    assert.not.ok(pair.isPassing)
  })
}

test('in another codec, in packets of another length or described as not listening, it is mixed', () => {
  const others = [
    { codec: 'PCMA' as const, payloadType: 8, receivePayloadTypes: [8] },
    { ptimeMs: 40 },
    { direction: 'sendonly' as const },
    { direction: 'inactive' as const },
  ]
  for (const media of others) {
    const pair = new Pair().talk(BEGUN)
    pair.other.leg.connect({ ...mediaOf('192.0.2.2'), ...media }, BEGUN * FRAME_MS)
    pair.talk(2 * BEGUN)
    assert.equal(pair.changes, [true, false], JSON.stringify(media))
  }
})

test('who leaves the room for another one is heard there, and no more where it was', () => {
  const pair = new Pair().talk(BEGUN)
  const next = new Room({ roomId: 'next', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 9 })
  const third = new Party('third', '192.0.2.3')
  const fourth = new Party('fourth', '192.0.2.4')
  pair.room.legs.splice(0, 1, third.leg)
  next.legs.push(pair.one.leg, fourth.leg)
  const before = pair.other.payloads.length
  for (let n = BEGUN; n < BEGUN + 10; n++) {
    fourth.speak(toneFrame(440, n), n * FRAME_MS + COMES_AT)
    pair.one.speak(frameOf(n), n * FRAME_MS + COMES_AT)
    assert.is(pair.other.payloads.length, before)
    next.tick(n * FRAME_MS + TICK_AT)
  }
  assert.ok(fourth.heard().some(sample => sample !== 0))
})

test('what is lost is missing for who gets it, what is late comes late, and what comes again is dropped', () => {
  const pair = new Pair().talk(BEGUN)
  const { one, other } = pair
  const before = other.payloads.length
  const packets: Uint8Array[] = []
  const rtp = one.leg.rtp.bind(one.leg)
  one.leg.rtp = bytes => packets.push(bytes.slice())
  for (let n = BEGUN; n < BEGUN + 5; n++) one.speak(frameOf(n), 0)
  one.leg.rtp = rtp
  const now = BEGUN * FRAME_MS
  // The second never comes; the third after the fourth; the first twice.
  for (const n of [0, 0, 3, 2, 3, 4]) rtp(packets[n]!, '192.0.2.1', 4000, now)
  const first = other.sequences[before]!
  const start = other.timestamps[before]!
  assert.equal(
    other.sequences.slice(before).map(sequence => (sequence - first) & 0xffff),
    [0, 3, 2, 4],
  )
  assert.equal(
    other.timestamps.slice(before).map(timestamp => (timestamp - start) >>> 0),
    [0, 3 * LEG_SAMPLES, 2 * LEG_SAMPLES, 4 * LEG_SAMPLES],
  )
  assert.is(one.leg.quality.packetsLost, 1)
})

test('who falls silent for 200 ms is mixed: the other one hears silence, and its timestamps count the time in which nothing was sent', () => {
  const pair = new Pair().talk(BEGUN)
  const { other } = pair
  const before = other.payloads.length
  pair.talk(50, { isLost: () => true })
  assert.equal(pair.changes, [true, false])
  assert.ok(other.payloads.length >= before + 35)
  // Repeatedly: otherwise each silence would delay everything after it at a receiver that plays by the timestamps.
  for (let n = 0; n < 5; n++) pair.talk(150).talk(50, { isLost: () => true })
  assert.ok(Math.abs(aheadOf(pair)) <= 2 * FRAME_MS, `${aheadOf(pair)} ms`)
  const isStep = ({ timestamps }: Party, i: number): boolean => timestamps[i]! - timestamps[i - 1]! !== LEG_SAMPLES
  for (let i = 1; i < other.sequences.length; i++) {
    assert.is((other.sequences[i]! - other.sequences[i - 1]!) & 0xffff, 1)
    assert.is(other.markers[i], isStep(other, i), `packet ${i}`)
  }
})

test('who is muted while packets are relayed, again and again, is no later for it', () => {
  const pair = new Pair().talk(BEGUN)
  for (let n = 0; n < 20; n++) {
    pair.one.leg.muted = true
    pair.talk(10)
    pair.one.leg.muted = false
    pair.talk(BEGUN + 10)
  }
  assert.ok(Math.abs(aheadOf(pair)) <= 3 * FRAME_MS, `${aheadOf(pair)} ms`)
})

test('a party that begins another stream is heard on, in one stream', () => {
  const pair = new Pair().talk(BEGUN)
  const again = new Party('copy', '192.0.2.9')
  again.leg.rtp = (bytes, _host, _port, now) => {
    const packet = bytes.slice()
    packet[11] = 99
    pair.one.leg.rtp(packet, '192.0.2.1', 4000, now)
  }
  for (let n = BEGUN; n < BEGUN + 200; n++) {
    const now = n * FRAME_MS
    pair.other.speak(toneFrame(440, n), now + COMES_AT)
    again.speak(frameOf(n), now + COMES_AT)
    pair.room.tick(now + TICK_AT)
  }
  assertGoesOn(pair.other)
  assert.ok(pair.isPassing)
})

test('a key that is to be sent goes out as an event, and audio goes on behind it', () => {
  const pair = new Pair().talk(BEGUN)
  pair.other.leg.sendKey('5', 100)
  pair.talk(100)
  const codes = pair.other.events.map(({ code }) => code)
  assert.equal([...new Set(codes)], [5])
  assert.equal(pair.changes, [true, false, true])
})

test('keys as tones and fax tones are heard in what passes', () => {
  const pair = new Pair()
  const { one } = pair
  one.leg.connect(mediaOf('192.0.2.1', { telephoneEvent: false }), 0)
  pair.talk(BEGUN)
  assert.ok(pair.isPassing)
  const tone = dtmfTone('7', 100)
  const calls = Array.from({ length: 60 }, (_, n) => toneFrame(1100, n))
  const frames = [
    ...Array.from({ length: 5 }, (_, n) => tone.subarray(n * LEG_SAMPLES, (n + 1) * LEG_SAMPLES)),
    ...calls,
  ]
  let wasDown = false
  for (const [i, frame] of frames.entries()) {
    const now = (BEGUN + i) * FRAME_MS
    one.speak(i < 30 ? frame : new Int16Array(LEG_SAMPLES), now + COMES_AT)
    pair.other.speak(toneFrame(440, BEGUN + i), now + COMES_AT)
    pair.room.tick(now + TICK_AT)
    wasDown ||= one.leg.tones.isDown
  }
  assert.ok(pair.isPassing)
  assert.ok(wasDown)
  assert.is(one.leg.faxDetected, 'cng')
})

test('a key of 40 ms is heard wherever passing begins in it', () => {
  const tone = dtmfTone('7', 40)
  for (let from = BEGUN - 15; from < BEGUN; from++) {
    const pair = new Pair()
    const { one } = pair
    one.leg.connect(mediaOf('192.0.2.1', { telephoneEvent: false }), 0)
    let wasDown = false
    for (let n = 0; n < BEGUN + 10; n++) {
      const at = (n - from) * LEG_SAMPLES
      const isKey = at >= 0 && at < tone.length
      one.speak(isKey ? tone.subarray(at, at + LEG_SAMPLES) : new Int16Array(LEG_SAMPLES), n * FRAME_MS + COMES_AT)
      pair.other.speak(toneFrame(440, n), n * FRAME_MS + COMES_AT)
      pair.room.tick(n * FRAME_MS + TICK_AT)
      wasDown ||= one.leg.tones.isDown
    }
    assert.ok(pair.isPassing && wasDown, `from frame ${from}`)
  }
})

test('a leg whose packets pass is known by the same figures', () => {
  const mixed = new Pair()
  mixed.room.taps.push(LISTENER)
  const passed = new Pair()
  for (const pair of [mixed, passed]) pair.talk(300, { isLost: frame => frame % 50 === 49 })
  const [a, b] = [mixed.one.leg.quality, passed.one.leg.quality]
  assert.is(b.packetsReceived, a.packetsReceived)
  assert.is(b.packetsLost, a.packetsLost)
  assert.ok(b.mos !== null && Math.abs(b.mos - a.mos!) < 0.3, `${a.mos} and ${b.mos}`)
  assert.ok(Math.abs(b.concealedPct - a.concealedPct) < 1, `${a.concealedPct} and ${b.concealedPct}`)
  assert.ok(b.delayMs <= a.delayMs)
})

/** Sequence number and SSRC (RFC 3550 §5.1) [bytes]. */
const [SEQUENCE_AT, SSRC_AT] = [2, 8]

const setBack = (packet: DataView): void => packet.setUint16(SEQUENCE_AT, packet.getUint16(SEQUENCE_AT) - 1000)

for (const [what, ssrc, goesOn] of [
  ['another source, whose numbers lie behind those of the last, is heard, and passes again after a second', 8, false],
  ['the same source, which begins to count anew, goes on passing without a gap', 7, true],
] as const) {
  test(what, () => {
    const pair = new Pair().talk(BEGUN)
    assert.ok(pair.isPassing)
    pair.talk(2 * BEGUN, {
      rewrite: packet => {
        setBack(packet)
        packet.setUint32(SSRC_AT, ssrc)
      },
    })
    const missing = upTo(3 * BEGUN - 4).filter(n => !pair.heard.includes(n))
    assert.ok(missing.length <= (goesOn ? 0 : 3), `${missing}`)
    assert.equal(pair.changes, goesOn ? [true] : [true, false, true])
    assert.ok(pair.one.leg.quality.packetsLate <= 1)
    if (goesOn) assertGoesOn(pair.other)
  })
}

test('the delay of what is relayed includes the buffer that its receiver needs for the jitter', () => {
  const qualityOf = (spreadMs: number) => {
    const [pair, random] = [new Pair().talk(BEGUN), seeded(1)]
    for (let n = 0; n < 500; n++) pair.talk(1, { comesAt: COMES_AT + spreadMs * random() })
    assert.ok(pair.isPassing)
    return pair.one.leg.quality
  }
  const [calm, unsteady] = [qualityOf(0), qualityOf(10)]
  assert.equal([calm.jitterMs, calm.delayMs], [0, FRAME_MS])
  assert.ok(unsteady.jitterMs! > 2)
  assert.ok(
    unsteady.delayMs! >= FRAME_MS + 2 * unsteady.jitterMs!,
    `${unsteady.delayMs} ms, jitter ${unsteady.jitterMs} ms`,
  )
})

test('a packet that comes once more a second later is dropped, and the others go on passing', () => {
  const pair = new Pair().talk(BEGUN)
  const { leg } = pair.one
  const kept: Uint8Array[] = []
  pair.talk(80, {
    rewrite: packet => kept.push(new Uint8Array(packet.buffer.slice(packet.byteOffset))),
    before: (frame, now) => {
      if (frame === BEGUN + 60) leg.rtp(kept[5]!, '192.0.2.1', 4000, now)
    },
  })
  assert.equal(pair.changes, [true])
  assert.equal(said(pair.heard), upTo(BEGUN + 79))
})

test('packets that change places on their way are neither lost nor concealed', () => {
  const pair = new Pair().talk(BEGUN)
  const { leg } = pair.one
  const take = leg.rtp
  let held: Parameters<typeof take> | null = null
  // Each tenth comes behind its successor.
  pair.talk(40, {
    before: frame => {
      leg.rtp = (...packet) => {
        const before = held
        held = frame % 10 === 4 ? packet : null
        if (held === null) take.apply(leg, packet)
        if (before !== null) take.apply(leg, before)
      }
    },
  })
  assert.ok(pair.isPassing)
  assert.equal(
    [...said(pair.heard)].sort((a, b) => a - b),
    upTo(BEGUN + 39),
  )
  const { packetsLost, concealedPct, burstRatio } = leg.quality
  assert.equal([packetsLost, concealedPct, burstRatio], [0, 0, 1])
})

test.run()
