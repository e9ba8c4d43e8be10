import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { DtmfDetector } from '../../../codecs/detectors/dtmf-detector.ts'
import { createTone, DTMF_FREQUENCIES, type DtmfKey, dtmfPlan } from '../../../codecs/tones.ts'
import type { Request } from '../../../media/protocol.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { levelOf, toneFrame } from './party.ts'

/** Name lengths differ, since the test addresses of the far ends come from them. */
const CALLER = 'part_a'
const AGENT = 'part_ag'
const PAYMENT = 'part_pay'
const SETTLED = 10
/** A suppressed tone must be below this; the tones are sent at about −15 [dBov]. */
const NOTHING = -70

let dataDir: string
let engine: TestEngine
let caller: FarEnd
let agent: FarEnd
let payment: FarEnd

const test = suite('media/engine: card-payment pause')

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir)
  caller = await engine.join(CALLER)
  agent = await engine.join(AGENT)
  payment = await engine.join(PAYMENT)
})

test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

const pause = (changes: Partial<Request<'capture.pause'>> = {}) =>
  engine.engine.do('capture.pause', {
    target: { legId: CALLER },
    maxSeconds: 60,
    reason: 'payment',
    maskDtmf: true,
    destinationLegId: PAYMENT,
    ...changes,
  })

/** Lets the caller, or another party, press a key for some ticks as an in-band tone. */
function holdKey(key: DtmfKey, ticks: number, who = caller): void {
  const tone = createTone(dtmfPlan(key, ticks * 20), 8000)
  const frame = new Int16Array(160)
  engine.run(ticks, () => {
    tone.pull(frame)
    who.speaker.speak(frame, engine.now)
  })
}

function silence(ticks: number): void {
  engine.run(ticks, () => caller.speaker.speak(new Int16Array(160), engine.now))
}

/** Lets the caller, or another party, press a key as a telephone event: five packets, and three with the E bit. */
function pressKey(code: number, who = caller): void {
  for (let i = 0; i < 5; i++)
    engine.run(1, () => who.speaker.press(code, i === 0 ? 'start' : 'middle', 160 * i, engine.now))
  for (let i = 0; i < 3; i++) engine.run(1, () => who.speaker.press(code, 'end', 960, engine.now))
}

/** The loudest level of any DTMF frequency in any 10 ms of what was heard. */
function loudestTone(farEnd: FarEnd, from: number): number {
  const heard = farEnd.received.heard(from)
  let loudest = Number.NEGATIVE_INFINITY
  for (const [low, high] of Object.values(DTMF_FREQUENCIES)) {
    for (let at = 0; at + 80 <= heard.length; at += 80) {
      for (const hz of [low, high]) loudest = Math.max(loudest, levelOf(hz, heard.subarray(at, at + 80)))
    }
  }
  return loudest
}

const keysIn = (farEnd: FarEnd, from: number): string => {
  const detector = new DtmfDetector()
  let keys = ''
  for (let i = from; i < farEnd.received.payloads.length; i++) {
    detector.write(farEnd.received.heard(i, i + 1))
    keys += detector.began ?? ''
  }
  return keys
}

test('without a pause keypad tones are heard by all others', () => {
  silence(SETTLED)
  holdKey('5', 5)
  silence(SETTLED)
  assert.is(keysIn(agent, 0), '5')
  assert.is(keysIn(payment, 0), '5')
})

test('with DTMF masking on, keypad tones are removed for everyone except the payment line, their leading edge too', () => {
  silence(SETTLED)
  pause()
  const from = engine.ticks
  for (const key of ['4', '1', '9', '*', '#', '0', 'A', 'D'] as DtmfKey[]) {
    holdKey(key, 4)
    silence(3)
  }
  silence(SETTLED)
  assert.ok(loudestTone(agent, from - 1) < NOTHING, `agent hears ${loudestTone(agent, from - 1)} dBov`)
  assert.is(keysIn(payment, from - 1), '419*#0AD')
})

test('whoever only listens in (monitor, whisper) hears silence during a pause, whoever barges in hears the call', () => {
  const heard = (): number => {
    const from = engine.ticks + 2 * SETTLED
    engine.run(60, tick => caller.speaker.speak(toneFrame(400, tick), engine.now))
    return levelOf(400, agent.received.heard(from))
  }
  for (const heardBy of [[], [PAYMENT]]) {
    engine.engine.do('leg.update', { legId: AGENT, heardBy })
    assert.ok(heard() > -13, 'before the pause')
    pause()
    assert.ok(heard() < NOTHING, 'in the pause')
    engine.engine.do('leg.update', { legId: AGENT, heardBy: null })
    assert.ok(heard() > -13, 'barging in')
    engine.engine.do('leg.update', { legId: AGENT, heardBy })
    assert.ok(heard() < NOTHING, 'listening again')
    engine.engine.do('capture.resume', { target: { legId: CALLER } })
    assert.ok(heard() > -13, 'after the pause')
  }
})

