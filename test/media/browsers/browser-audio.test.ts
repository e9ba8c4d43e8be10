import { generateKeyPairSync } from 'node:crypto'
import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { parsePageMessage } from '../../../media/browsers/browser-messages.ts'
import { PageAudio } from '../../../media/browsers/page-audio.ts'
import { BrowserLeg, FACTS } from '../../../media/legs/browser-leg.ts'
import { FrameRing, RING_FRAMES } from '../../../media/legs/frame-ring.ts'
import { LivePlayout } from '../../../media/legs/live-playout.ts'
import { PageWay } from '../../../media/legs/page-way.ts'
import { LEG_SAMPLES, NO_HOOKS } from '../../../media/rooms/leg.ts'
import { suite } from '../../harness.ts'
import { toneFrame } from '../engine/party.ts'

const test = suite('media/browsers/browser-audio')

const frameOf = (value: number): Int16Array => new Int16Array(LEG_SAMPLES).fill(value)

/** A payload of `samples` equal samples. */
function payloadOf(value: number, samples: number): string {
  const bytes = new Uint8Array(samples)
  PCMU.encode(new Int16Array(samples).fill(value), bytes)
  return Buffer.from(bytes).toString('base64')
}

function page() {
  const ring = new FrameRing()
  const facts = new Int32Array(FACTS.count)
  return { ring, facts, audio: new PageAudio(ring, facts, 'mulaw_8000', null) }
}

/** The frames that the engine takes from the ring. */
function taken(ring: FrameRing): number[] {
  const frame = frameOf(0)
  const values: number[] = []
  while (ring.take(frame)) values.push(frame[0]!)
  return values
}

test('a ring gives what was written, in order, over its end', () => {
  const ring = new FrameRing()
  const reader = new FrameRing(ring.memory)
  for (let i = 0; i < 3 * RING_FRAMES; i++) {
    assert.ok(ring.write(frameOf(i)))
    assert.equal(taken(reader), [i])
  }
  assert.equal([ring.written, reader.read, ring.waiting], [3 * RING_FRAMES, 3 * RING_FRAMES, 0])
})

test('a full ring drops the newest frame and counts it; null is silence; what was cleared is passed over', () => {
  const ring = new FrameRing()
  for (let i = 0; i < RING_FRAMES + 2; i++) ring.write(frameOf(i))
  assert.equal([ring.dropped, ring.waiting], [2, RING_FRAMES])
  ring.clear()
  assert.equal(taken(ring), [])
  ring.write(null)
  assert.equal(taken(ring), [0])
})

test('what was cleared in its middle fades out within 5 ms', () => {
  const ring = new FrameRing()
  for (let i = 0; i < 5; i++) ring.write(frameOf(1000))
  const frame = frameOf(0)
  assert.ok(ring.take(frame))
  ring.clear()
  ring.write(frameOf(7))
  assert.ok(ring.take(frame))
  assert.equal([...frame.slice(0, 2)], [976, 951])
  assert.ok(frame.slice(40).every(sample => sample === 0))
  assert.equal(taken(ring), [7])
})

test('live audio goes straight through; its payloads may have any length', () => {
  const { ring, facts, audio } = page()
  audio.media(payloadOf(1000, 100), 0, 0)
  assert.is(ring.waiting, 0)
  audio.media(payloadOf(1000, 220), 12, 12)
  assert.is(ring.waiting, 2)
  assert.is(facts[FACTS.live], 1)
})

test('what is no base64 or too long is refused and counted', () => {
  const { audio, ring } = page()
  for (const payload of ['', 'not base64', '====', 'A'.repeat(70_000)]) audio.media(payload, null, 0)
  audio.pump()
  assert.equal([audio.refused, ring.waiting], [4, 0])
})

test('audio without times waits for its turn, at most 60 s of it; the engine gets a little at a time', () => {
  const { audio, ring } = page()
  for (let second = 0; second < 61; second++) audio.media(payloadOf(500, 8000), null, 0)
  assert.is(audio.dropped, 50)
  audio.pump()
  assert.is(ring.waiting, 5)
})

test('a mark is reached when all audio before it was taken; clear reaches all of them', () => {
  const { audio, ring } = page()
  audio.media(payloadOf(500, 2 * LEG_SAMPLES), null, 0)
  audio.mark('two frames')
  audio.media(payloadOf(500, 10 * LEG_SAMPLES), null, 0)
  audio.mark('twelve')
  assert.equal(audio.pump(), [])
  ring.take(frameOf(0))
  assert.equal(audio.pump(), [])
  ring.take(frameOf(0))
  assert.equal(audio.pump(), ['two frames'])
  assert.equal(audio.clear(), ['twelve'])
  audio.pump()
  assert.equal(taken(ring).length, 1, 'it fades out')
})

test('live playout begins behind two frames, conceals three that are late, and then waits for one more', () => {
  const playout = new LivePlayout()
  assert.equal([playout.next(0), playout.next(1), playout.next(2)], ['silent', 'silent', 'play'])
  assert.equal(
    [1, 2, 3, 4].map(() => playout.next(0)),
    ['lost', 'lost', 'lost', 'silent'],
  )
  assert.equal([playout.target, playout.late], [3, 3])
  assert.equal([playout.next(2), playout.next(3)], ['silent', 'play'])
})

