import { Application, createEncoder } from 'libopus-wasm'
import * as assert from 'uvu/assert'
import { loudness } from '../../../bench/spectrum.ts'
import { ComfortNoise } from '../../../codecs/comfort-noise.ts'
import { OpusCodec } from '../../../codecs/packets/opus.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { prompt } from '../../codecs/signals.ts'
import { suite } from '../../harness.ts'
import { mediaOf, Party, run, seeded, toneFrame } from '../engine/party.ts'

const test = suite('media/legs/leg-silence')
const SPEC = { roomId: 'room', kind: 'conference' as const, chimes: false, musicWhenAlone: false, maxMembers: 3 }

function noiseOf(...payload: number[]): Int16Array {
  const noise = new ComfortNoise()
  noise.describe(Uint8Array.from(payload), 0, payload.length)
  const samples = new Int16Array(16_000)
  noise.fill(samples)
  return samples
}

/** From 1, of low frequencies alone, to -1, of high ones. */
const slope = (samples: Int16Array): number => {
  let [product, power] = [0, 0]
  for (let i = 1; i < samples.length; i++) {
    product += samples[i]! * samples[i - 1]!
    power += samples[i]! ** 2
  }
  return product / power
}

test('RFC 3389 §3.1: noise has the level that it is described with, with a spectrum or without', () => {
  for (const level of [30, 45, 60]) {
    assert.ok(Math.abs(loudness(noiseOf(level)) + level) < 0.5, `${loudness(noiseOf(level))}`)
    assert.ok(Math.abs(loudness(noiseOf(level, 50, 140)) + level) < 1, `${loudness(noiseOf(level, 50, 140))}`)
  }
  assert.ok(noiseOf(127).every(sample => Math.abs(sample) <= 1))
})

test('RFC 3389 §3.2: it has the spectrum of the reflection coefficients, and none that breaks it', () => {
  assert.ok(Math.abs(slope(noiseOf(40))) < 0.05)
  assert.ok(slope(noiseOf(40, 64)) > 0.4, 'the first is minus the correlation with the sample before')
  assert.ok(slope(noiseOf(40, 190)) < -0.4)
  assert.ok(loudness(noiseOf(40, ...new Array(40).fill(255))) < -25)
})

test('who falls silent by comfort noise is heard as that noise, at its level, until it speaks again; without it as nothing', () => {
  for (const level of [null, 40, 55]) {
    const room = new Room(SPEC)
    const [speaker, listener] = [new Party('leg_a', '10.0.0.1'), new Party('leg_b', '10.0.0.2')]
    room.legs.push(speaker.leg, listener.leg)
    const said = (tick: number, now: number): void => speaker.speak(toneFrame(1000, tick), now)
    run(room, 30, said)
    const packet = Uint8Array.of(0x80, 13, 0, 31, 0, 0, 0x16, 0xa8, 0, 0, 0, 7, level ?? 0)
    run(
      room,
      40,
      (tick, now) => {
        if (tick === 30 && level !== null) speaker.leg.rtp(packet, '10.0.0.1', 4000, now)
      },
      30,
    )
    const silence = loudness(listener.heard(40, 68))
    if (level === null) assert.ok(silence < -70, `${silence}`)
    else assert.ok(Math.abs(silence + level) < 1.5, `${silence} dBov in place of -${level}`)
    run(room, 30, said, 70)
    assert.ok(loudness(listener.heard(85, 100)) > -16, 'the tone is back')
  }
})

/** Frames of 20 ms at 16 kHz: a second of speech, 4 s of a pause and a second of speech again, on a line with noise. */
function* conversation(): Generator<Int16Array> {
  const speech = prompt('announcement').subarray(4000)
  const random = seeded(5)
  for (let tick = 0; tick < 300; tick++) {
    const isSpeech = tick < 50 || tick >= 250
    const at = (tick % 250) * 160
    yield Int16Array.from({ length: 320 }, (_, i) => {
      const said = isSpeech ? (speech[at + (i >> 1)]! + speech[at + ((i + 1) >> 1)]!) / 2 : 0
      return said + (random() / 2 ** 32 - 0.5) * 180
    })
  }
}