test('a key that is held when the pause begins is cut off, and one that is held when it ends stays masked', () => {
  silence(SETTLED)
  pause()
  silence(3)
  holdKey('7', 5)
  engine.engine.do('capture.resume', { target: { legId: CALLER } })
  const from = engine.ticks
  holdKey('7', 20)
  silence(30)
  assert.ok(loudestTone(agent, from - 5) < NOTHING, `agent hears ${loudestTone(agent, from - 5)} dBov`)
})

test('a key that is pressed in the last moment of the pause stays masked', () => {
  silence(SETTLED)
  pause()
  silence(3)
  const from = engine.ticks
  holdKey('7', 1)
  engine.engine.do('capture.resume', { target: { legId: CALLER } })
  holdKey('7', 10)
  silence(30)
  assert.ok(loudestTone(agent, from - 1) < NOTHING)
  assert.equal(
    engine.of('leg.dtmf').map(event => event.key),
    ['*'],
  )
})

test('speech after the pause and its tail passes again sample by sample', () => {
  pause()
  silence(20)
  engine.engine.do('capture.resume', { target: { legId: CALLER } })
  silence(40)
  const from = engine.ticks
  engine.run(60, tick => caller.speaker.speak(toneFrame(1000, tick), engine.now))
  assert.ok(levelOf(1000, agent.received.heard(from + SETTLED)) > -13)
})

test('where telephone events were agreed on and the caller types tones, keys are told of outside of a pause, and masked in it', () => {
  silence(SETTLED)
  holdKey('5', 4)
  silence(SETTLED)
  pause()
  silence(3)
  holdKey('8', 4)
  silence(SETTLED)
  assert.equal(
    engine.of('leg.dtmf').map(({ key, masked, source }) => ({ key, masked, source })),
    [
      { key: '5', masked: false, source: 'inband' },
      { key: '*', masked: true, source: 'inband' },
    ],
  )
  assert.equal([agent.received.events.length, payment.received.events.length], [0, 0])
})

test('a key that somebody else has just pressed, come back as an echo, is none of who echoes it', () => {
  silence(SETTLED)
  pressKey(7)
  const tone = createTone(dtmfPlan('7', 100), 8000)
  const frame = new Int16Array(160)
  engine.run(15, () => {
    tone.pull(frame)
    agent.speaker.speak(frame, engine.now)
  })
  assert.equal(
    engine.of('leg.dtmf').map(({ legId, key }) => `${legId} ${key}`),
    [`${CALLER} 7`],
  )
})

test('RFC 4733 events reach the payment line and nobody else, and are masked in events', () => {
  silence(SETTLED)
  pressKey(3)
  assert.ok(agent.received.events.length > 0, 'without a pause keys of a plain call reach the other party')
  const before = agent.received.events.length
  const beforePayment = payment.received.events.length
  engine.run(20)
  pause()
  pressKey(8)
  engine.run(20)
  assert.is(agent.received.events.length, before)
  assert.ok(payment.received.events.slice(beforePayment).some(event => event.code === 8))
  assert.equal(
    engine.of('leg.dtmf').map(({ key, masked }) => ({ key, masked })),
    [
      { key: '3', masked: false },
      { key: '*', masked: true },
    ],
  )
})

test('a payment line that comes into the pause hears the keys from then on, and nobody else does', async () => {
  silence(SETTLED)
  pause({ destinationLegId: null })
  const from = engine.ticks
  pressKey(4)
  holdKey('6', 5)
  silence(SETTLED)
  engine.engine.do('capture.direct', { target: { legId: CALLER }, destinationLegId: PAYMENT })
  holdKey('5', 5)
  silence(SETTLED)
  pressKey(8)
  engine.run(40)
  assert.equal([...new Set(payment.received.events.map(event => event.code))], [8])
  assert.is(keysIn(payment, from - 1), '5')
  assert.is(agent.received.events.length, 0)
  assert.ok(loudestTone(agent, from - 1) < NOTHING)
})

