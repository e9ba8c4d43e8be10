import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { type DtmfKey, dtmfTone } from '../../../codecs/tones.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf } from '../engine/party.ts'

const test = suite('media/legs/stalled-keys')
const HOST = '192.0.2.2'
const KEYS = '4711471#'
const FRAMES_PER_KEY = 9
const LEAD = 25
const FRAMES = LEAD + KEYS.length * FRAMES_PER_KEY + 50

interface Call {
  seed: number
  /** Longest stall [ms]: of the sender or its network, and of ourselves. One comes every `everyMs`, on average. */
  senderMs?: number
  ownMs?: number
  everyMs?: number
  lossPct?: number
  /** Percentage of packets that are overtaken by the next one. */
  overtakenPct?: number
  /** Samples of a packet. Default 160 */
  packet?: number
  /** Nothing is sent between keys, and timestamps go on. */
  isSilentBetween?: boolean
}

interface Time {
  due: number
  at: number
}

/** 100 ms of each key and 80 of silence. */
function line(): Int16Array {
  const samples = new Int16Array(FRAMES * 160)
  for (const [n, key] of [...KEYS].entries()) samples.set(dtmfTone(key, 100), (LEAD + n * FRAMES_PER_KEY) * 160)
  return samples
}

const TIMELINE = line()

/** When each frame is due, and when it is sent or played, on a clock that stalls: it catches up on 100 ms, and skips older frames. */
function times(count: number, longestMs: number, everyMs: number, phaseMs: number, random: () => number): Time[] {
  const all: Time[] = []
  let now = phaseMs
  let stallAt = phaseMs + random() * everyMs
  for (let due = phaseMs; all.length < count; due += 20) {
    if (due >= stallAt) {
      now = stallAt + random() * longestMs
      stallAt = Math.max(now, due) + random() * 2 * everyMs
    }
    now = Math.max(now, due)
    // As `Clock` does.
    const behind = Math.floor((now - due) / 5) - 20
    if (behind > 0) due += Math.ceil(behind / 4) * 20
    all.push({ due, at: now })
  }
  return all
}

/** The keys that a leg detects. */
function keysOf(call: Call): string {
  const { seed, senderMs = 0, ownMs = 0, everyMs = 500, lossPct = 0, overtakenPct = 0, packet = 160 } = call
  const random = seeded(seed)
  let keys = ''
  const hooks = {
    ...NO_HOOKS,
    key: (_leg: unknown, key: DtmfKey) => {
      keys += key
    },
  }
  const leg = new RtpLeg('part_1', { sendRtp: () => {}, sendRtcp: () => {} } as never, hooks, seeded(1), () => {})
  leg.connect(mediaOf(HOST, { telephoneEvent: false }), 0)
  const sender = new RtpSender({ ssrc: 9, sequence: 65_500, timestamp: 2 ** 32 - 9000, maxPayload: 480 })
  const packets: Uint8Array[] = []
  const sentAt = times(FRAMES, senderMs, everyMs, 3, random)
  const arrivals: number[] = []
  for (let from = 0; from + packet <= TIMELINE.length; from += packet) {
    const samples = TIMELINE.subarray(from, from + packet)
    const payload = new Uint8Array(packet)
    PCMU.encode(samples, payload)
    sender.packet.set(payload, 12)
    if (call.isSilentBetween !== true || samples.some(sample => sample !== 0)) {
      packets.push(sender.write(0, packet).slice(0, 12 + packet))
      arrivals.push(sentAt[Math.floor((from + packet - 1) / 160)]!.at)
    }
    sender.advance(packet)
  }
  const order = packets.map((_, n) => n)
  for (let n = 1; n < order.length; n++) {
    if (random() * 100 < overtakenPct) [order[n - 1], order[n]] = [order[n]!, order[n - 1]!]
  }
  let next = 0
  for (const { due, at } of times(FRAMES + 20, ownMs, everyMs, 11, random)) {
    for (; next < packets.length && arrivals[next]! <= at; next++) {
      if (random() * 100 >= lossPct) leg.rtp(packets[order[next]!]!, HOST, 4000, at)
    }
    leg.pull(due, false, false)
    leg.send(null, null, due)
  }
  leg.close()
  return keys
}

