import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { seeded } from '../../../../bench/seeded.ts'
import type { Request, RoomSpec } from '../../../../media/protocol.ts'
import { type FarEnd, TestEngine } from '../../../fakes/engine.ts'
import { suite } from '../../../harness.ts'
import { type Press, Typist, type Way } from '../typist.ts'

const CALLER = 'part_a'
const AGENT = 'part_ag'
/** The event codes of RFC 4733 §3.2. */
const CODES = '0123456789*#'
const PROMPT = { kind: 'prompt' as const, name: 'enter-pin' as const }
const ELSEWHERE: RoomSpec = {
  roomId: 'call_other',
  kind: 'call',
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 10,
}
/** From this many ticks after a pause on, no key counts as one of it. */
const CALM = 150
/** Longer than the prompt. */
const PROMPT_TICKS = 300

let dataDir: string
let engine: TestEngine
let caller: FarEnd

const test = suite('media/engine: keys typed ahead')

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir)
  caller = await engine.join(CALLER)
  await engine.preload(PROMPT)
  engine.run(5)
})

test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

function type(keys: string): void {
  for (const key of keys) {
    const code = CODES.indexOf(key)
    caller.speaker.press(code, 'start', 160, engine.now)
    engine.run(1)
    caller.speaker.press(code, 'end', 320, engine.now)
    engine.run(2)
  }
}

let questions = 0

/** Asks for one key, unless told otherwise. */
const ask = (change: Partial<Request<'leg.collect'>> = {}) =>
  engine.engine.do('leg.collect', {
    legId: CALLER,
    collectId: `c${++questions}`,
    prompts: [PROMPT],
    maxDigits: 1,
    terminators: '',
    firstDigitTimeoutMs: 5000,
    interDigitTimeoutMs: 3000,
    sensitive: false,
    ahead: 'take',
    ...change,
  })
const free = { maxDigits: 64, terminators: '#' }

const answers = (): string[] => engine.of('leg.collected').map(({ digits }) => digits)
const shown = (): string =>
  engine
    .of('leg.dtmf')
    .map(({ key }) => key)
    .join('')
const isPrompting = (): boolean => caller.received.payloads.at(-1)!.some(byte => byte !== 0xff)

test('keys between two questions answer the second one, and the third, without their prompts', async () => {
  await ask()
  type('123')
  assert.equal(answers(), ['1'])
  await ask()
  assert.equal(answers(), ['1', '2'])
  await ask()
  assert.equal(answers(), ['1', '2', '3'])
  engine.run(5)
  assert.not(isPrompting())
  await ask()
  engine.run(5)
  assert.equal(answers().length, 3)
  assert.ok(isPrompting())
  assert.is(shown(), '123')
})

test('an entry that was begun ahead goes on with the keys that follow', async () => {
  await ask()
  type('142')
  await ask(free)
  engine.run(5)
  assert.not(isPrompting())
  type('7#')
  assert.equal(answers(), ['1', '427'])
})

test('keys before the first question, and while something plays, answer the next one', async () => {
  type('4')
  await ask()
  await engine.engine.do('leg.play', { legId: CALLER, playId: 'p', sources: [PROMPT], loop: false, hangupAfter: null })
  type('5')
  await ask()
  assert.equal(answers(), ['4', '5'])
})

test('keys that come before a secret is asked for are shown to nobody in a room that says so, and are the secret', async () => {
  const legId = 'part_guest'
  caller = await engine.join(legId, { roomId: 'call_lobby', hidesKeys: true })
  engine.run(5)
  type('47')
  await ask({ legId, ...free, sensitive: true })
  type('11#')
  assert.equal(answers(), ['4711'])
  assert.is(shown(), '*****')
  await ask({ legId })
  type('5')
  assert.is(shown(), '*****5')
})

test('of several options as many keys are taken as tell them apart, without waiting; the others are for the next question', async () => {
  const options = ['1', '12', '22', '23']
  await ask({ options, maxDigits: 2 })
  type('153')
  assert.equal(answers(), ['1'])
  await ask({ options: ['5'] })
  await ask({ options, maxDigits: 2 })
  assert.equal(answers(), ['1', '5', '3'], 'a key of no option is an answer at once')
  await ask({ options, maxDigits: 2 })
  type('1')
  assert.is(answers().length, 3)
  type('2')
  assert.is(answers()[3], '12')
})

test('the key that ends an entry, pressed once more, or after an option, ends nothing of the next question', async () => {
  await ask({ options: ['1'] })
  type('1#')
  await ask(free)
  engine.run(5)
  assert.equal(answers(), ['1'])
  type('77##2')
  await ask({ options: ['2'] })
  assert.equal(answers(), ['1', '77', '2'])
})

