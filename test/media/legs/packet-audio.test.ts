import { Application, createEncoder } from 'libopus-wasm'
import * as assert from 'uvu/assert'
import { levelAt, loudness } from '../../../bench/spectrum.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { writeL16be } from '../../../codecs/l16.ts'
import { OpusCodec } from '../../../codecs/packets/opus.ts'
import type { LegMedia } from '../../../media/legs/leg-media.ts'
import { PACKET_CODECS } from '../../../media/legs/packet-audio.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import type { Quality } from '../../../media/protocol.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { parseRtcp, RtcpCompound } from '../../../media/rtp/rtcp.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf, Party, run, seeded, toneFrame } from '../engine/party.ts'
import { mediaFor, PAYLOAD_TYPE, type PacketCodecName, PacketParty } from './packet-party.ts'

const test = suite('media/legs/packet-audio')

const CODECS = Object.keys(PACKET_CODECS) as PacketCodecName[]
const HZ = 1015
const SPEC = { roomId: 'room', kind: 'conference' as const, chimes: false, musicWhenAlone: false, maxMembers: 3 }

/** How far a tone is above everything else [dB]. */
function purity(samples: Int16Array, rateHz: number): number {
  const tone = 10 ** (levelAt(HZ, samples, 0, samples.length, rateHz) / 10)
  const all = 10 ** (loudness(samples) / 10)
  return 10 * Math.log10(tone / Math.max(all - tone, 1e-12))
}

test('a tone goes from each codec to a telephone of G.711, and back, whole', () => {
  for (const codec of CODECS) {
    const room = new Room(SPEC)
    const wide = new PacketParty(codec, '10.0.0.1')
    const phone = new Party('leg_b', '10.0.0.2')
    room.legs.push(wide.leg, phone.leg)
    run(room, 60, (tick, now) => {
      wide.speak(wide.tone(HZ, tick), now)
      phone.speak(toneFrame(HZ, tick), now)
    })
    const heard = phone.heard(10, 60)
    assert.ok(purity(heard, 8000) > 33, `${codec} to PCMU: ${purity(heard, 8000)} dB`)
    const rate = wide.coder.sampleRateHz
    const back = wide.heard(10, 60)
    assert.ok(purity(back, rate) > 33, `PCMU to ${codec}: ${purity(back, rate)} dB`)
    for (const [samples, hz] of [
      [heard, 8000],
      [back, rate],
    ] as const) {
      assert.ok(Math.abs(levelAt(HZ, samples, 0, samples.length, hz) + 12) < 0.5, `${codec}: ${loudness(samples)}`)
    }
    assert.is(wide.leg.quality.codec, codec)
    assert.is(wide.leg.quality.packetsLost, 0)
    assert.is(wide.leg.packetsRefused, 0)
  }
})

test('the jitter of a far end is reported in units of its own clock', () => {
  for (const codec of CODECS) {
    const party = new PacketParty(codec, '10.0.0.1')
    const room = new Room(SPEC)
    room.legs.push(party.leg)
    // Every second packet is 4 ms later.
    run(room, 500, (tick, now) => party.speak(party.tone(HZ, tick), now + (tick % 2) * 4))
    const compound = new RtcpCompound()
    assert.ok(parseRtcp(party.reports.at(-1)!, compound))
    const { jitter } = compound.blocks[0]!
    const jitterMs = (1000 * jitter) / party.coder.clockRateHz
    assert.ok(Math.abs(jitterMs - 4) < 0.2, `${codec}: ${jitterMs} ms`)
    assert.ok(Math.abs(party.leg.quality.jitterMs - 4) < 0.2)
  }
})