const SEEDS = Array.from({ length: 30 }, (_, n) => n + 1)

/** Checks that each key is detected once, in all of 30 calls. */
function allRead(call: Omit<Call, 'seed'>): void {
  for (const seed of SEEDS) assert.is(keysOf({ ...call, seed }), KEYS, `seed ${seed}`)
}

test('keys as tones are read each once, in packets of 10, 20, 30 and 60 ms', () => {
  for (const packet of [80, 160, 240, 480]) assert.is(keysOf({ seed: 1, packet }), KEYS, `${packet} samples`)
})

test('a network, or a far end, that stalls for up to half a second costs no key and makes none twice', () => {
  for (const senderMs of [60, 120, 250, 500]) allRead({ senderMs })
})

test('nor does a stall of our own, though what was to be played meanwhile is left out', () => {
  for (const ownMs of [60, 120, 250, 500]) allRead({ ownMs })
})

test('nor do packets that are lost: a key goes on over them', () => {
  allRead({ lossPct: 5 })
  allRead({ lossPct: 5, senderMs: 250, ownMs: 250 })
})

test('nor do packets that overtake others, or come twice', () => {
  allRead({ overtakenPct: 5 })
})

test('a far end that sends nothing between keys has pressed two, not one for longer', () => {
  allRead({ isSilentBetween: true })
})

/** Events of 100 ms with three ends, 160 ms apart, each packet of which may come so much later than it was sent, before or behind others [ms]. */
function keysOfEvents(seed: number, jitterMs: number): string {
  const random = seeded(seed)
  let keys = ''
  const hooks = {
    ...NO_HOOKS,
    key: (_leg: unknown, key: DtmfKey) => {
      keys += key
    },
  }
  const leg = new RtpLeg('part_1', { sendRtp: () => {}, sendRtcp: () => {} } as never, hooks, seeded(1), () => {})
  leg.connect(mediaOf(HOST), 0)
  const sender = new RtpSender({ ssrc: 9, sequence: 65_500, timestamp: 2 ** 32 - 9000, maxPayload: 160 })
  const packets: { bytes: Uint8Array; at: number }[] = []
  for (let frame = 0; frame < LEAD + KEYS.length * 16; frame++) {
    const pressed = (frame - LEAD) % 16
    const isEvent = frame >= LEAD && pressed < 8
    const code = Number(KEYS[Math.floor((frame - LEAD) / 16)] === '#' ? 11 : KEYS[Math.floor((frame - LEAD) / 16)])
    sender.packet.fill(0xff, 12)
    if (isEvent) sender.packet.set([code, pressed < 5 ? 10 : 0x8a, ...uint16(Math.min(pressed + 1, 5) * 160)], 12)
    const length = isEvent ? 4 : 160
    const begun = isEvent ? (sender.timestamp - pressed * 160) >>> 0 : undefined
    const bytes = sender.write(isEvent ? 101 : 0, length, begun, pressed === 0).slice(0, 12 + length)
    packets.push({ bytes, at: frame * 20 + random() * jitterMs })
    sender.advance(160)
  }
  packets.sort((a, b) => a.at - b.at)
  let next = 0
  for (let now = 0; next < packets.length; now += 20) {
    for (; next < packets.length && packets[next]!.at <= now; next++) leg.rtp(packets[next]!.bytes, HOST, 4000, now)
    leg.pull(now, false, false)
  }
  leg.close()
  return keys
}

const uint16 = (value: number): [number, number] => [value >> 8, value & 0xff]

test('events are read each once, however their packets and those of the audio overtake each other', () => {
  for (const jitterMs of [20, 60, 100, 150]) {
    for (const seed of SEEDS) assert.is(keysOfEvents(seed, jitterMs), KEYS, `seed ${seed}, ${jitterMs} ms`)
  }
})

test.run()
