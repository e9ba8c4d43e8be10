import * as assert from 'uvu/assert'
import { DtmfDetector } from '../../../codecs/detectors/dtmf-detector.ts'
import { PCMU } from '../../../codecs/g711.ts'
import type { DtmfKey } from '../../../codecs/tones.ts'
import { dtmfTone } from '../../../codecs/tones.ts'
import type { LegMedia } from '../../../media/legs/leg-media.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
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
    ...NO_HOOKS,
    key: (_leg: unknown, key: DtmfKey, source: string) => heard.push(`${source} ${key}`),
  }
  const leg = new RtpLeg('part_1', out as never, hooks, seeded(1), (key, ms) => infos.push(`${key} ${ms}`))
  leg.connect(mediaOf(HOST, options), 0)
  return { leg, sent, heard, infos }
}

/** In-band keys in the audio that a leg has sent. */
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

/** One tick of a far end: a frame of its audio, or a telephone event of a key that began so many frames ago. */
type Tick = { tone: Int16Array } | { event: number; frames: number }

/** The keys that a leg detects in what arrives tick by tick. */
function hearAll(
  options: Parameters<typeof legOf>[0],
  ticks: readonly Tick[],
  before?: (leg: RtpLeg) => void,
): string[] {
  const { leg, heard } = legOf(options)
  const sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 0, maxPayload: 160 })
  before?.(leg)
  for (const [n, tick] of ticks.entries()) {
    const now = n * TICK_MS
    if ('tone' in tick) PCMU.encode(tick.tone, sender.packet.subarray(12))
    else sender.packet.set([tick.event, 0x0a, 0, 160 * (tick.frames + 1)], 12)
    const timestamp = 'tone' in tick ? undefined : sender.timestamp - 160 * tick.frames
    const type = 'tone' in tick ? 0 : 101
    const length = 'tone' in tick ? 160 : 4
    const packet = Buffer.from(sender.write(type, length, timestamp).subarray(0, 12 + length))
    sender.advance(160)
    leg.rtp(packet, HOST, 4000, now)
    leg.pull(now, false, false)
    leg.send(null, null, now)
  }
  return heard
}

const silence = (count: number): Tick[] => Array.from({ length: count }, () => ({ tone: new Int16Array(160) }))
const toneOf = (key: DtmfKey, count: number): Tick[] => {
  const tone = dtmfTone(key, count * TICK_MS)
  return Array.from({ length: count }, (_, n) => ({ tone: tone.slice(n * 160, (n + 1) * 160) }))
}
const eventOf = (code: number, count: number): Tick[] =>
  Array.from({ length: count }, (_, frames) => ({ event: code, frames }))

/** The keys that a leg detects when one arrives as a tone. */
const hear = (options: Parameters<typeof legOf>[0]): string[] => hearAll(options, [...toneOf('5', 10), ...silence(10)])

test('auto: keys go out by RFC 4733 where that was agreed on, else as tones', () => {
  const agreed = press({}, '5')
  assert.equal([agreed.hasEvents, agreed.tones, agreed.infos], [true, '', []])
  const not = press({ telephoneEvent: false }, '5')
  assert.equal([not.hasEvents, not.tones, not.infos], [false, '5', []])
})

test('auto: where RFC 4733 was agreed on and is not used, tones are keys', () => {
  const twice = [...toneOf('5', 4), ...silence(4), ...toneOf('5', 4), ...silence(4), ...toneOf('#', 3), ...silence(8)]
  assert.equal(hearAll({}, twice), ['inband 5', 'inband 5', 'inband #'])
})

test('a key whose tone is heard before its event comes is one key, and tones are no keys from then on', () => {
  // The gateway lets the tone through until it knows it.
  const leaking = [...toneOf('5', 3), ...eventOf(5, 6), ...silence(10)]
  assert.equal(hearAll({}, leaking), ['inband 5'])
  assert.equal(hearAll({}, [...leaking, ...eventOf(5, 6), ...silence(10)]), ['inband 5', 'rfc4733 5'])
  assert.equal(hearAll({}, [...leaking, ...toneOf('7', 6), ...silence(10)]), ['inband 5'])
})

test('a key that comes as an event first, its tone behind it, is one key', () => {
  assert.equal(hearAll({}, [...eventOf(5, 2), ...toneOf('5', 5), ...silence(10)]), ['rfc4733 5'])
})

test('a key that goes out as an event, and comes back as a tone, is none of the far end', () => {
  const echo = [...silence(2), ...toneOf('5', 5), ...silence(10)]
  assert.equal(
    hearAll({}, echo, leg => leg.sendKey('5')),
    [],
  )
  const later = [...silence(50), ...toneOf('5', 5), ...silence(10)]
  assert.equal(
    hearAll({}, later, leg => leg.sendKey('5')),
    ['inband 5'],
  )
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
