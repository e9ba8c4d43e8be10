import * as assert from 'uvu/assert'
import { DtmfDetector } from '../../../codecs/dtmf-detector.ts'
import { PCMU } from '../../../codecs/g711.ts'
import type { DtmfKey } from '../../../codecs/tones.ts'
import { dtmfTone } from '../../../codecs/tones.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import type { LegMedia } from '../../../media/rtp/rtp-leg.ts'
import { RtpLeg } from '../../../media/rtp/rtp-leg.ts'
import { suite } from '../../harness.ts'
import { mediaOf, seeded } from '../engine/party.ts'

const test = suite('media/rtp/dtmf-mode')
const HOST = '192.0.2.2'
const TICK_MS = 20

/** A leg that keeps what it sends, and the keys it hears. */
function legOf(options: { telephoneEvent?: boolean; dtmf?: LegMedia['dtmf'] }) {
  const sent: Buffer[] = []
  const heard: string[] = []
  const infos: string[] = []
  const out = {
    sendRtp: (packet: Uint8Array, length: number) => sent.push(Buffer.from(packet.subarray(0, length))),
    sendRtcp: () => {},
  }
  const hooks = {
    key: (_leg: unknown, key: DtmfKey, source: string) => heard.push(`${source} ${key}`),
    oneWay: () => {},
    timedOut: () => {},
  }
  const leg = new RtpLeg('part_1', out as never, hooks, seeded(1), (key, ms) => infos.push(`${key} ${ms}`))
  leg.connect(mediaOf(HOST, options), 0)
  return { leg, sent, heard, infos }
}

/** Keys that stand in the audio that a leg has sent. */
function tonesIn(packets: readonly Buffer[]): string {
  const detector = new DtmfDetector()
  const frame = new Int16Array(160)
  let keys = ''
  for (const packet of packets) {
    if ((packet[1]! & 0x7f) !== 0 || packet.length !== 172) continue
    PCMU.decode(packet.subarray(12), frame)
    detector.write(frame)
    keys += detector.began ?? ''
  }
  return keys
}

function press(options: Parameters<typeof legOf>[0], keys: string) {
  const { leg, sent, infos } = legOf(options)
  const taken = [...keys].map(key => leg.sendKey(key))
  for (let tick = 0; tick < 60; tick++) leg.send(null, null, tick * TICK_MS)
  const events = sent.filter(packet => (packet[1]! & 0x7f) === 101).length
  return { taken, infos, tones: tonesIn(sent), hasEvents: events > 0 }
}

/** What a leg makes of a key that comes as a tone. */
function hear(options: Parameters<typeof legOf>[0]): string[] {
  const { leg, heard } = legOf(options)
  const sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 0, maxPayload: 160 })
  const tone = dtmfTone('5', 200)
  for (let tick = 0; tick < 20; tick++) {
    const samples = new Int16Array(160)
    samples.set(tone.subarray(tick * 160, (tick + 1) * 160))
    PCMU.encode(samples, sender.packet.subarray(12))
    const packet = Buffer.from(sender.write(0, 160).subarray(0, 172))
    sender.advance(160)
    leg.rtp(packet, HOST, 4000, tick * TICK_MS)
    leg.pull(tick * TICK_MS, false, false)
  }
  return heard
}

test('auto: keys go out by RFC 4733 where that was agreed on, else as tones', () => {
  const agreed = press({}, '5')
  assert.equal([agreed.hasEvents, agreed.tones, agreed.infos], [true, '', []])
  const not = press({ telephoneEvent: false }, '5')
  assert.equal([not.hasEvents, not.tones, not.infos], [false, '5', []])
})

test('inband: keys go out and come in as tones', () => {
  const { hasEvents, tones } = press({ telephoneEvent: false, dtmf: 'inband' }, '59')
  assert.equal([hasEvents, tones], [false, '59'])
  assert.equal(hear({ telephoneEvent: false, dtmf: 'inband' }), ['inband 5'])
})

test('rfc4733: where it was not agreed on, no key goes out, and tones are no keys', () => {
  assert.ok(press({ dtmf: 'rfc4733' }, '5').hasEvents)
  const { taken, tones } = press({ telephoneEvent: false, dtmf: 'rfc4733' }, '5')
  assert.equal([taken, tones], [[false], ''])
  assert.equal(hear({ telephoneEvent: false, dtmf: 'rfc4733' }), [])
})

test('info: keys go out by signalling, and tones are no keys', () => {
  const { taken, infos, tones, hasEvents } = press({ telephoneEvent: false, dtmf: 'info' }, '5x')
  assert.equal(taken, [true, false])
  assert.equal([infos, tones, hasEvents], [['5 100'], '', false])
  assert.equal(hear({ telephoneEvent: false, dtmf: 'info' }), [])
})

test.run()
