import * as assert from 'uvu/assert'
import { BrowserLeg, FACTS } from '../../../media/legs/browser-leg.ts'
import { FrameRing } from '../../../media/legs/frame-ring.ts'
import type { LegMedia } from '../../../media/legs/leg-media.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { LEG_SAMPLES, NO_HOOKS } from '../../../media/rooms/leg.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf } from '../engine/party.ts'

const test = suite('media/rtp/one-way')

const HOST = '10.0.0.1'
const COMFORT_NOISE = 13

/** A leg on a virtual clock, with a far end that sends when it is told to. */
function scene() {
  let now = 0
  let told = 0
  let gone = 0
  let asked = 0
  const hooks = { ...NO_HOOKS, oneWay: () => told++, timedOut: () => gone++, quiet: () => asked++ }
  const out = { sendRtp: () => {}, sendRtcp: () => {} }
  const leg = new RtpLeg(
    'part_1',
    out,
    hooks,
    () => 1,
    () => {},
  )
  const sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 1000, maxPayload: LEG_SAMPLES })
  const connect = (direction: LegMedia['direction'] = 'sendrecv'): void =>
    leg.connect({ ...mediaOf(HOST), direction }, now)
  /** One tick of 20 ms, with a packet of the far end or without. */
  const tick = (payloadType: number | null, marker = false): void => {
    now += 20
    if (payloadType !== null) {
      const length = payloadType === 0 ? LEG_SAMPLES : 1
      leg.rtp(sender.write(payloadType, length, undefined, marker).slice(0, 12 + length), HOST, 4000, now)
    }
    sender.advance(LEG_SAMPLES)
    leg.pull(now, false, false)
    leg.send(null, null, now)
  }
  const speaks = (seconds: number): void => {
    for (let n = 0; n < seconds * 50; n++) tick(0)
  }
  const passes = (seconds: number): void => {
    for (let n = 0; n < seconds * 50; n++) tick(null)
  }
  connect()
  const answers = (): void => leg.isThere(now)
  return { connect, tick, speaks, passes, answers, told: () => told, gone: () => gone, asked: () => asked }
}

test('a party of which nothing has come for 5 s since its answer is told of, once', () => {
  const { passes, told } = scene()
  passes(4.9)
  assert.is(told(), 0)
  passes(0.2)
  assert.is(told(), 1)
  passes(50)
  assert.is(told(), 1)
})

test('a party whose audio stops is told of while the call runs, once for each time', () => {
  const { speaks, passes, told } = scene()
  speaks(10)
  assert.is(told(), 0)
  passes(6)
  assert.is(told(), 1)
  passes(6)
  speaks(1)
  assert.is(told(), 1)
  passes(6)
  assert.is(told(), 2)
})

test('a party that has put us on hold, or takes audio only, need not be heard; taken off hold it has 5 s', () => {
  const { connect, speaks, passes, told } = scene()
  speaks(1)
  for (const direction of ['sendonly', 'inactive'] as const) {
    connect(direction)
    passes(30)
    assert.is(told(), 0, direction)
    connect()
    passes(4)
    assert.is(told(), 0)
    speaks(1)
  }
  passes(5.1)
  assert.is(told(), 1)
})

test('a party that only listens from the first description on is never told of', () => {
  const { connect, passes, told } = scene()
  connect('sendonly')
  passes(30)
  assert.is(told(), 0)
})

test('a description that changes nothing of the direction begins no new time', () => {
  const { connect, passes, told } = scene()
  passes(3)
  connect()
  passes(2.2)
  assert.is(told(), 1)
})

test('who says by comfort noise that it falls silent does so on purpose; what stops without a word after that is told of', () => {
  const { speaks, passes, tick, told } = scene()
  speaks(1)
  tick(COMFORT_NOISE)
  passes(30)
  assert.is(told(), 0)
  speaks(1)
  passes(5.1)
  assert.is(told(), 1)
})

test('a party of which nothing comes for a minute is gone, unless it has said by comfort noise that it falls silent', () => {
  const { connect, tick, speaks, passes, gone } = scene()
  speaks(2)
  tick(COMFORT_NOISE)
  passes(300)
  assert.is(gone(), 0, 'one packet of comfort noise is enough for a silence of five minutes')
  speaks(2)
  passes(59)
  assert.is(gone(), 0)
  passes(2)
  assert.is(gone(), 1, 'who has spoken again, and breaks off, is gone')
  speaks(2)
  tick(COMFORT_NOISE)
  connect('sendonly')
  passes(70)
  assert.is(gone(), 1)
  connect()
  passes(61)
  assert.is(gone(), 2, 'who comes back from hold has said nothing yet')
})

test('a party of which nothing comes for 45 s is asked by SIP whether it is there: as long as it answers it is not gone', () => {
  const { speaks, passes, answers, asked, gone } = scene()
  speaks(2)
  passes(44.5)
  assert.is(asked(), 0)
  for (let n = 1; n <= 10; n++) {
    passes(1)
    assert.is(asked(), n, 'once')
    answers()
    passes(44.5)
    assert.is(asked(), n)
  }
  assert.is(gone(), 0, 'after seven minutes')
  passes(14)
  assert.equal([asked(), gone()], [11, 0], 'no answer')
  passes(2)
  assert.equal([asked(), gone()], [11, 1], 'a minute after the last one it is gone')
})

test('who speaks, has said that it falls silent, or holds is not asked', () => {
  const { connect, speaks, passes, tick, asked } = scene()
  speaks(60)
  tick(COMFORT_NOISE)
  passes(60)
  connect('sendonly')
  passes(60)
  assert.is(asked(), 0)
})

test('who begins each talkspurt with a marker suppresses silence', () => {
  const { speaks, passes, tick, told } = scene()
  tick(0, true)
  speaks(1)
  passes(1)
  tick(0, true)
  speaks(1)
  passes(30)
  assert.is(told(), 0)
})

test('a page that says nothing for a minute is told of; one that has said a word, or that nobody is to hear, is not', () => {
  for (const [says, muted, times] of [
    [false, false, 1],
    [true, false, 0],
    [false, true, 0],
  ] as const) {
    let told = 0
    const [fromPage, toPage] = [new FrameRing(), new FrameRing()]
    const facts = new SharedArrayBuffer(4 * FACTS.count)
    const pipe = { codec: 'PCMU' as const, fromPage: fromPage.memory, toPage: toPage.memory, facts }
    const hooks = { ...NO_HOOKS, oneWay: () => told++ }
    const leg = new BrowserLeg('part_1', pipe, hooks, () => {})
    leg.muted = muted
    if (says) fromPage.write(new Int16Array(LEG_SAMPLES))
    for (let tick = 0; tick < 130 * 50; tick++) {
      toPage.clear()
      leg.pull(tick * 20, false, false)
      leg.send(null, null, tick * 20)
      if (tick === 59 * 50) assert.is(told, 0)
    }
    assert.is(told, times)
  }
})

test.run()