test('packets have the payload type agreed on, the bytes of their rate, and timestamps of their clock', () => {
  const bytes: Record<PacketCodecName, number> = { G722: 160, 'L16/16000': 640, 'L16/8000': 320 }
  for (const codec of CODECS) {
    const party = new PacketParty(codec, '10.0.0.1')
    const room = new Room(SPEC)
    room.legs.push(party.leg)
    run(room, 10, (tick, now) => party.speak(party.tone(HZ, tick), now))
    const [first, second] = party.packets.slice(3)
    assert.is(first!.payloadType, PAYLOAD_TYPE)
    assert.is(first!.length, bytes[codec])
    assert.is((second!.timestamp - first!.timestamp) >>> 0, party.coder.clockRateHz / 50)
  }
})

test('a=ptime: more frames go into a packet where the far end wants them, or half of one, as far as networks carry it whole', () => {
  for (const [codec, ptimeMs, length] of [
    ['G722', 10, 80],
    ['G722', 30, 240],
    ['L16/16000', 10, 320],
    ['L16/16000', 30, 960],
    ['G722', 40, 320],
    ['G722', 60, 480],
    ['L16/8000', 60, 960],
    ['L16/16000', 60, 1280],
  ] as const) {
    const party = new PacketParty(codec, '10.0.0.1', { ptimeMs })
    const room = new Room(SPEC)
    room.legs.push(party.leg)
    run(room, 20, (tick, now) => party.speak(party.tone(HZ, tick), now))
    assert.ok(party.packets.length > 4)
    assert.ok(
      party.packets.every(packet => packet.length === length),
      `${codec} at ${ptimeMs} ms`,
    )
    const units = (party.coder.clockRateHz / 1000) * Math.min(ptimeMs, codec === 'L16/16000' ? 40 : 60)
    for (const [i, { timestamp }] of party.packets.entries()) {
      if (i > 0) assert.is((timestamp - party.packets[i - 1]!.timestamp) >>> 0, units)
    }
  }
})

test('what is lost is concealed: a tone has no hole, and is itself again after it', () => {
  for (const codec of CODECS) {
    const room = new Room(SPEC)
    const wide = new PacketParty(codec, '10.0.0.1')
    const phone = new Party('leg_b', '10.0.0.2')
    room.legs.push(wide.leg, phone.leg)
    run(room, 100, (tick, now) => wide.speak(wide.tone(HZ, tick), now, tick % 10 === 5))
    const heard = phone.heard(20, 100)
    for (let at = 0; at + 80 <= heard.length; at += 80) {
      assert.ok(loudness(heard.subarray(at, at + 80)) > -16, `${codec}: a hole at ${at / 8} ms`)
    }
    assert.is(wide.leg.quality.packetsLost, 9 + 1)
  }
})

/** A sender of G.722 whose clock has `clockHz(packet)`; what the leg plays of it, each 20 ms. `skips`: packets that are not sent. */
function playG722(
  ms: number,
  packets: number,
  clockHz: (packet: number) => number,
  skips: (packet: number) => boolean = () => false,
): { leg: RtpLeg; frames: Int16Array[] } {
  const coder = PACKET_CODECS.G722()
  const leg = new RtpLeg('leg_a', { sendRtp: () => {}, sendRtcp: () => {} }, NO_HOOKS, seeded(3), () => {})
  const types = { payloadType: PAYLOAD_TYPE, receivePayloadTypes: [PAYLOAD_TYPE] }
  leg.connect({ ...mediaOf('10.0.0.1'), codec: 'G722', ...types }, 0)
  const samples = 16 * ms
  // The timestamp wraps on the way.
  const sender = new RtpSender({ ssrc: 9, sequence: 65_500, timestamp: 0xffffffff - 80_000, maxPayload: samples / 2 })
  const frames: Int16Array[] = []
  let packet = 0
  for (let now = 20; now <= packets * ms; now += 20) {
    for (; packet * ms < now; packet++) {
      const from = packet * samples
      const frame = Int16Array.from({ length: samples }, (_, i) =>
        Math.round(11_600 * Math.sin((2 * Math.PI * HZ * (from + i)) / 16_000)),
      )
      coder.encode(frame, sender.packet.subarray(12, 12 + samples / 2))
      if (!skips(packet)) {
        leg.rtp(sender.write(PAYLOAD_TYPE, samples / 2).slice(0, 12 + samples / 2), '10.0.0.1', 4000, packet * ms + 3)
      }
      sender.advance((clockHz(packet) * ms) / 1000)
    }
    leg.pull(now, false, false)
    frames.push(Int16Array.from(leg.raw ?? new Int16Array(160)))
  }
  return { leg, frames }
}