test('of two who pay in one room, each by a pause of its own, each payment line hears its payer and not the other one', async () => {
  const [OTHER, OTHER_LINE] = ['part_other', 'part_other_pay']
  const other = await engine.join(OTHER)
  const otherLine = await engine.join(OTHER_LINE)
  const everybody = [caller, agent, payment, other, otherLine]
  silence(SETTLED)
  pause()
  pause({ target: { legId: OTHER }, destinationLegId: OTHER_LINE })
  for (const [payer, line] of [
    [caller, payment],
    [other, otherLine],
  ] as const) {
    const from = engine.ticks
    const before = new Map(everybody.map(one => [one, one.received.events.length]))
    holdKey('5', 5, payer)
    silence(SETTLED)
    pressKey(8, payer)
    engine.run(40)
    assert.is(keysIn(line, from - 1), '5')
    assert.ok(line.received.events.slice(before.get(line)).some(event => event.code === 8))
    for (const one of everybody.filter(far => far !== line && far !== payer)) {
      assert.is(one.received.events.length, before.get(one))
      assert.ok(loudestTone(one, from - 1) < NOTHING)
    }
  }
  engine.engine.do('capture.resume', { target: { legId: CALLER } })
  pressKey(3, other)
  engine.run(40)
  assert.ok(
    otherLine.received.events.some(event => event.code === 3),
    'the other goes on paying',
  )
  assert.not.ok(payment.received.events.some(event => event.code === 3))
})

test("where two pay, nobody else's keys reach their lines, nor do those of who has paid; the line of the session's pause is everybody's", async () => {
  const room = { roomId: 'call_session', kind: 'conference' } as const
  const ids = [
    'part_one_',
    'part_one__pay',
    'part_two__',
    'part_two___pay',
    'part_neither___',
    'part_line_of_all',
  ] as const
  const [one, lineOfOne, two, lineOfTwo, neither, lineOfAll] = [
    await engine.join(ids[0], room),
    await engine.join(ids[1], room),
    await engine.join(ids[2], room),
    await engine.join(ids[3], room),
    await engine.join(ids[4], room),
    await engine.join(ids[5], room),
  ]
  engine.run(SETTLED)
  const lines = [lineOfOne, lineOfTwo, lineOfAll]
  pause({ target: { legId: ids[0] }, destinationLegId: ids[1] })
  pause({ target: { legId: ids[2] }, destinationLegId: ids[3] })
  /** Who gets the keys of each party, as events and as tones. */
  const heardBy = () =>
    [one, two, neither].map(who => {
      const before = lines.map(({ received }) => [received.events.length, received.payloads.length] as const)
      holdKey('5', 5, who)
      engine.run(SETTLED)
      pressKey(8, who)
      engine.run(40)
      return lines.map((line, i) => [
        line.received.events.slice(before[i]![0]).some(event => event.code === 8),
        keysIn(line, before[i]![1]).includes('5'),
      ])
    })
  const [no, yes] = [
    [false, false],
    [true, true],
  ]
  assert.equal(heardBy(), [
    [yes, no, no],
    [no, yes, no],
    [no, no, no],
  ])
  engine.engine.do('capture.resume', { target: { legId: ids[0] } })
  engine.run(SETTLED + 60)
  assert.equal(heardBy(), [
    [no, no, no],
    [no, yes, no],
    [no, no, no],
  ])
  pause({ target: { roomId: room.roomId }, destinationLegId: ids[5] })
  assert.equal(heardBy(), [
    [no, no, yes],
    [no, yes, no],
    [no, no, yes],
  ])
  engine.engine.do('capture.resume', { target: { roomId: room.roomId } })
  engine.engine.do('capture.resume', { target: { legId: ids[2] } })
  engine.run(SETTLED + 60)
  pause({ target: { legId: ids[0] }, destinationLegId: ids[1] })
  assert.equal(heardBy(), [
    [yes, no, no],
    [yes, no, no],
    [yes, no, no],
  ])
})

test('SIP INFO digits of a pause reach the payment line and nobody else', () => {
  silence(SETTLED)
  pause()
  engine.engine.do('leg.key', { legId: CALLER, key: '6', source: 'info', durationMs: 160 })
  engine.run(20)
  assert.is(agent.received.events.length, 0)
  assert.ok(payment.received.events.some(event => event.code === 6))
  assert.equal(engine.of('leg.dtmf')[0], { legId: CALLER, key: '*', masked: true, source: 'info' })
})

test('without DTMF masking the others hear the tones and get the keys, while events are still masked', () => {
  silence(SETTLED)
  pause({ maskDtmf: false, destinationLegId: null })
  const from = engine.ticks
  holdKey('5', 5)
  silence(SETTLED)
  assert.is(keysIn(agent, from - 1), '5')
  pressKey(8)
  engine.run(20)
  assert.ok(agent.received.events.some(event => event.code === 8))
  assert.ok(engine.of('leg.dtmf').every(event => event.key === '*' && event.masked))
})