test('a question for words alone leaves the keys to the next one; one that takes none, or may not be interrupted, forgets them', async () => {
  await ask()
  type('12')
  await ask({ ahead: 'keep', firstDigitTimeoutMs: 20, prompts: [] })
  engine.run(5)
  await ask()
  assert.equal(answers(), ['1', '', '2'])
  for (const change of [{ ahead: undefined }, { playThrough: true }]) {
    type('3')
    const { length } = answers()
    await ask(change)
    engine.run(5)
    assert.is(answers().length, length)
    assert.ok(isPrompting())
    await ask()
    engine.run(5)
    assert.is(answers().length, length)
    type('4')
  }
})

test('keys during a prompt that may not be interrupted do not count; it is heard to its end', async () => {
  await ask({ playThrough: true, firstDigitTimeoutMs: 60_000 })
  engine.run(5)
  type('1')
  engine.run(5)
  assert.ok(isPrompting())
  assert.equal(answers(), [])
  engine.run(PROMPT_TICKS)
  assert.not(isPrompting())
  type('2')
  assert.equal(answers(), ['2'])
})

test('at most 64 keys are kept', async () => {
  await ask()
  type(`1${'2'.repeat(64)}3`)
  await ask({ maxDigits: 70, interDigitTimeoutMs: 40 })
  engine.run(10)
  assert.equal(answers(), ['1', '2'.repeat(64)])
})

test('what was pressed in a conversation answers no question', async () => {
  await ask()
  type('1')
  await engine.join(AGENT)
  type('2')
  engine.engine.do('leg.close', { legId: AGENT })
  await ask()
  engine.run(5)
  assert.equal(answers(), ['1'])
})

test('a party that moves into another room has typed nothing ahead', async () => {
  type('2')
  engine.engine.do('leg.move', { legId: CALLER, room: ELSEWHERE, mustExist: false, muted: false })
  await ask()
  engine.run(5)
  assert.equal(answers(), [])
})

test('keys after a secret that was ended by a key are secret, and answer the next question; after any other end they are forgotten', async () => {
  await ask({ ...free, sensitive: true })
  type('47#1')
  await ask()
  assert.equal(answers(), ['47', '1'])
  await ask({ maxDigits: 2, sensitive: true })
  type('4711')
  await ask()
  engine.run(5)
  assert.equal(answers(), ['47', '1', '47'])
  assert.is(shown(), '********')
})

test('keys between two questions are secret if the next one may ask for a secret', async () => {
  await ask({ hidesAhead: true })
  type('147')
  await ask({ ...free, sensitive: true, hidesAhead: true })
  type('11#')
  assert.equal(answers(), ['1', '4711'])
  assert.is(shown(), '1*****')
})

test('a card-payment pause begins and ends without keys: neither those before it nor those in it answer a question', async () => {
  await ask()
  type('12')
  const target = { legId: CALLER }
  engine.engine.do('capture.pause', {
    target,
    maxSeconds: 60,
    reason: 'payment',
    maskDtmf: true,
    destinationLegId: null,
  })
  type('4929')
  await ask()
  type('8765')
  engine.engine.do('capture.resume', { target })
  type('4')
  await ask()
  type('3')
  engine.run(CALM)
  assert.equal(answers(), ['1'])
  await ask()
  type('7')
  assert.equal(answers(), ['1', '7'])
  assert.is(shown(), `12${'*'.repeat(10)}7`)
})

test('a card number that a caller types alone in a pause, by whatever way and network, answers none of the questions around it', async () => {
  const [from, to, end] = [100, 300, 450]
  for (let seed = 1; seed <= 10; seed++) {
    const random = seeded(seed)
    const party = `part_${'x'.repeat(seed)}`
    const farEnd = await engine.join(party, { roomId: `call_${party}` })
    const ways: Way[] = ['event', 'info', 'inband', 'both']
    const presses: Press[] = []
    for (let at = 10; at < end - 20; at += 12 + Math.floor(random() * 8)) {
      const isOfPause = at >= from && at < to
      presses.push({
        // One key twice at once in two ways would be one press.
        key: isOfPause ? '4929876'[presses.length % 7]! : '135'[presses.length % 3]!,
        from: at,
        ticks: 6,
        way: ways[Math.floor(random() * ways.length)]!,
      })
    }
    const typist = new Typist(engine, party, farEnd, presses)
    const delayMs = 20 + 150 * random()
    typist.delayOf = () => delayMs
    for (let tick = 0; tick < end; tick++) {
      const target = { legId: party }
      if (tick === from) {
        const pause = { target, maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: null }
        engine.engine.do('capture.pause', pause)
      }
      if (tick === to) engine.engine.do('capture.resume', { target })
      if (tick % 25 === 0) await ask({ legId: party, prompts: [], firstDigitTimeoutMs: 200 })
      engine.run(1, () => typist.tick(tick))
    }
    const own = engine.of('leg.collected').filter(({ legId }) => legId === party)
    for (const { digits } of own) assert.match(digits, /^[135]*$/, `seed ${seed}`)
    for (const { key } of engine.of('leg.dtmf')) assert.match(key, /^[135*]$/, `seed ${seed}`)
    assert.ok(own.filter(({ digits }) => digits !== '').length > 2, `seed ${seed}`)
    engine.engine.do('leg.close', { legId: party })
  }
})

test.run()
