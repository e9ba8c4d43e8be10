import { Application, createEncoder } from 'libopus-wasm'
import * as assert from 'uvu/assert'
import { loudness } from '../../../bench/spectrum.ts'
import { type G711, PCMA, PCMU } from '../../../codecs/g711.ts'
import { OpusCodec } from '../../../codecs/packets/opus.ts'
import type { LegMedia } from '../../../media/legs/leg-media.ts'
import { PACKET_CODECS } from '../../../media/legs/packet-audio.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { LEG_SAMPLES, NO_HOOKS, SILENCE } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { parseRtcp, RTCP_BUFFER_BYTES, RtcpCompound, writeBye, writeReport } from '../../../media/rtp/rtcp.ts'
import { parseRtp, RtpPacket, RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf, run, Speaker, seeded, sharpest, toneFrame } from '../engine/party.ts'

const test = suite('media/legs/codec-change')

/** A frame does not have a whole number of periods, so that a frame too many or too few is noticed. */
const HZ = 1015
const LAWS: Record<number, G711> = { 0: PCMU, 8: PCMA }
/** Maximum quantisation noise at this level after both laws [of 32768]. */
const CODEC_NOISE = 1100
const SSRC = 7

interface Packet {
  payloadType: number
  sequence: number
  timestamp: number
  samples: Int16Array
}

/** A leg with a far end that sends in either law. */
class FarEnd {
  readonly leg: RtpLeg
  readonly got: Packet[] = []
  readonly #host: string
  readonly #speaker: Speaker
  #law: G711 = PCMU
  #now = 0

