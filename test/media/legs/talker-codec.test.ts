import * as assert from 'uvu/assert'
import { loudness } from '../../../bench/spectrum.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { OpusCodec } from '../../../codecs/packets/opus.ts'
import { PACKET_CODECS } from '../../../media/legs/packet-audio.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { LEG_SAMPLES, NO_HOOKS, SILENCE } from '../../../media/rooms/leg.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf, seeded } from '../engine/party.ts'

const test = suite('media/legs/talker-codec')

const CODECS = {
  PCMU: { payloadType: 0, units: 160 },
  G722: { payloadType: 9, units: 160 },
  'L16/16000': { payloadType: 112, units: 320 },
  opus: { payloadType: 111, units: 960 },
} as const
type Name = keyof typeof CODECS

const AMPLITUDE = 11_600
/** Ticks of the agreement, and of the far end's first packet of the other codec. */
const AGREED = 50
const CHANGED = 52

const tone = (hz: number, rateHz: number, tick: number): Int16Array => {
  const length = rateHz / 50
  return Int16Array.from({ length }, (_, i) =>
    Math.round(AMPLITUDE * Math.sin((2 * Math.PI * hz * (tick * length + i)) / rateHz)),
  )
}

/**
 * What is heard of a tone whose talker goes over to another codec.
 *
 * @param comesAt of each packet, before the tick [ms] @param isOther with another SSRC (RFC 7160 §4.1)
 * @returns its level in the quietest 5 ms around the change, relative to what it is elsewhere [dB]
 */
async function dipOf(from: Name, to: Name, hz: number, comesAt: number, isOther: boolean): Promise<number> {
  const leg = new RtpLeg('part_1', { sendRtp: () => {}, sendRtcp: () => {} }, NO_HOOKS, seeded(3), () => {})
  leg.useOpus(await OpusCodec.open())
  const agree = (codec: Name, now: number): void => {
    const { payloadType } = CODECS[codec]
    leg.connect({ ...mediaOf('192.0.2.1'), codec, payloadType, receivePayloadTypes: [payloadType] }, now)
  }
  agree(from, 0)
  const open = async (codec: Name) =>
    codec === 'PCMU' ? null : codec === 'opus' ? await OpusCodec.open() : PACKET_CODECS[codec]()
  const coders = [await open(from), await open(to)]
  const sender = new RtpSender({ ssrc: 7, sequence: 300, timestamp: 77_777, maxPayload: 1000 })
  const heard: number[] = []
  for (let tick = 0; tick < 80; tick++) {
    const now = tick * 20
    if (tick === AGREED) agree(to, now)
    if (tick === CHANGED && isOther) sender.begin({ ssrc: 99, sequence: 5, timestamp: 123_456 })
    const codec = tick < CHANGED ? from : to
    const coder = coders[tick < CHANGED ? 0 : 1]!
    const payload = new Uint8Array(1000)
    if (coder === null) PCMU.encode(tone(hz, 8000, tick), payload)
    const length = coder === null ? LEG_SAMPLES : coder.encode(tone(hz, 16_000, tick), payload)
    sender.packet.set(payload.subarray(0, length), 12)
    const { payloadType, units } = CODECS[codec]
    leg.rtp(sender.write(payloadType, length).slice(0, 12 + length), '192.0.2.1', 4000, now)
    sender.advance(units)
    leg.pull(now + comesAt, false, false)
    heard.push(...(leg.said ?? SILENCE))
  }
  leg.close()
  for (const coder of coders) coder?.close()
  const levels = Array.from({ length: 20 * 20 }, (_, i) => {
    const at = 45 * LEG_SAMPLES + 8 * i
    return loudness(Int16Array.from(heard.slice(at, at + 40)))
  })
  const whole = loudness(Int16Array.from(heard.slice(40 * LEG_SAMPLES, 45 * LEG_SAMPLES)))
  return Math.min(...levels) - whole
}

/** What an encoder of Opus makes of its first 20 ms is softer. */
for (const [from, to, most] of [
  ['PCMU', 'G722', -3.5],
  ['G722', 'PCMU', -3.5],
  ['PCMU', 'L16/16000', -3.5],
  ['L16/16000', 'PCMU', -3.5],
  ['PCMU', 'opus', -5.5],
  ['opus', 'PCMU', -4],
  ['G722', 'opus', -5.5],
  ['opus', 'G722', -4],
] as const) {
  test(`who goes over from ${from} to ${to} is heard on without a dip`, async () => {
    for (const isOther of CODECS[from].units === CODECS[to].units ? [false] : [false, true]) {
      for (const hz of [300, 415, 600, 1015]) {
        for (const comesAt of [1, 10, 19]) {
          const dip = await dipOf(from, to, hz, comesAt, isOther)
          assert.ok(
            dip > most,
            `${hz} Hz, ${comesAt} ms before the tick, ${isOther ? 'another' : 'the same'} SSRC: ${dip} dB`,
          )
        }
      }
    }
  })
}

test.run()
