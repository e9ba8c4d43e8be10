import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { Refused } from '../../bench/load/caller.ts'
import { Ledger } from '../../bench/load/ledger.ts'
import { ULAW_SIGNS } from '../../bench/load/mark.ts'
import { FRAME_SAMPLES, MarkReader } from '../../bench/load/mark-reader.ts'
import { Network } from '../../bench/load/network.ts'
import { Pacer } from '../../bench/load/pacer.ts'
import { Speech } from '../../bench/load/speech.ts'
import { EVENT_PAYLOAD_TYPE, Talkers } from '../../bench/load/talker.ts'
import { LoadProcess } from '../../bench/load-process.ts'
import { FRAME_MS } from '../../codecs/audio.ts'
import { PCMU } from '../../codecs/g711.ts'
import { levelDbov } from '../../codecs/level.ts'
import { RTCP_BUFFER_BYTES } from '../../media/rtp/rtcp.ts'
import { isRtcp, parseRtp, RTP_HEADER_BYTES, RtpPacket } from '../../media/rtp/rtp.ts'
import { suite } from '../harness.ts'
import { LocalMedia } from '../media/local-media.ts'

const test = suite('bench/load')
const LEGS = 200
const MINUTE = 3000
/** So late at the most is a packet of a load that has a core. */
const PUNCTUAL_MS = 1

test('each leg has a phase and a clock of its own, most within 50 ppm, some within 200', () => {
  const network = new Network(LEGS, 0, 0)
  const legs = Array.from({ length: LEGS }, (_, leg) => leg)
  const phases = legs.map(leg => network.dueAt(leg, 0)).sort((a, b) => a - b)
  assert.ok(phases[0]! >= 0 && phases.at(-1)! < 20)
  const steps = phases.slice(1).map((phase, i) => phase - phases[i]!)
  assert.ok(Math.max(...steps) < 1.5, 'they are spread over the whole frame')
  assert.is(new Set(phases.map(phase => (phase * 1000).toFixed(0))).size > LEGS * 0.9, true)
  const ppm = legs.map(leg => (1 - (network.dueAt(leg, 1e6) - network.dueAt(leg, 0)) / 20e6) * 1e6)
  assert.ok(ppm.every(value => Math.abs(value) < 200))
  const isOff = (value: number): boolean => Math.abs(value) > 50
  assert.ok(ppm.some(isOff) && ppm.filter(isOff).length <= LEGS / 20)
  assert.ok(Math.max(...ppm) > 30 && Math.min(...ppm) < -30)
})

test('packets are a little late, some held up, few overtaken by the next; on a calm network none', () => {
  const [line, calm] = [new Network(LEGS, 1, 0), new Network(LEGS, 0, 0)]
  let [sum, held, overtaken, count] = [0, 0, 0, 0]
  for (let leg = 0; leg < LEGS; leg++) {
    for (let frame = 0; frame < 500; frame++, count++) {
      assert.is(calm.leavesAt(leg, frame), calm.dueAt(leg, frame))
      const late = line.leavesAt(leg, frame) - line.dueAt(leg, frame)
      assert.ok(late >= 0 && late < 20 + 20)
      if (line.isOvertaken(leg, frame)) {
        overtaken++
        assert.ok(line.leavesAt(leg, frame) > line.leavesAt(leg, frame + 1))
      } else sum += late
      if (late > 8) held++
    }
  }
  assert.ok(Math.abs(sum / count - 1) < 0.1, `mean ${sum / count}`)
  assert.ok(overtaken > count / 8000 && overtaken < count / 3000, `${overtaken} overtaken`)
  assert.ok(held > overtaken && held < count / 200)
})

