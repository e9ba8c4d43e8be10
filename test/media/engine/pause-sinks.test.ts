import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../../../codecs/goertzel.ts'
import { loadResampler } from '../../../codecs/resample.ts'
import { BrowserLeg, FACTS } from '../../../media/legs/browser-leg.ts'
import { FrameRing } from '../../../media/legs/frame-ring.ts'
import type { Request } from '../../../media/protocol.ts'
import { Annex } from '../../../media/rooms/annex.ts'
import { type Leg, NO_HOOKS } from '../../../media/rooms/leg.ts'
import type { Room } from '../../../media/rooms/room.ts'
import type { Sink } from '../../../media/rooms/sink.ts'
import { ntpMiddle, RTCP_BUFFER_BYTES, writeReport } from '../../../media/rtp/rtcp.ts'
import type { SinkNoun } from '../../../media/sinks/sink-kind.ts'
import { StreamTrack } from '../../../media/streams/stream-track.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, toneFrame } from './party.ts'
import { Typist } from './typist.ts'

/** Name lengths differ, since the test addresses of the far ends come from them. */
const CALLER = 'part_a'
const AGENT = 'part_ag'
const MONITOR = 'part_mon'
const PAUSE = 60
const RESUME = 120
const END = RESUME + 120
/** What the caller says until the resume, and from then on [Hz]. */
const SECRET = 400
const OPEN = 3000
/** The tones are sent at about −12 [dBov]; where one begins with a step, there is a little of all. */
const NOTHING_DBOV = -50
const AUDIBLE_DBOV = -20

const test = suite('media/engine: what was said in a pause reaches no sink after it')

/** Sinks of both kinds at each leg, and one at each room. */
class Kept implements SinkNoun {
  readonly sinks = new Map<string, KeepingSink>()