test('G.722 whose timestamps count its samples of 16 kHz, a fault of some devices, is played whole (RFC 3551 §4.5.2 has 8 kHz)', () => {
  for (const ms of [10, 20, 40]) {
    const { leg, frames } = playG722(ms, 6000 / ms, () => 16_000)
    for (const [at, frame] of frames.entries()) {
      if (at >= 10) assert.ok(loudness(frame) > -13, `${ms} ms: a hole at ${at * 20} ms`)
    }
    const whole = Int16Array.from(frames.slice(25).flatMap(frame => [...frame]))
    assert.ok(purity(whole, 8000) > 33, `${ms} ms: ${purity(whole, 8000)} dB`)
    const { packetsLost, packetsLate, jitterMs, delayMs } = leg.quality
    assert.equal([packetsLost, packetsLate], [0, 0])
    assert.ok(jitterMs < 5 && delayMs < 60, `jitter ${jitterMs} ms, delay ${delayMs} ms`)
  }
})

test('a sender of G.722 that changes its clock is followed, and a pause of a packet is no other clock', () => {
  const { frames } = playG722(20, 400, packet => (packet < 200 ? 16_000 : 8000))
  for (const [at, frame] of frames.entries()) {
    if (at >= 10 && (at < 195 || at > 210)) assert.ok(loudness(frame) > -13, `a hole at ${at * 20} ms`)
  }
  const { leg, frames: paused } = playG722(
    20,
    200,
    () => 8000,
    packet => packet % 5 === 4,
  )
  for (const [at, frame] of paused.entries()) if (at >= 10) assert.ok(loudness(frame) > -14, `a hole at ${at * 20} ms`)
  // By another clock every step would have been one of its own.
  assert.ok(leg.quality.jitterMs < 1, `${leg.quality.jitterMs} ms`)
})

/** Plays Opus with FEC in packets of `ms` over a calm network that loses some of them. @returns the quality every ten seconds */
async function playOpus(packets: number, isLost: (packet: number) => boolean, ms = 20): Promise<Quality[]> {
  const leg = new RtpLeg('leg_a', { sendRtp: () => {}, sendRtcp: () => {} }, NO_HOOKS, seeded(3), () => {})
  leg.useOpus(await OpusCodec.open())
  const types = { payloadType: PAYLOAD_TYPE, receivePayloadTypes: [PAYLOAD_TYPE] }
  leg.connect({ ...mediaOf('10.0.0.1'), codec: 'opus', ...types }, 0)
  const samples = ms * 16
  const far = await createEncoder({
    ...{ sampleRate: 16_000, channels: 1, application: Application.Voip, frameSize: samples },
    ...{ bitrate: 24_000, fec: true, packetLossPercent: 10 },
  })
  const sender = new RtpSender({ ssrc: 9, sequence: 1, timestamp: 1, maxPayload: 300 })
  const figures: Quality[] = []
  for (let packet = 0; packet < packets; packet++) {
    // A voice: harmonics that rise and fall.
    const said = Int16Array.from({ length: samples }, (_, i) => {
      const t = (packet * samples + i) / 16_000
      const voice = [1, 2, 3, 5, 8].reduce((sum, h) => sum + Math.sin(2 * Math.PI * 130 * h * t) / h, 0)
      return 4000 * voice * (0.6 + 0.4 * Math.sin(2 * Math.PI * 4 * t))
    })
    const payload = far.encode(said)
    sender.packet.set(payload, 12)
    const sent = sender.write(PAYLOAD_TYPE, payload.length).slice(0, 12 + payload.length)
    sender.advance(ms * 48)
    if (!isLost(packet)) leg.rtp(sent, '10.0.0.1', 4000, packet * ms + 3)
    for (let now = packet * ms; now < (packet + 1) * ms; now += 20) {
      leg.pull(now + 20, false, false)
      if (now % 10_000 === 9980) figures.push(leg.quality)
    }
  }
  leg.close()
  far.free()
  return figures
}