test('in a room one speaks for seconds, with pauses between, and seldom two at once', () => {
  const speech = new Speech(LEGS, 10)
  let [nobody, one, both] = [0, 0, 0]
  for (let room = 0; room < LEGS / 10; room++) {
    for (let slot = 0; slot < MINUTE; slot++) {
      const said = Array.from({ length: 10 }, (_, place) => speech.at(room * 10 + place, slot * 20 + 7))
      const speakers = said.filter(what => what !== 'silence')
      if (speakers.length === 0) nobody++
      else if (speakers.length === 1) one++
      else both++
      if (speakers.length === 1) assert.is(speakers[0], 'marks')
      else assert.ok(speakers.every(what => what === 'voice'))
    }
  }
  const all = nobody + one + both
  assert.ok(one / all > 0.55 && one / all < 0.85, `${one / all} one`)
  assert.ok(nobody / all > 0.15, `${nobody / all} nobody`)
  assert.ok(both / all > 0.005 && both / all < 0.1, `${both / all} both`)
  assert.is(speech.othersOf(0), 9)
  assert.is(new Speech(201, 10).othersOf(200), 0)
})

test('who says nothing sends noise of -60 dBov, never digital silence', () => {
  const talkers = new Talkers(3)
  const linear = new Int16Array(FRAME_SAMPLES)
  for (let frame = 0; frame < 50; frame++) {
    assert.is(talkers.write(1, frame, 'silence', frame), false)
    PCMU.decode(talkers.packet.subarray(RTP_HEADER_BYTES), linear)
    assert.ok(Math.abs(levelDbov(linear) + 60) < 3, `${levelDbov(linear)}`)
  }
})

test('a leg says its mark, presses a key once in two minutes, and numbers its packets without a gap', () => {
  const ledger = new Ledger(3)
  const talkers = new Talkers(3, ledger)
  const packet = new RtpPacket()
  const reader = new MarkReader()
  let [marks, events, first] = [0, 0, -1]
  for (let frame = 0; frame < 2 * MINUTE; frame++) {
    const isMarked = talkers.write(2, frame, 'marks', frame * 20)
    assert.ok(parseRtp(talkers.packet, packet))
    if (first < 0) first = packet.sequence
    assert.is(packet.sequence, (first + frame) & 0xffff)
    if (packet.payloadType === EVENT_PAYLOAD_TYPE) events++
    if (!isMarked) continue
    marks++
    const signs = reader.next()
    for (let i = 0; i < FRAME_SAMPLES; i++) {
      signs[FRAME_SAMPLES + i] = ULAW_SIGNS[talkers.packet[RTP_HEADER_BYTES + i]!]!
    }
    assert.is(reader.find(), 'mark')
    assert.is(ledger.frameOf(2, reader.mark.frame), frame)
    assert.is(ledger.sentAt(2, frame), frame * 20)
  }
  // 160 ms, and its end twice more.
  assert.is(events, 10)
  assert.ok(marks > 2 * MINUTE - 20 && marks < 2 * MINUTE - events)
})

test('a leg reports every five seconds or so', () => {
  const talkers = new Talkers(1)
  let reports = 0
  for (let frame = 0; frame < MINUTE; frame++) {
    const length = talkers.report(0, frame, performance.now() + frame * 20)
    if (length > 0) reports++
    assert.ok(length < RTCP_BUFFER_BYTES)
  }
  assert.ok(reports >= 8 && reports <= 24, `${reports}`)
})

test('packets leave a quarter of a millisecond late at the most while nobody holds the pacer up, each after those that are due before it', () => {
  let now = 1000
  const network = new Network(LEGS, 1, now, 5)
  const sent: { leg: number; frame: number; due: number; at: number }[] = []
  const pacer = new Pacer(
    LEGS,
    network,
    (leg, frame, at) => sent.push({ leg, frame, due: network.leavesAt(leg, frame), at }),
    () => now,
  )
  while (now < 3000) {
    const waitMs = pacer.advance()
    assert.ok(waitMs > 0 && waitMs < 20, `${waitMs}`)
    now += waitMs
  }
  assert.ok(sent.every(({ due, at }) => at >= due && at - due <= 0.25))
  assert.ok(sent.every(({ due }, i) => i === 0 || due > sent[i - 1]!.due - 0.25))
  const ofLeg = sent.filter(({ leg }) => leg === 3).map(({ frame }) => frame)
  assert.equal(
    ofLeg.toSorted((a, b) => a - b),
    Array.from(ofLeg, (_, frame) => frame),
    'each frame once, none left out',
  )
  assert.ok(ofLeg.length >= 98 && ofLeg.length <= 101, `${ofLeg.length} in two seconds`)
})