test('what a stall has heaped up is left out at once; a delay that was never needed goes frame by frame', () => {
  const playout = new LivePlayout()
  playout.next(2)
  assert.is(playout.excess(20), 18)
  let skipped = 0
  for (let tick = 0; tick < 100; tick++) {
    skipped += playout.excess(6)
    playout.next(6)
  }
  assert.is(skipped, 2)
})

test('a page whose clock is faster, or that was stalled, is caught up with without a click', () => {
  const [fromPage, toPage] = [new FrameRing(), new FrameRing()]
  const facts = new SharedArrayBuffer(4 * FACTS.count)
  new Int32Array(facts)[FACTS.live] = 1
  const pipe = { codec: 'L16' as const, fromPage: fromPage.memory, toPage: toPage.memory, facts }
  const leg = new BrowserLeg('part_1', pipe, NO_HOOKS, () => {})
  let spoken = 0
  let sharpest = 0
  const heard = [0, 0]
  const speak = (): boolean => fromPage.write(toneFrame(410, spoken++, 8000))
  for (let tick = 0; tick < 1000; tick++) {
    if (tick < 500 || tick >= 520) speak()
    if (tick === 520) for (let late = 0; late < 20; late++) speak()
    if (tick % 100 === 0) speak()
    toPage.clear()
    leg.pull(tick * 20, false, false)
    heard.push(...(leg.said ?? new Int16Array(LEG_SAMPLES)))
  }
  // From 100 ms on, and not where the stall begins and ends.
  for (let i = 800; i < heard.length; i++) {
    if (i > 499 * LEG_SAMPLES && i < 523 * LEG_SAMPLES) continue
    sharpest = Math.max(sharpest, Math.abs(heard[i]! - 2 * heard[i - 1]! + heard[i - 2]!))
  }
  // The maximum second difference of the tone itself.
  const slope = 8000 * ((2 * Math.PI * 410) / 8000) ** 2
  assert.ok(sharpest < 1.6 * slope, `${sharpest}, the tone alone has ${slope}`)
})

test('of a page that is live, what does not come is missing; what else is silent sends nothing, or has not begun', () => {
  const missingOf = (isLive: boolean): string => {
    const [fromPage, toPage] = [new FrameRing(), new FrameRing()]
    const facts = new SharedArrayBuffer(4 * FACTS.count)
    new Int32Array(facts)[FACTS.live] = isLive ? 1 : 0
    const pipe = { codec: 'L16' as const, fromPage: fromPage.memory, toPage: toPage.memory, facts }
    const hooks = { key: () => {}, oneWay: () => {}, timedOut: () => {}, earlyAudio: () => {} }
    const leg = new BrowserLeg('part_1', pipe, hooks, () => {})
    let missing = ''
    for (let tick = 0; tick < 60; tick++) {
      if (tick >= 10 && (tick < 20 || tick >= 40)) fromPage.write(null)
      leg.pull(tick * 20, false, false)
      missing += leg.isMissing ? '-' : '+'
    }
    return missing.replaceAll(/(.)\1+/g, '$1')
  }
  assert.is(missingOf(true), '+-+')
  assert.is(missingOf(false), '+')
})

test('packets of a page come in the slot of its room, over a way that is opened later, too', () => {
  const ring = new FrameRing()
  const facts = new SharedArrayBuffer(4 * FACTS.count)
  const pipe = { codec: 'L16' as const, fromPage: ring.memory, toPage: ring.memory, facts }
  const leg = new BrowserLeg('part_1', pipe, NO_HOOKS, () => {})
  const followed: (number | null)[] = []
  const socket = {
    ...{ sendRtp: () => {}, sendRtcp: () => {}, close: () => {} },
    follow: (slot: number | null) => followed.push(slot),
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  leg.follow(2)
  leg.useWay(new PageWay('part_1', socket, () => 1, { certificate: new Uint8Array(0), privateKey }), 0)
  leg.follow(3)
  leg.follow(null)
  assert.equal(followed, [2, 3, null])
})

test('messages of a page are read; what is none of them is null', () => {
  const read = (message: object, streamSid: string | null = 'part_1') =>
    parsePageMessage(JSON.stringify(message), streamSid)
  assert.equal(read({ event: 'media', streamSid: 'part_1', media: { payload: 'AA==', timestamp: '20' } }), {
    event: 'media',
    payload: 'AA==',
    timestampMs: 20,
  })
  assert.equal(read({ event: 'media', media: { payload: 'AA==' } }), {
    event: 'media',
    payload: 'AA==',
    timestampMs: null,
  })
  assert.equal(read({ event: 'mark', mark: { name: 'm' } }), { event: 'mark', name: 'm' })
  assert.equal(read({ event: 'dtmf', dtmf: { digit: '#' } }), { event: 'dtmf', digit: '#' })
  assert.equal(read({ event: 'control', control: { type: 'hold' } }, null), {
    event: 'control',
    body: { type: 'hold' },
  })
  for (const message of [
    { event: 'media', media: { payload: 'AA==', timestamp: 'soon' } },
    { event: 'media', media: { payload: 1 } },
    { event: 'media', streamSid: 'part_2', media: { payload: 'AA==' } },
    { event: 'dtmf', dtmf: { digit: '12' } },
    { event: 'mark', mark: { name: 'x'.repeat(201) } },
    { event: 'control', control: { type: 'x'.repeat(5000) } },
    { event: 'start' },
    {},
  ]) {
    assert.is(read(message), null, JSON.stringify(message).slice(0, 60))
  }
})

test.run()
