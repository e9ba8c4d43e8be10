import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { type DtmfKey, dtmfTone } from '../../../codecs/tones.ts'
import { PACKET_CODECS } from '../../../media/legs/packet-audio.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf, seeded as numbers } from '../engine/party.ts'

const test = suite('media/legs/disturbed-keys')
const HOST = '192.0.2.2'
const LEAD_MS = 1000
const TAIL_MS = 1500
const FRAME_MS = 20

type Codec = 'PCMU' | keyof typeof PACKET_CODECS
/** When a packet that was sent then arrives [ms]; null: never. `random` is in [0, 1). */
type Way = (sentMs: number, random: () => number) => number | null

interface Typed {
  codec: Codec
  keys: string
  onMs: number
  offMs: number
}

/** Keys of these lengths on a line with noise, a frame of 20 ms for each packet. */
function lineOf({ keys, onMs, offMs }: Typed, rate: number, random: () => number): Int16Array {
  const perMs = rate / 1000
  const samples = new Int16Array((LEAD_MS + keys.length * (onMs + offMs) + TAIL_MS) * perMs).map(
    () => random() * 20 - 10,
  )
  for (const [n, key] of [...keys].entries()) {
    const at = Math.round((LEAD_MS + n * (onMs + offMs) + random() * FRAME_MS) * perMs)
    const tone = dtmfTone(key as DtmfKey, onMs)
    for (let i = 0; i < onMs * perMs; i++) {
      const place = (i * 8000) / rate
      const [from, to] = [tone[Math.floor(place)]!, tone[Math.min(tone.length - 1, Math.ceil(place))]!]
      samples[at + i]! += (from + to) / 2
    }
  }
  return samples
}

/** What a leg detects of that. */
function detected(typed: Typed, seed: number, way: Way): string {
  const random = seeded(seed)
  const coder = typed.codec === 'PCMU' ? null : PACKET_CODECS[typed.codec]()
  const rate = coder?.sampleRateHz ?? 8000
  const samples = lineOf(typed, rate, random)
  let keys = ''
  const hooks = {
    ...NO_HOOKS,
    key: (_leg: unknown, key: DtmfKey) => {
      keys += key
    },
  }
  const leg = new RtpLeg('part_1', { sendRtp: () => {}, sendRtcp: () => {} } as never, hooks, numbers(1), () => {})
  const media = mediaOf(HOST, { telephoneEvent: false })
  const type = coder === null ? 0 : 100
  leg.connect(
    coder === null
      ? media
      : {
          ...media,
          codec: coder === null ? 'PCMU' : (typed.codec as 'G722'),
          payloadType: type,
          receivePayloadTypes: [type],
        },
    0,
  )
  const sender = new RtpSender({ ssrc: 9, sequence: 65_500, timestamp: 2 ** 32 - 9000, maxPayload: 640 })
  const flights: { bytes: Uint8Array; at: number }[] = []
  const size = rate / 50
  for (let n = 0; n < samples.length / size; n++) {
    const frame = samples.subarray(n * size, (n + 1) * size)
    if (coder === null) PCMU.encode(frame, sender.packet.subarray(12, 172))
    const length = coder === null ? 160 : coder.encode(frame, sender.packet.subarray(12))
    const bytes = sender.write(type, length).slice(0, 12 + length)
    sender.advance((coder?.clockRateHz ?? 8000) / 50)
    const at = way((n + 1) * FRAME_MS, random)
    if (at !== null) flights.push({ bytes, at })
  }
  flights.sort((a, b) => a.at - b.at)
  let next = 0
  for (let now = 11; next < flights.length || now < flights.at(-1)!.at + 500; now += FRAME_MS) {
    for (; next < flights.length && flights[next]!.at <= now; next++) {
      leg.rtp(flights[next]!.bytes, HOST, 4000, flights[next]!.at)
    }
    leg.pull(now, false, false)
    leg.send(null, null, now)
  }
  leg.close()
  return keys
}

const SEEDS = Array.from({ length: 8 }, (_, n) => n + 1)

function allRead(typed: Typed, way: () => Way): void {
  for (const seed of SEEDS)
    assert.is(detected(typed, seed, way()), typed.keys, `${JSON.stringify(typed)}, seed ${seed}`)
}

/** Nothing arrives for so long, from then on and in each period; then it comes at once, or never. */
const stalls =
  (fromMs: number, ms: number, everyMs: number, isLost = false): Way =>
  sentMs => {
    const into = (sentMs + everyMs - fromMs) % everyMs
    if (into >= ms) return sentMs + 20
    return isLost ? null : sentMs - into + ms + 20
  }

test('packets that overtake each other, by as much as jitter of 150 ms makes of it, cost no key and make none twice', () => {
  for (const jitterMs of [60, 120]) {
    const jitters = (): Way => (sentMs, random) => sentMs + random() * jitterMs
    allRead({ codec: 'PCMU', keys: '4711#', onMs: 100, offMs: 80 }, jitters)
    allRead({ codec: 'PCMU', keys: '55', onMs: 600, offMs: 300 }, jitters)
  }
})

test('a key behind which nothing comes any more, and before which a packet is missing, is told of none the less', () => {
  const way = (): Way => sentMs => (sentMs === LEAD_MS || sentMs > LEAD_MS + 100 ? null : sentMs)
  assert.is(detected({ codec: 'PCMU', keys: '7', onMs: 100, offMs: 80 }, 1, way()), '7')
})

test('a held key that goes on behind a hole is one press; two presses on either side of one are two', () => {
  for (const holeMs of [80, 120, 240]) {
    allRead({ codec: 'PCMU', keys: '5', onMs: 900, offMs: 0 }, () => stalls(LEAD_MS + 460, holeMs, 5000, true))
    allRead({ codec: 'PCMU', keys: '55', onMs: 450, offMs: holeMs }, () => stalls(LEAD_MS + 460, holeMs, 5000, true))
  }
})

test('G.722 and linear audio: a network that stalls for 300 ms to 2 s costs no key and makes none twice', () => {
  for (const codec of ['G722', 'L16/16000'] as const) {
    for (const ms of [300, 2000]) {
      allRead({ codec, keys: '47114', onMs: 100, offMs: 80 }, () => stalls(LEAD_MS + 40, ms, ms + 830))
      allRead({ codec, keys: '55', onMs: 600, offMs: 300 }, () => stalls(LEAD_MS + 40, ms, ms + 830))
    }
  }
})

test('linear audio: nor do packets that are lost, and what is held through them is one press', () => {
  const loses = (): Way => (sentMs, random) => (random() < 0.05 ? null : sentMs + 20)
  allRead({ codec: 'L16/16000', keys: '47114', onMs: 100, offMs: 80 }, loses)
  allRead({ codec: 'L16/16000', keys: '55', onMs: 600, offMs: 300 }, loses)
})

test.run()