test('what one thread has said and heard another one judges and reports', () => {
  const said = new Ledger(4)
  const shared = new Ledger(4, structuredClone(said.memory))
  said.say(2, 7, 'marks', 140.5)
  shared.hear(2, 0xdeadbeef, 0xffff)
  assert.is(shared.sentAt(2, shared.frameOf(2, 7)), 140.5)
  assert.equal(shared.lastSigns(2), said.lastSigns(2))
  assert.ok(shared.lastSigns(2) !== null)
  said.say(2, 8, 'key', 160)
  assert.is(shared.lastSigns(2), null)
  assert.equal(said.lastHeard(2), { ssrc: 0xdeadbeef, sequence: 0xffff })
})

test('a load calls over real sockets, speaks punctually, and counts what comes back', async () => {
  const legs = 3
  const echoes = await Promise.all(Array.from({ length: legs }, openRtpEcho))
  const ports = echoes.map(({ port }) => port)
  const load = new LoadProcess()
  try {
    const target = { kind: 'rtp' as const, host: '127.0.0.1', ports }
    await load.prepare({ target, legs, roomSize: 3, streams: null, jitterMs: 0, isEncrypted: false })
    const { result } = await load.measure(1, () => 0)
    await load.close()
    for (const { heard } of echoes) {
      const first = heard[0]!.sequence
      assert.equal(
        heard.map(({ sequence }) => sequence),
        Array.from(heard, (_, i) => (first + i) & 0xffff),
        'each once, none left out',
      )
      assert.ok(Math.abs(slipMs(heard)) < FRAME_MS, `${slipMs(heard)} ms off`)
    }
    // What waited for a core was late, by the load's own account, and no packet more than those is counted elsewhere.
    const late = legs * Math.ceil(Math.max(0, result.paceLagMs!.max - PUNCTUAL_MS) / FRAME_MS)
    assert.ok(Math.abs(result.packetsSent - legs * 50) <= 2 + late, `${result.packetsSent} sent, ${late} late`)
    assert.ok(
      result.packetsSent <= echoes.reduce((sum, { heard }) => sum + heard.length, 0),
      'what is counted was sent',
    )
    assert.ok(result.packetsReceived > 100, `${result.packetsReceived} came back`)
    assert.ok(result.paceLagMs!.count >= result.packetsSent)
    assert.is(result.framesStray + result.framesBroken, 0)
  } finally {
    load.kill()
    for (const { close } of echoes) close()
  }
})

test('where a call is refused for good the load says so, and has ended those that were let in', async () => {
  const media = await LocalMedia.open({}, { maxCalls: 1 })
  const load = new LoadProcess()
  const target = { kind: 'sip' as const, host: '127.0.0.1', port: media.sipPort, users: ['1', '2'] }
  const prepared = load.prepare({ target, legs: 2, roomSize: 1, streams: null, jitterMs: 0, isEncrypted: false }).then(
    () => null,
    (error: unknown) => error,
  )
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  await media.answer(media.of('leg.incoming')[0]!.legId)
  const refused = await prepared
  assert.ok(refused instanceof Refused && refused.status === 503, String(refused))
  await media.engine.until(() => media.isIdle)
  load.kill()
  await media.close()
})

interface Heard {
  sequence: number
  /** [ms] */
  at: number
}

/** How much later the second half came than the first, by the most punctual packet of each: whatever waits for a core comes later, none earlier [ms]. */
function slipMs(heard: Heard[]): number {
  const lags = heard.map(({ at }, i) => at - i * FRAME_MS)
  const half = lags.length >> 1
  return Math.min(...lags.slice(half)) - Math.min(...lags.slice(0, half))
}

/** Sends every packet back to where it came from. */
async function openRtpEcho(): Promise<{ port: number; heard: Heard[]; close(): void }> {
  const socket = createSocket('udp4')
  const heard: Heard[] = []
  const packet = new RtpPacket()
  socket.on('message', (bytes, from) => {
    // Reports go to the port behind, which may be another echo's.
    if (isRtcp(bytes)) return
    assert.ok(parseRtp(bytes, packet))
    heard.push({ sequence: packet.sequence, at: performance.now() })
    socket.send(bytes, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { port: socket.address().port, heard, close: () => socket.close() }
}

test.run()