  create(): ReturnType<SinkNoun['create']> {
    return { commands: {}, enter: ({ leg }, room) => this.#listen(leg, room) }
  }

  #listen(leg: Leg, room: Room): void {
    for (const onPause of ['silence', 'nothing'] as const) leg.sinks.push(this.#sink(`${leg.id} ${onPause}`, onPause))
    if (room.sinks.length === 0 && !(room instanceof Annex)) room.sinks.push(this.#sink('room', 'silence'))
  }

  /** A leg whose room is on another thread is listened to on both. */
  #sink(of: string, onPause: 'silence' | 'nothing'): KeepingSink {
    const sink = new KeepingSink(onPause)
    this.sinks.set(`${of} ${this.sinks.size}`, sink)
    return sink
  }
}

interface Case {
  /** How late each packet of the caller comes, by the tick in which it is sent [ms]. */
  delayOf(tick: number): number
  /** In these ticks our threads stand still: then all that was received and commanded happens at once. */
  stalls?: readonly [from: number, to: number]
  pauseAt?: number
  /** Round trip that the caller's reports tell, every five seconds [ms]; absent: it sends none. */
  roundTripMs?: number
  /** The call begins so many ticks before. */
  before?: number
  /** The caller stands still in these ticks: it sends nothing, and its timestamps do not count them. */
  isStill?(tick: number): boolean
  /** The pause ends by its deadline. */
  isTimed?: boolean
}

/** Lets a caller talk through a pause and on. @returns what reached whom from the pause on */
async function run(one: Case, isFirst: boolean): Promise<Map<string, Int16Array>> {
  const { delayOf, stalls = [END, END], pauseAt = PAUSE, isTimed, roundTripMs, before = 0, isStill } = one
  const dir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const kept = new Kept()
  const engine = new TestEngine(dir, { sinks: [kept] })
  // The room is on the thread of the first, if there are several.
  if (!isFirst) await engine.join(AGENT)
  const caller = await engine.join(CALLER)
  if (isFirst) await engine.join(AGENT)
  const monitor = await engine.join(MONITOR)
  engine.engine.do('leg.update', { legId: MONITOR, heardBy: [] })
  const typist = new Typist(engine, CALLER, caller, [])
  typist.voice = tick => toneFrame(tick < RESUME ? SECRET : OPEN, tick)
  typist.delayOf = delayOf
  const command = (tick: number): void => {
    const maxSeconds = isTimed ? (RESUME - pauseAt) / 50 : 60
    const request: Omit<Request<'capture.pause'>, 'target'> = {
      ...{ maxSeconds, reason: 'payment', maskDtmf: true, destinationLegId: null },
    }
    if (tick === pauseAt) engine.engine.do('capture.pause', { target: { legId: CALLER }, ...request })
    if (tick === RESUME && !isTimed) engine.engine.do('capture.resume', { target: { legId: CALLER } })
  }
  const from = new Map<string, number>()
  let monitored = 0
  const [still, again] = stalls
  for (let tick = -before; tick < END; tick++) {
    if (roundTripMs !== undefined && (tick + before) % 250 === 50) report(engine, caller, roundTripMs)
    if (tick === pauseAt) {
      for (const [of, { frames }] of kept.sinks) from.set(of, frames.inbound.length)
      // What it hears fades out in the first frame.
      monitored = monitor.received.payloads.length + 2
    }
    command(tick)
    if (tick >= still && tick < again) {
      typist.tick(tick, false)
      engine.now += 20
      if (tick === again - 1) typist.deliver()
    } else engine.run(1, () => (isStill?.(tick) === true ? typist.deliver() : typist.tick(tick)))
  }
  await engine.close()
  rmSync(dir, { recursive: true })
  const heard = new Map([['the monitor', monitor.received.heard(monitored)]])
  for (const [of, sink] of kept.sinks) {
    for (const track of ['inbound', 'outbound'] as const) heard.set(`${of} ${track}`, sink.samples(track, from.get(of)))
  }
  return heard
}

/** The caller reports on what it hears (RFC 3550 §6.4.2). */
function report({ now }: TestEngine, { received, receiver }: FarEnd, roundTripMs: number): void {
  const sentAt = ntpMiddle(performance.timeOrigin + now - roundTripMs)
  const heard = { fractionLost: 0, cumulativeLost: 0, highestSequence: 1, jitter: 0 }
  const block = { ...heard, ssrc: received.ssrc, lastSr: sentAt, delaySinceLastSr: 0 }
  const bytes = new Uint8Array(RTCP_BUFFER_BYTES)
  receiver?.rtcp(bytes.subarray(0, writeReport(bytes, 7, null, block, 'a')), `192.0.2.${CALLER.length}`, 4001, now)
}

/** The loudest that a tone is in any 20 ms [dBov]; the window keeps edges of the other one apart. */
function most(hz: number, samples: Int16Array): number {
  let power = 1e-9
  const shaped = new Float64Array(160)
  for (let at = 0; at + 160 <= samples.length; at += 40) {
    for (let i = 0; i < 160; i++) shaped[i] = samples[at + i]! * (1 - Math.cos((2 * Math.PI * (i + 0.5)) / 160))
    power = Math.max(power, goertzelPower(shaped, goertzelCoefficient(hz, 8000)))
  }
  return goertzelDbov(power, 160)
}

/** The caller's own sinks, the room's, those of who hears it, and who listens in. */
const HEARS_LATER = /^(part_a .* inbound|room .* inbound|part_ag .* outbound|the monitor)$/
const still = (): number => 30
const CASES: Record<string, Case> = {
  'it waits in the jitter buffer': { delayOf: still },
  'the network holds it back for half a second': {
    delayOf: tick => (tick >= RESUME - 15 && tick < RESUME + 10 ? 30 + (RESUME + 10 - tick) * 20 : 30),
  },
  'its network is slow since a second before the resume': { delayOf: tick => (tick < RESUME - 50 ? 30 : 230) },
  'the network is unsteady': { delayOf: tick => 20 + ((tick * 37) % 120) },
  'each packet takes 230 ms, as round trips tell': { delayOf: () => 230, roundTripMs: 460 },
  'its phone stood still for three seconds, long before': {
    ...{ delayOf: still, roundTripMs: 60, before: 1500, isStill: tick => tick >= -1400 && tick < -1250 },
  },
  'its network is slow by half a second since long before': {
    ...{ delayOf: tick => (tick < -1400 ? 30 : 530), roundTripMs: 560, before: 1500 },
  },
  'our process stands still over the resume': { delayOf: still, stalls: [RESUME - 30, RESUME + 5] },
  'our process stands still, and the deadline passes meanwhile': {
    ...{ delayOf: still, stalls: [RESUME - 30, RESUME + 5], isTimed: true },
  },
  'our process stands still for all of the pause': {
    ...{ delayOf: still, pauseAt: RESUME - 10, stalls: [RESUME - 10, RESUME + 1] },
  },
}

for (const [name, one] of Object.entries(CASES)) {
  test(`what is sent before the resume reaches no recording, stream, transcript or listener after it, and what is sent later does: ${name}`, async () => {
    const all = [...(await run(one, true)), ...(await run(one, false))]
    for (const [who, samples] of all) {
      const secret = most(SECRET, samples)
      assert.ok(secret < NOTHING_DBOV, `${who}: ${secret.toFixed(1)} dBov of what was said in the pause`)
      if (!HEARS_LATER.test(who)) continue
      const open = most(OPEN, samples.subarray(-160 * (END - RESUME - 60)))
      assert.ok(open > AUDIBLE_DBOV, `${who}: ${open.toFixed(1)} dBov of what was said later`)
    }
  })
}

test('a media stream gets silence from the first frame of a pause on: zeros for L16, also of 16 kHz, whatever its filter still holds', async () => {
  const createResampler = await loadResampler()
  const payloads = new Map<string, Buffer[]>()
  const listener = (of: string): Sink => {
    const tracks = ['inbound', 'outbound'].map(name => {
      const track = new StreamTrack('ms_1', name as 'inbound', 'l16_16000', createResampler(8000, 16_000))
      payloads.set(`${of} ${name}`, [])
      return [name, track] as const
    })
    return {
      onPause: 'silence',
      write: (name, frame) => {
        const track = new Map(tracks).get(name)!
        track.write(frame, 1, 0, 0)
        payloads.get(`${of} ${name}`)!.push(Buffer.from(JSON.parse(String(track.next(1))).media.payload, 'base64'))
      },
      close: () => {},
    }
  }
  const noun: SinkNoun = {
    create: () => ({
      commands: {},
      enter: ({ leg }, room) => {
        leg.sinks.push(listener(leg.id))
        if (room.sinks.length === 0) room.sinks.push(listener('room'))
      },
    }),
  }
  const dir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const engine = new TestEngine(dir, { sinks: [noun] })
  const caller = await engine.join(CALLER)
  await engine.join(AGENT)
  const typist = new Typist(engine, CALLER, caller, [])
  typist.voice = tick => toneFrame(SECRET, tick)
  typist.delayOf = still
  engine.run(PAUSE, tick => typist.tick(tick))
  const request = { maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: null }
  engine.engine.do('capture.pause', { target: { legId: CALLER }, ...request })
  const before = new Map([...payloads].map(([of, all]) => [of, all.length]))
  engine.run(10, tick => typist.tick(tick))
  const isSilent = (payload: Buffer) => payload.every(byte => byte === 0)
  for (const of of [`${CALLER} inbound`, `${AGENT} outbound`, 'room inbound']) {
    const [all, from] = [payloads.get(of)!, before.get(of)!]
    assert.not(isSilent(all[from - 1]!), `${of} before the pause`)
    // Between threads a frame may come a tick sooner or later.
    const paused = all.slice(from)
    assert.ok(paused.length >= 9, `${of}: ${paused.length} frames in the pause`)
    assert.ok(paused.every(isSilent), `${of}: ${paused.map(isSilent)}`)
  }
  await engine.close()
  rmSync(dir, { recursive: true })
})

test('the same of a page whose audio waits in its jitter delay, and of a caller on a WebSocket who sends it in advance', () => {
  // The ring holds 32 frames: 30 wait.
  for (const ahead of [0, 30]) {
    const [fromPage, toPage] = [new FrameRing(), new FrameRing()]
    const facts = new SharedArrayBuffer(4 * FACTS.count)
    new Int32Array(facts)[FACTS.live] = ahead === 0 ? 1 : 0
    const pipe = { codec: 'L16' as const, fromPage: fromPage.memory, toPage: toPage.memory, facts }
    const page = new BrowserLeg('b', pipe, NO_HOOKS, () => {})
    const sink = new KeepingSink()
    page.sinks.push(sink)
    for (let frame = -ahead; frame < 0; frame++) fromPage.write(toneFrame(SECRET, frame + ahead))
    for (let tick = 0; tick < END; tick++) {
      fromPage.write(toneFrame(tick < RESUME ? SECRET : OPEN, tick))
      const isPaused = tick >= PAUSE && tick < RESUME
      if (tick === RESUME) page.paused(tick * 20 + 10)
      page.pull(tick * 20 + 15, isPaused, isPaused)
      page.tapSaid(isPaused)
    }
    assert.ok(most(SECRET, sink.samples('inbound', PAUSE)) < NOTHING_DBOV, `${ahead} frames in advance`)
    assert.ok(most(OPEN, sink.samples('inbound', RESUME)) > AUDIBLE_DBOV, `${ahead} frames in advance`)
  }
})

test.run()