test('without a payment line nobody gets the keys', () => {
  silence(SETTLED)
  pause({ destinationLegId: null })
  const from = engine.ticks
  pressKey(8)
  holdKey('5', 5)
  silence(SETTLED)
  for (const farEnd of [agent, payment]) {
    assert.is(farEnd.received.events.length, 0)
    assert.ok(loudestTone(farEnd, from - 1) < NOTHING)
  }
})

test('the request behind a pause or its end is told with it, and with no other change', () => {
  const request = { requestId: 'req_1', idempotencyKey: 'a key' }
  pause({ request })
  engine.engine.do('capture.resume', { target: { legId: CALLER }, request: { ...request, requestId: 'req_2' } })
  pause({ maxSeconds: 1, request })
  engine.run(52)
  assert.equal(
    engine.of('capture.changed').map(change => change.request?.requestId),
    ['req_1', 'req_2', 'req_1', undefined],
  )
})

test('max_seconds elapsed: resumes by itself', () => {
  pause({ maxSeconds: 1 })
  engine.run(49)
  assert.equal(
    engine.of('capture.changed').map(change => change.state.paused),
    [true],
  )
  engine.run(3)
  assert.equal(
    engine.of('capture.changed').map(change => [change.state.paused, change.by]),
    [
      [true, 'command'],
      [false, 'deadline'],
    ],
  )
})

test('pausing a paused call or resuming a running call is a conflict', () => {
  assert.is(
    (engine.engine.do('capture.resume', { target: { legId: CALLER } }) as { failure: string }).failure,
    'conflict',
  )
  pause()
  assert.is((pause() as { failure: string }).failure, 'conflict')
})

test('a pause ends with its call', () => {
  pause()
  engine.engine.do('leg.close', { legId: CALLER })
  assert.is(engine.of('capture.changed').at(-1)?.by, 'ended')
  silence(1)
  pressKey(1)
  assert.is(engine.engine.snapshot().captures.length, 0)
})

test('keys of a secret entry are masked in events', async () => {
  await engine.preload({ kind: 'prompt', name: 'enter-pin' })
  await engine.engine.do('leg.collect', {
    legId: CALLER,
    collectId: 'c1',
    prompts: [{ kind: 'prompt', name: 'enter-pin' }],
    maxDigits: 8,
    terminators: '#',
    firstDigitTimeoutMs: 5000,
    interDigitTimeoutMs: 3000,
    sensitive: true,
  })
  engine.run(5)
  for (const code of [1, 2, 3, 4, 11]) {
    pressKey(code)
    engine.run(5)
  }
  assert.ok(engine.of('leg.dtmf').every(event => event.key === '*' && event.masked))
  assert.equal(engine.of('leg.collected'), [
    { legId: CALLER, collectId: 'c1', digits: '1234', ended: 'terminator', utterance: null },
  ])
  assert.is(agent.received.events.length, 0)
})

test('keys typed on after a secret entry that ended by its length are as secret, until the leg collects again', async () => {
  const entry = { legId: CALLER, collectId: 'c1', prompts: [], terminators: '', interDigitTimeoutMs: 3000 }
  await engine.engine.do('leg.collect', { ...entry, maxDigits: 2, firstDigitTimeoutMs: 5000, sensitive: true })
  for (const code of [1, 2, 3, 4]) {
    pressKey(code)
    engine.run(5)
  }
  assert.is(engine.of('leg.collected')[0]?.digits, '12')
  assert.equal(
    engine.of('leg.dtmf').map(({ key }) => key),
    ['*', '*', '*', '*'],
  )
  assert.is(agent.received.events.length, 0)
  await engine.engine.do('leg.collect', { ...entry, maxDigits: 1, firstDigitTimeoutMs: 5000, sensitive: false })
  pressKey(5)
  engine.run(5)
  assert.is(engine.of('leg.dtmf').at(-1)?.key, '5')
})

test('a secret entry that something played cuts short stays secret for who types on', async () => {
  const entry = { legId: CALLER, collectId: 'c1', prompts: [], terminators: '', interDigitTimeoutMs: 3000 }
  await engine.engine.do('leg.collect', { ...entry, maxDigits: 4, firstDigitTimeoutMs: 5000, sensitive: true })
  pressKey(1)
  engine.run(5)
  const source = { kind: 'prompt' as const, name: 'enter-pin' as const }
  await engine.preload(source)
  await engine.engine.do('leg.play', { legId: CALLER, playId: 'p1', sources: [source], loop: false, hangupAfter: null })
  pressKey(2)
  engine.run(5)
  assert.equal(
    engine.of('leg.dtmf').map(({ key }) => key),
    ['*', '*'],
  )
  assert.is(agent.received.events.length, 0)
})

test.run()