  constructor(id: string, host: string) {
    this.#host = host
    const out = { sendRtp: (bytes: Uint8Array, length: number) => this.#take(bytes, length), sendRtcp: () => {} }
    this.leg = new RtpLeg(id, out, NO_HOOKS, seeded(id.charCodeAt(5)), () => {})
    this.leg.connect(mediaOf(host), 0)
    this.#speaker = new Speaker(packet => this.#deliver(packet))
  }

  /** Renegotiates the media. */
  agree(changes: Partial<LegMedia>, now: number): void {
    this.leg.connect({ ...mediaOf(this.#host), ...changes }, now)
  }

  say(tick: number, now: number, law: G711): void {
    this.#law = law
    this.#now = now
    this.#speaker.speak(toneFrame(HZ, tick), now)
  }

  rtcp(bytes: Uint8Array, now: number): void {
    this.leg.rtcp(bytes, this.#host, 4001, now)
  }

  heard(): Int16Array {
    return Int16Array.from(this.got.flatMap(({ samples }) => [...samples]))
  }

  #deliver(packet: Uint8Array): void {
    if (this.#law === PCMA) {
      packet[1] = (packet[1]! & 0x80) | 8
      const samples = new Int16Array(LEG_SAMPLES)
      PCMU.decode(packet.subarray(12), samples)
      PCMA.encode(samples, packet.subarray(12))
    }
    this.leg.rtp(packet, this.#host, 4000, this.#now)
  }

  #take(bytes: Uint8Array, length: number): void {
    const packet = new RtpPacket()
    parseRtp(bytes.subarray(0, length), packet)
    const { payloadType, sequence, timestamp, payloadOffset, payloadLength } = packet
    const samples = new Int16Array(payloadLength)
    LAWS[payloadType]!.decode(bytes.subarray(payloadOffset, payloadOffset + payloadLength), samples)
    this.got.push({ payloadType, sequence, timestamp, samples })
  }
}

function scene(): { a: FarEnd; b: FarEnd; room: Room } {
  const room = new Room({ roomId: 'call_1', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 2 })
  const [a, b] = [new FarEnd('part_a', '192.0.2.1'), new FarEnd('part_b', '192.0.2.2')]
  room.legs.push(a.leg, b.leg)
  return { a, b, room }
}

/** Maximum distance of samples from the sine of their first half second. */
function furthest(samples: Int16Array): number {
  const w = (2 * Math.PI * HZ) / 8000
  const fitted = 4000
  let [c, s] = [0, 0]
  for (let n = 0; n < fitted; n++) {
    c += (2 / fitted) * samples[n]! * Math.cos(w * n)
    s += (2 / fitted) * samples[n]! * Math.sin(w * n)
  }
  assert.ok(Math.hypot(c, s) > 11_000, 'the tone is there')
  return samples.reduce(
    (most, sample, n) => Math.max(most, Math.abs(sample - c * Math.cos(w * n) - s * Math.sin(w * n))),
    0,
  )
}

/** Well after the first frames, before which nothing is heard. */
const SETTLED = 10 * LEG_SAMPLES
const law = (tick: number): G711 => (tick < 60 ? PCMU : PCMA)

test('a 1 kHz tone goes through a room without a jump while its sender changes the codec', () => {
  const { a, b, room } = scene()
  run(room, 120, (tick, now) => {
    if (tick === 60) a.agree({ codec: 'PCMA', payloadType: 8, receivePayloadTypes: [8] }, now)
    // The last packets of the old codec arrive after the change was negotiated.
    a.say(tick, now, law(tick - 3))
  })
  assert.ok(furthest(b.heard().slice(SETTLED)) < CODEC_NOISE)
})

test('and while its listener changes the codec: sequence numbers and timestamps go on', () => {
  const { a, b, room } = scene()
  run(room, 120, (tick, now) => {
    if (tick === 60) b.agree({ codec: 'PCMA', payloadType: 8, receivePayloadTypes: [8] }, now)
    a.say(tick, now, PCMU)
  })
  assert.ok(furthest(b.heard().slice(SETTLED)) < CODEC_NOISE)
  assert.equal([...new Set(b.got.map(({ payloadType }) => payloadType))], [0, 8])
  b.got.slice(1).forEach(({ sequence, timestamp }, n) => {
    assert.is((sequence - b.got[n]!.sequence) & 0xffff, 1)
    assert.is((timestamp - b.got[n]!.timestamp) >>> 0, LEG_SAMPLES)
  })
})

test('who changes the law while packets are relayed to it is sent none in the other law, not even in the tick of the change', () => {
  const { a, b, room } = scene()
  run(room, 130, (tick, now) => {
    if (tick === 100) {
      assert.ok(room.isPassing)
      b.agree({ codec: 'PCMA', payloadType: 8, receivePayloadTypes: [8] }, now)
    }
    a.say(tick, now, PCMU)
    b.say(tick, now, tick < 100 ? PCMU : PCMA)
  })
  assert.ok(furthest(b.heard().slice(SETTLED)) < CODEC_NOISE)
})

test('a far end that has answered with both laws changes from one to the other by itself', () => {
  const { a, b, room } = scene()
  a.agree({ otherPayloadTypes: [8] }, 0)
  run(room, 120, (tick, now) => a.say(tick, now, tick % 40 < 20 ? PCMU : PCMA))
  assert.ok(furthest(b.heard().slice(SETTLED)) < CODEC_NOISE)
  assert.is(a.leg.packetsRefused, 0)
})

test('a law that was not agreed on is refused, and that of before the change three seconds after it', () => {
  const { a, room } = scene()
  run(room, 10, (tick, now) => a.say(tick, now, PCMA))
  assert.is(a.leg.packetsRefused, 10)
  a.agree({ codec: 'PCMA', payloadType: 8, receivePayloadTypes: [8] }, 200)
  run(room, 200, (tick, now) => a.say(tick, now, PCMU), 10)
  assert.ok(a.leg.packetsRefused >= 50 && a.leg.packetsRefused < 80, `${a.leg.packetsRefused}`)
})

for (const [ptimeMs, frames] of [
  [5, 0.5],
  [10, 0.5],
  [20, 1],
  [25, 1],
  [30, 1.5],
  [40, 2],
  [50, 2.5],
  [60, 3],
  [200, 3],
]) {
  test(`a far end that asks in mid-call for packets of ${ptimeMs} ms gets ${frames! * 20} ms, and the tone has no jump`, () => {
    const { a, b, room } = scene()
    run(room, 120, (tick, now) => {
      if (tick === 50) b.agree({ ptimeMs: ptimeMs! }, now)
      if (tick === 95) b.agree({}, now)
      a.say(tick, now, PCMU)
    })
    assert.ok(furthest(b.heard().slice(SETTLED)) < CODEC_NOISE)
    const lengths = new Set(b.got.map(({ samples }) => samples.length / LEG_SAMPLES))
    assert.ok(lengths.has(frames!) && Math.max(...lengths) === Math.max(frames!, 1), [...lengths].join())
    let next = b.got[0]!.timestamp
    for (const { timestamp, samples } of b.got) {
      assert.is(timestamp, next)
      next = (next + samples.length) >>> 0
    }
  })
}

/** Level of a tone in its quietest 5 ms if its sender changes to Opus in frame 50, with an encoder that starts there [dBov]. */
async function softestIntoOpus(hz: number): Promise<number> {
  const { leg } = new FarEnd('part_a', '192.0.2.1')
  leg.useOpus(await OpusCodec.open())
  const encoder = await createEncoder({
    sampleRate: 8000,
    channels: 1,
    application: Application.Voip,
    bitrate: 24_000,
    frameSize: 160,
  })
  const sender = new RtpSender({ ssrc: SSRC, sequence: 1, timestamp: 1000, maxPayload: LEG_SAMPLES })
  const heard: number[] = []
  for (let tick = 0; tick < 80; tick++) {
    const now = tick * 20
    const [codec, payloadType, units] = tick < 50 ? (['PCMU', 0, 160] as const) : (['opus', 111, 960] as const)
    if (tick === 50)
      leg.connect({ ...mediaOf('192.0.2.1'), codec, payloadType, receivePayloadTypes: [payloadType] }, now)
    const payload = new Uint8Array(LEG_SAMPLES)
    if (codec === 'PCMU') PCMU.encode(toneFrame(hz, tick), payload)
    const coded = codec === 'PCMU' ? payload : encoder.encode(toneFrame(hz, tick))
    sender.packet.set(coded, 12)
    leg.rtp(sender.write(payloadType, coded.length).slice(0, 12 + coded.length), '192.0.2.1', 4000, now)
    sender.advance(units)
    leg.pull(now + 5, false, false)
    if (tick >= 10) heard.push(...leg.said!)
  }
  leg.close()
  encoder.free()
  const levels = Array.from({ length: heard.length / 20 - 1 }, (_, i) =>
    loudness(Int16Array.from(heard.slice(20 * i, 20 * i + 40))),
  )
  return Math.min(...levels)
}

test('who goes over to Opus is heard without a dip where its encoder begins, with nothing to look back at', async () => {
  for (const hz of [300, 440, 600]) {
    const level = await softestIntoOpus(hz)
    assert.ok(level > -17, `${hz} Hz: ${level} dBov`)
  }
})

const codecOf = (codec: LegMedia['codec'], payloadType: number): Partial<LegMedia> => ({
  codec,
  payloadType,
  receivePayloadTypes: [payloadType],
})

/** What the far end of a leg hears of a tone, at 16 kHz, around the frame in which its codec changes from PCMU: 5 ms before, 50 ms behind. */
async function heardInto(codec: 'L16/16000' | 'G722' | 'opus', hz: number): Promise<Int16Array> {
  const heard: number[] = []
  let changedAt = 0
  const decoder = codec === 'opus' ? await OpusCodec.open() : PACKET_CODECS[codec]()
  const samples = new Int16Array(2 * LEG_SAMPLES)
  const take = (bytes: Uint8Array, length: number): void => {
    const packet = new RtpPacket()
    parseRtp(bytes.subarray(0, length), packet)
    const payload = bytes.slice(packet.payloadOffset, length)
    if (packet.payloadType === 0) {
      PCMU.decode(payload, samples.subarray(LEG_SAMPLES))
      for (const sample of samples.subarray(LEG_SAMPLES)) heard.push(sample, sample)
      changedAt = heard.length
    } else heard.push(...samples.subarray(0, decoder.decode(payload, samples)))
  }
  const leg = new RtpLeg('part_0', { sendRtp: take, sendRtcp: () => {} }, NO_HOOKS, seeded(5), () => {})
  leg.useOpus(await OpusCodec.open())
  leg.connect(mediaOf('192.0.2.1'), 0)
  for (let tick = 0; tick < 40; tick++) {
    if (tick === 20) leg.connect({ ...mediaOf('192.0.2.1'), ...codecOf(codec, 100) }, tick * 20)
    leg.send(toneFrame(hz, tick), null, tick * 20 + 5)
  }
  leg.close()
  decoder.close()
  return Int16Array.from(heard.slice(changedAt - 80, changedAt + 800))
}

test('who changes to linear samples hears no jump there', async () => {
  for (const hz of [300, 415, 600, 1015]) {
    const heard = (await heardInto('L16/16000', hz)).subarray(80)
    // The filter has a delay of 19.75 samples.
    const next = 11_600 * Math.sin((2 * Math.PI * hz * (20 * LEG_SAMPLES + 0.25)) / 8000)
    assert.ok(Math.abs(heard[0]! - next) < 200, `${hz} Hz: ${heard[0]} in place of ${next}`)
    const [bend, ofTone] = [sharpest(heard), sharpest(heard.subarray(400))]
    assert.ok(bend < 1.5 * ofTone, `${hz} Hz: ${bend} in place of ${ofTone}`)
  }
})

/** The longest that a tone of 11,600 is softer than a tenth of that [ms]. */
function longestHole(heard: Int16Array): number {
  let [longest, length] = [0, 0]
  for (const sample of heard) {
    length = Math.abs(sample) < 1160 ? length + 1 : 0
    longest = Math.max(longest, length)
  }
  return longest / 16
}

for (const codec of ['L16/16000', 'G722', 'opus'] as const) {
  test(`who changes to ${codec} hears no hole there but what its own decoder needs`, async () => {
    for (const hz of [300, 415, 600]) {
      const hole = longestHole(await heardInto(codec, hz))
      assert.ok(hole < (codec === 'L16/16000' ? 0.5 : 1.6), `${hz} Hz: ${hole} ms`)
    }
  })
}

/** A leg that sends a tone, another one that hears it, and the packets between them. */
class Wire {
  readonly packets: RtpPacket[] = []
  readonly reports: RtcpCompound[] = []
  readonly heard: number[] = []
  readonly #legs: RtpLeg[]
  #now = 0
  #tick = 0

  constructor() {
    const out = {
      sendRtp: (bytes: Uint8Array, length: number) => this.#deliver(bytes.slice(0, length)),
      sendRtcp: (bytes: Uint8Array, length: number) => this.#report(bytes.slice(0, length)),
    }
    const nowhere = { sendRtp: () => {}, sendRtcp: () => {} }
    this.#legs = [out, nowhere].map((to, i) => new RtpLeg(`part_${i}`, to, NO_HOOKS, seeded(i + 5), () => {}))
    this.agree({})
  }

  agree(changes: Partial<LegMedia>): void {
    for (const leg of this.#legs) leg.connect({ ...mediaOf('192.0.2.1'), ...changes }, this.#now)
  }

  talk(ticks: number): this {
    const [from, to] = this.#legs
    for (const end = this.#tick + ticks; this.#tick < end; this.#tick++) {
      this.#now = this.#tick * 20
      from!.send(toneFrame(HZ, this.#tick), null, this.#now)
      to!.pull(this.#now + 15, false, false)
      this.heard.push(...(to!.said ?? SILENCE))
    }
    return this
  }

  /** A packet of the far end under this SSRC. */
  answer(ssrc: number): void {
    const sender = new RtpSender({ ssrc, sequence: 1, timestamp: 1000, maxPayload: LEG_SAMPLES })
    this.#legs[0]!.rtp(sender.write(0, LEG_SAMPLES).slice(), '192.0.2.1', 4000, this.#now)
  }

  #deliver(bytes: Uint8Array): void {
    const packet = new RtpPacket()
    parseRtp(bytes, packet)
    this.packets.push(packet)
    this.#legs[1]!.rtp(bytes, '192.0.2.1', 4000, this.#now)
  }

  #report(bytes: Uint8Array): void {
    const compound = new RtcpCompound()
    assert.ok(parseRtcp(bytes, compound))
    this.reports.push(compound)
    this.#legs[1]!.rtcp(bytes, '192.0.2.1', 4001, this.#now)
  }
}

test('RFC 7160 §4.1: each clock rate has an SSRC of its own, also one of before; the one before says goodbye, and nothing is missing in the tone', () => {
  const wire = new Wire().talk(50)
  wire.agree(codecOf('G722', 9))
  wire.talk(50)
  assert.is(new Set(wire.packets.map(({ ssrc }) => ssrc)).size, 1, 'the clock rate of G.722 is that of G.711')
  wire.agree(codecOf('L16/16000', 112))
  wire.talk(50)
  wire.agree({})
  wire.talk(50)
  const ssrcs = [...new Set(wire.packets.map(({ ssrc }) => ssrc))]
  assert.is(ssrcs.length, 3)
  for (const [n, ssrc] of ssrcs.entries()) {
    const packets = wire.packets.filter(packet => packet.ssrc === ssrc)
    assert.is(packets.length, n === 0 ? 100 : 50)
    assert.ok(packets[0]!.marker && packets[0]!.sequence < 0x8000)
    const goodbye = wire.reports.find(report => report.saysBye(ssrc))
    // With the first packet of the next one.
    if (n < 2) assert.equal([goodbye?.ssrc, goodbye?.senderPackets], [ssrcs[n + 1], 1])
    else assert.is(goodbye, undefined)
  }
  const levels = Array.from({ length: 190 * 4 }, (_, i) =>
    loudness(Int16Array.from(wire.heard.slice((10 * 4 + i) * 40, (10 * 4 + i + 1) * 40))),
  )
  assert.ok(Math.min(...levels) > -16, `${Math.min(...levels)} dBov`)
})

test('RFC 3550 §8.2: where the far end has our SSRC too we take another one, and say goodbye for the old one; once, as more of it is our own audio, sent back', () => {
  const wire = new Wire().talk(50)
  for (let times = 0; times < 3; times++) {
    wire.answer(wire.packets.at(-1)!.ssrc)
    wire.talk(50)
  }
  const [first, ...others] = new Set(wire.packets.map(({ ssrc }) => ssrc))
  assert.is(others.length, 1)
  assert.ok(wire.reports.some(report => report.saysBye(first!)))
  assert.not(wire.reports.some(report => report.saysBye(others[0]!)))
})

/** RTCP with a BYE of this source. */
function goodbye(ssrc: number): Uint8Array {
  const bytes = new Uint8Array(RTCP_BUFFER_BYTES)
  return bytes.subarray(0, writeBye(bytes, writeReport(bytes, ssrc, null, null, 'a'), ssrc))
}

test('after an RTCP BYE of its source a party is silent at once, without concealment; another’s changes nothing', () => {
  for (const [ssrc, isOver] of [
    [SSRC, true],
    [SSRC + 1, false],
  ] as const) {
    const { a, b, room } = scene()
    run(room, 60, (tick, now) => a.say(tick, now, PCMU))
    const played = b.got.length
    a.rtcp(goodbye(ssrc), 60 * 20)
    run(room, 10, () => {}, 60)
    const after = b.got.slice(played)
    const heard = after.filter(({ samples }) => samples.some(sample => Math.abs(sample) > 100)).length
    // Everything that had arrived has been played. Missing audio is concealed for 60 ms.
    if (isOver) assert.is(heard, 0)
    else assert.is(heard, 3)
  }
})

test('after an RTCP BYE another source of the party is heard at once', () => {
  const { a, b, room } = scene()
  run(room, 60, (tick, now) => a.say(tick, now, PCMU))
  a.rtcp(goodbye(SSRC), 60 * 20)
  const next = new Speaker((packet, now) => {
    packet[11] = 99
    a.leg.rtp(packet, '192.0.2.1', 4002, now)
  })
  const before = b.got.length
  run(room, 20, (tick, now) => next.speak(toneFrame(HZ, tick), now), 60)
  const heard = b.got.slice(before).filter(({ samples }) => samples.some(sample => sample > 9000)).length
  assert.ok(heard >= 10, `${heard}`)
})

/** What is sent in events, by payload type: key, start, duration, whether it is the end. */
class Pressed {
  readonly leg: RtpLeg
  readonly events: { type: number; key: number; at: number; units: number; isEnd: boolean; ssrc: number }[] = []
  readonly #room: Room
  readonly #media: LegMedia
  #tick = 0

  constructor() {
    const out = {
      sendRtp: (bytes: Uint8Array, length: number) => this.#take(bytes.subarray(0, length)),
      sendRtcp: () => {},
    }
    this.leg = new RtpLeg('part_a', out, NO_HOOKS, seeded(7), () => {})
    this.#room = new Room({ roomId: 'call_1', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 2 })
    this.#media = mediaOf('192.0.2.1')
    this.leg.connect(this.#media, 0)
    this.#room.legs.push(this.leg)
  }

  agree(changes: Partial<LegMedia>): void {
    this.leg.connect({ ...this.#media, ...changes }, this.#tick * 20)
  }

  run(ticks: number): void {
    run(this.#room, ticks, () => {}, this.#tick)
    this.#tick += ticks
  }

  #take(bytes: Uint8Array): void {
    const packet = new RtpPacket()
    parseRtp(bytes, packet)
    if (packet.payloadLength !== 4) return
    const [key = 0, flags = 0, high = 0, low = 0] = bytes.subarray(packet.payloadOffset)
    const { payloadType: type, timestamp: at, ssrc } = packet
    this.events.push({ type, key, at, units: high * 256 + low, isEnd: flags >= 0x80, ssrc })
  }
}

test('a key during which telephone events get another payload type is sent whole, with the one it began with; the next has the new one', () => {
  const far = new Pressed()
  for (const key of '56') assert.ok(far.leg.sendKey(key))
  far.run(2)
  far.agree({ codec: 'PCMA', payloadType: 8, receivePayloadTypes: [8], telephoneEvent: { send: 96, receive: 96 } })
  far.run(20)
  const [five, six] = [5, 6].map(key => far.events.filter(one => one.key === key))
  assert.equal([...new Set(five!.map(({ type, at }) => `${type} ${at}`))].length, 1)
  assert.equal([five![0]!.type, five!.at(-1)!.isEnd, five!.at(-1)!.units], [101, true, 800])
  assert.equal([...new Set(six!.map(({ type }) => type))], [96])
  assert.equal([six!.at(-1)!.isEnd, six!.at(-1)!.units], [true, 800])
})

test('a key during which the audio gets another clock ends in its own stream, and those that wait follow in the new one', () => {
  const far = new Pressed()
  for (const key of '56') assert.ok(far.leg.sendKey(key))
  far.run(2)
  far.agree({
    codec: 'L16/16000',
    payloadType: 112,
    receivePayloadTypes: [112],
    telephoneEvent: { send: 97, receive: 97 },
  })
  far.run(20)
  const [five, six] = [5, 6].map(key => far.events.filter(one => one.key === key))
  assert.equal(
    five!.slice(-3).map(({ type, isEnd }) => [type, isEnd]),
    [
      [101, true],
      [101, true],
      [101, true],
    ],
  )
  assert.equal([...new Set(five!.map(({ ssrc, at }) => `${ssrc} ${at}`))].length, 1)
  assert.equal([six![0]!.type, six!.at(-1)!.isEnd, six!.at(-1)!.units], [97, true, 1600])
  assert.not.equal(six![0]!.ssrc, five![0]!.ssrc)
})

test('keys that wait as events follow as tones once no events are agreed', () => {
  const far = new Pressed()
  for (const key of '56') assert.ok(far.leg.sendKey(key))
  far.run(2)
  far.agree({ telephoneEvent: { send: null, receive: null } })
  far.run(40)
  assert.equal([...new Set(far.events.map(({ key }) => key))], [5])
  assert.is(far.events.at(-1)!.isEnd, true)
})

test.run()