test('on a calm network, too, a lost packet of Opus is repaired by the next, for which a frame more waits as long as packets are lost', async () => {
  // Of the first half minute a twentieth is lost.
  const figures = await playOpus(5500, packet => packet < 1500 && packet % 20 === 19)
  const { lossPct, concealedPct, delayMs, mos } = figures[2]!
  assert.ok(lossPct > 4.8, `${lossPct} % lost`)
  assert.ok(concealedPct < 2.5, `${concealedPct} % made up`)
  assert.ok(mos! > 4.1, `MOS ${mos}`)
  const last = figures.at(-1)!
  assert.ok(delayMs - last.delayMs > 15 && delayMs - last.delayMs < 25, `${delayMs} ms, then ${last.delayMs} ms`)
  assert.is(last.packetsLost, 75)
})

test('so is one of 40 or 60 ms, with as much delay as that takes, and counts once as not lost to the ear', async () => {
  for (const ms of [40, 60]) {
    const figures = await playOpus(100_000 / ms, packet => packet * ms < 30_000 && packet % 20 === 19, ms)
    const { lossPct, concealedPct, delayMs, mos } = figures[2]!
    assert.ok(lossPct > 4.5, `${ms} ms: ${lossPct} % lost`)
    assert.ok(concealedPct < 2.5, `${ms} ms: ${concealedPct} % made up`)
    assert.ok(mos! > 3.9 && mos! < 4.35, `${ms} ms: MOS ${mos}`)
    const more = delayMs - figures.at(-1)!.delayMs
    assert.ok(more > ms - 10 && more < ms + 10, `${ms} ms: ${more} ms more`)
  }
})

test('without losses, and where those are few, nothing more waits', async () => {
  const [first, , last] = await playOpus(1500, packet => packet % 600 === 599)
  assert.is(last!.packetsLost, 2)
  assert.ok(Math.abs(last!.delayMs - first!.delayMs) < 2, `${first!.delayMs} ms, then ${last!.delayMs} ms`)
})