/** Level of an Opus sender's conversation in the room at each tick, and whether sinks are told that it is comfort noise. */
async function heardOf(
  sends: (packet: Uint8Array, before: Uint8Array) => boolean,
  application: Application = Application.Voip,
): Promise<{ levels: number[]; comfort: boolean[]; isOver: boolean }> {
  const out = { sendRtp: () => {}, sendRtcp: () => {} }
  const leg = new RtpLeg('leg_a', out, NO_HOOKS, seeded(1), () => {})
  const codec = await OpusCodec.open()
  leg.useOpus(codec)
  leg.connect({ ...mediaOf('10.0.0.1'), codec: 'opus', payloadType: 111, receivePayloadTypes: [111] }, 0)
  const encoder = await createEncoder({
    ...{ sampleRate: 16_000, channels: 1, application, bitrate: 24_000 },
    ...{ dtx: true, frameSize: 320 },
  })
  const sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 1000, maxPayload: 160 })
  const [levels, comfort]: [number[], boolean[]] = [[], []]
  let now = 0
  const tick = (): void => {
    leg.pull(now + 5, false, false)
    levels.push(leg.said === null ? -Infinity : loudness(leg.said))
    comfort.push(leg.isComfort)
    now += 20
  }
  let before: Uint8Array = new Uint8Array(160)
  for (const frame of conversation()) {
    const packet = encoder.encode(frame, { maxPacketBytes: 160 })
    if (sends(packet, before)) {
      sender.packet.set(packet, 12)
      leg.rtp(sender.write(111, packet.length).slice(0, 12 + packet.length), '10.0.0.1', 4000, now)
      sender.advance(0)
    }
    before = packet
    sender.timestamp = (sender.timestamp + 960) >>> 0
    tick()
  }
  for (let i = 0; i < 100; i++) tick()
  const isOver = leg.said === null
  encoder.free()
  codec.close()
  return { levels, comfort, isOver }
}

/** libopus returns at most 2 bytes for a frame that need not be sent (DTX). */
const isEmpty = (packet: Uint8Array): boolean => packet.length <= 2

test('RFC 7587 §3.1.3: where Opus leaves packets out in a pause, its noise goes on, and is told as comfort noise; no pulses of 80 ms every 400 ms', async () => {
  const [whole, left] = [await heardOf(() => true), await heardOf(packet => !isEmpty(packet))]
  const pause = (levels: readonly number[]): number[] => levels.slice(70, 245)
  const sent = pause(whole.levels)
  assert.ok(Math.min(...sent) > -66 && Math.max(...sent) < -58, 'what is said of the pause where all packets are sent')
  assert.equal(
    pause(left.levels).filter((level, i) => Math.abs(level - sent[i]!) > 3),
    [],
  )
  const untold = left.comfort.slice(70, 245).filter(isComfort => !isComfort).length
  assert.ok(untold < sent.length / 4, `${untold} of ${sent.length}`)
  assert.not(left.comfort.slice(0, 50).some(Boolean), 'speech is none')
  assert.not(left.comfort.slice(255, 298).some(Boolean), 'nor is it behind the pause')
  assert.ok(left.isOver, 'and behind the last packet it ends')
})

test('a browser sends the first empty packet of a pause: also where that is all that tells of it (CELT), the noise goes on, and stays as loud', async () => {
  const heard = await heardOf((packet, before) => !isEmpty(packet) || !isEmpty(before), Application.RestrictedLowDelay)
  const pause = heard.levels.slice(70, 245)
  assert.ok(Math.min(...pause) > -60 && Math.max(...pause) < -53, `${Math.min(...pause)} to ${Math.max(...pause)} dBov`)
  assert.ok(heard.comfort.slice(70, 245).filter(Boolean).length > pause.length / 2, 'and is told as comfort noise')
  assert.not(heard.comfort.slice(0, 50).some(Boolean), 'speech is none')
})

test('the noise that goes on is as long as the packet that leaves it out, from 2.5 ms on, and never wraps around', async () => {
  const codec = await OpusCodec.open()
  const application = Application.RestrictedLowDelay
  const encoder = await createEncoder({ sampleRate: 16_000, channels: 1, application, frameSize: 320 })
  const samples = new Int16Array(320)
  for (let n = 0; n < 12; n++) {
    // Loud and low: two pieces that are the same way round are louder together than a sample can be.
    const tone = Int16Array.from(samples, (_, i) => 32_000 * Math.sin((n * 320 + i) / 40))
    codec.decode(encoder.encode(tone), samples)
  }
  const heard: number[] = []
  // Table 2: 2.5, 5, 10 and 20 ms of wideband CELT.
  for (const [i, length] of [40, 80, 160, 320].entries()) {
    for (let n = 0; n < 8; n++) {
      const into = new Int16Array(320).fill(12_345)
      assert.is(codec.decode(Uint8Array.of((20 + i) << 3), into), length)
      heard.push(...into.subarray(0, length))
    }
  }
  encoder.free()
  codec.close()
  assert.is(heard.filter(sample => sample === 12_345).length, 0)
  const steps = heard.slice(1).map((sample, i) => Math.abs(sample - heard[i]!))
  assert.ok(Math.max(...steps) < 8000, `a step of ${Math.max(...steps)}`)
})

test.run()