test('what is lost of a frame, in packets of 10 or 30 ms, is concealed in step with what is around it', () => {
  const lawful = {
    encode: (frame: Int16Array, into: Uint8Array) => PCMU.encode(frame, into),
    sampleRateHz: 8000,
    clockRateHz: 8000,
  }
  for (const codec of ['PCMU', ...CODECS] as const) {
    for (const ms of [10, 30]) {
      const coder = codec === 'PCMU' ? lawful : PACKET_CODECS[codec]()
      const leg = new RtpLeg('leg_a', { sendRtp: () => {}, sendRtcp: () => {} }, NO_HOOKS, seeded(3), () => {})
      leg.connect({ ...mediaOf('10.0.0.1'), codec, payloadType: PAYLOAD_TYPE, receivePayloadTypes: [PAYLOAD_TYPE] }, 0)
      const samples = (coder.sampleRateHz * ms) / 1000
      const sender = new RtpSender({ ssrc: 9, sequence: 1, timestamp: 1, maxPayload: 2 * samples })
      const heard: number[] = []
      let packet = 0
      for (let now = 20; now <= 4000; now += 20) {
        for (; packet * ms < now; packet++) {
          const phase = (i: number): number => (2 * Math.PI * HZ * (packet * samples + i)) / coder.sampleRateHz
          const frame = Int16Array.from({ length: samples }, (_, i) => Math.round(11_600 * Math.sin(phase(i))))
          const bytes = sender.packet.subarray(12, 12 + 2 * samples)
          const length = codec === 'L16/8000' || codec === 'L16/16000' ? 2 * samples : (coder.clockRateHz * ms) / 1000
          if (length === 2 * samples) writeL16be(frame, bytes)
          else coder.encode(frame, bytes)
          const sent = sender.write(PAYLOAD_TYPE, length).slice(0, 12 + length)
          sender.advance((coder.clockRateHz * ms) / 1000)
          if (packet % 9 !== 7) leg.rtp(sent, '10.0.0.1', 4000, packet * ms + 3)
        }
        leg.pull(now, false, false)
        heard.push(...(leg.raw ?? new Int16Array(160)))
      }
      const whole = Int16Array.from(heard.slice(4000))
      for (let at = 0; at + 40 <= whole.length; at += 40) {
        // What is made up for 30 ms has faded by 4.4 dB at its end.
        assert.ok(loudness(whole.subarray(at, at + 40)) > -18, `${codec}, ${ms} ms: a hole at ${at / 8} ms`)
      }
      // The steps of the tone itself, and half as much: the decoder of G.722 needs some samples to find its step size again.
      const steepest = 2 * Math.sin((Math.PI * HZ) / 8000) * 11_600
      for (let i = 1; i < whole.length; i++) {
        assert.ok(Math.abs(whole[i]! - whole[i - 1]!) < 1.5 * steepest, `${codec}, ${ms} ms: a click at ${i / 8} ms`)
      }
    }
  }
})

test('keys are counted in units of the audio’s clock (RFC 4733 §2.1)', () => {
  for (const [codec, units] of [
    ['G722', 160],
    ['L16/8000', 160],
    ['L16/16000', 320],
  ] as const) {
    const party = new PacketParty(codec, '10.0.0.1')
    const room = new Room(SPEC)
    room.legs.push(party.leg)
    assert.ok(party.leg.sendKey('5'))
    run(room, 12, (tick, now) => party.speak(party.tone(HZ, tick), now))
    assert.ok(party.events.length > 3)
    const durations = party.events.map(({ payload }) => (payload[2]! << 8) | payload[3]!)
    assert.is(durations[1]! - durations[0]!, units, codec)
  }
})

test('another codec in mid-call: from G.711 to G.722 and back, and both are heard', () => {
  const room = new Room(SPEC)
  const wide = new PacketParty('G722', '10.0.0.1')
  const phone = new Party('leg_b', '10.0.0.2')
  room.legs.push(wide.leg, phone.leg)
  const packets = (): number => wide.packets.length
  run(room, 20, (_, now) => phone.speak(toneFrame(HZ, 0), now))
  const before = packets()
  wide.leg.connect({ ...mediaFor(wide), codec: 'PCMU', payloadType: 0, receivePayloadTypes: [0] }, 400)
  run(room, 20, (_, now) => phone.speak(toneFrame(HZ, 0), now), 20)
  assert.ok(wide.packets.slice(before).every(({ payloadType, length }) => payloadType === 0 && length === 160))
  wide.leg.connect(mediaFor(wide), 800)
  run(room, 20, (tick, now) => wide.speak(wide.tone(HZ, tick), now), 40)
  assert.is(wide.packets.at(-1)!.payloadType, PAYLOAD_TYPE)
  assert.ok(loudness(phone.heard(50, 60)) > -16)
})

/** Level of the tone in the quietest 10 ms that a telephone hears if its speaker changes the codec or payload type in frame 100 [dBov]. */
function softest(from: LegMedia, to: LegMedia, onTheWay: number, comesAtMs: number): number {
  const room = new Room(SPEC)
  const phone = new Party('leg_b', '10.0.0.2')
  const party = new PacketParty('L16/8000', '10.0.0.1', from)
  room.legs.push(party.leg, phone.leg)
  const sender = new RtpSender({ ssrc: 9, sequence: 65_500, timestamp: 77, maxPayload: 640 })
  const coders = [from, to].map(coderOf)
  const agreed = [from, to]
  const flying: Uint8Array[] = []
  run(room, 200, (tick, now) => {
    if (tick === 100) party.leg.connect(to, now)
    // It learns of the change half a round trip later, and its packets take as long.
    const n = tick < 100 + onTheWay ? 0 : 1
    const { rateHz, clockRateHz, encode } = coders[n]!
    const samples = rateHz / 50
    const frame = Int16Array.from({ length: samples }, (_, i) =>
      Math.round(11_600 * Math.sin((2 * Math.PI * HZ * (tick * samples + i)) / rateHz)),
    )
    const length = encode(frame, sender.packet.subarray(12))
    flying.push(sender.write(agreed[n]!.receivePayloadTypes[0]!, length).slice(0, 12 + length))
    sender.advance(clockRateHz / 50)
    if (flying.length > onTheWay) party.leg.rtp(flying.shift()!, party.host, 4000, now + comesAtMs)
  })
  const heard = phone.heard(20, 200)
  const levels = Array.from({ length: heard.length / 80 }, (_, i) => loudness(heard.subarray(80 * i, 80 * i + 80)))
  return Math.min(...levels)
}

function coderOf({ codec }: LegMedia) {
  if (codec === 'PCMU') return { rateHz: 8000, clockRateHz: 8000, encode: encodeLaw }
  const coder = PACKET_CODECS[codec as PacketCodecName]()
  const encode = (frame: Int16Array, into: Uint8Array): number => coder.encode(frame, into)
  return { rateHz: coder.sampleRateHz, clockRateHz: coder.clockRateHz, encode }
}

function encodeLaw(frame: Int16Array, into: Uint8Array): number {
  const octets = new Uint8Array(frame.length)
  PCMU.encode(frame, octets)
  into.set(octets)
  return octets.length
}

test('who goes over to a codec of another kind, or other payload types, is heard without a hole: what is on its way is of the one before', () => {
  const media = (codec: LegMedia['codec'], type: number): LegMedia => ({
    ...mediaOf('10.0.0.1'),
    ...{ codec, payloadType: type, receivePayloadTypes: [type] },
  })
  for (const onTheWay of [0, 2, 5]) {
    for (const [from, to] of [
      [media('PCMU', 0), media('G722', 9)],
      [media('G722', 9), media('PCMU', 0)],
      [media('L16/16000', 112), media('L16/8000', 113)],
      [media('G722', 9), media('L16/16000', 112)],
      [media('L16/16000', 112), media('L16/16000', 96)],
    ] as const) {
      for (const comesAtMs of [0, 3]) {
        const level = softest(from, to, onTheWay, comesAtMs)
        // A hole would be far below.
        assert.ok(level > -18, `${from.codec} ${from.payloadType} to ${to.codec} ${to.payloadType}: ${level} dBov`)
      }
    }
  }
})

test('packets that are none of the codec are refused and counted; nothing throws', () => {
  const party = new PacketParty('L16/16000', '10.0.0.1')
  const room = new Room(SPEC)
  room.legs.push(party.leg)
  const odd = new Uint8Array(12 + 33)
  odd.set([0x80, PAYLOAD_TYPE, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9])
  const long = new Uint8Array(12 + 1964)
  long.set([0x80, PAYLOAD_TYPE, 0, 2, 0, 0, 1, 0, 0, 0, 0, 9])
  party.leg.rtp(odd, '10.0.0.1', 4000, 0)
  party.leg.rtp(long, '10.0.0.1', 4000, 0)
  run(room, 3, () => {})
  assert.is(party.leg.packetsRefused, 2)
})

test.run()
