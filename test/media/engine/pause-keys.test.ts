import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { keysIn } from '../../../bench/phone/keypad.ts'
import { seeded } from '../../../bench/seeded.ts'
import type { Request } from '../../../media/protocol.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { type Press, Typist, type Way } from './typist.ts'

/** Name lengths differ, since the test addresses of the far ends come from them. */
const CALLER = 'part_a'
const SECOND = 'part_se'
const AGENT = 'part_age'
const PAYMENT = 'part_paym'
/** A card number without ones, since keys that are pressed outside of the pause are ones. */
const CARD = '4929876543207986'
const SECRET = /[02-9]/
const PAUSE = 60
const RESUME = 260
/** From this tick on, no key counts as one of the payment. */
const CALM = RESUME + 150
const END = CALM + 60
const SEEDS = 10

const test = suite('media/engine: keys of a pause')

type Consumer = (legId: string) => Request<'leg.collect'> | null
const entry = (legId: string, change: Partial<Request<'leg.collect'>> = {}): Request<'leg.collect'> => ({
  legId,
  collectId: 'c1',
  prompts: [],
  maxDigits: 64,
  terminators: '#',
  firstDigitTimeoutMs: 5000,
  interDigitTimeoutMs: 3000,
  sensitive: false,
  ...change,
})
/** Everything that may wait for keys at a leg. */
const CONSUMERS: Record<string, Consumer> = {
  nothing: () => null,
  'a plain collect': legId => entry(legId),
  'a menu of one key': legId => entry(legId, { maxDigits: 1, terminators: '' }),
  'a PIN': legId => entry(legId, { maxDigits: 4, sensitive: true }),
  'a sensitive collect': legId => entry(legId, { sensitive: true }),
  'a collect that ends soon': legId => entry(legId, { firstDigitTimeoutMs: 300, interDigitTimeoutMs: 200 }),
  'a question that plays through': legId => entry(legId, { playThrough: true, interDigitTimeoutMs: 500 }),
}

interface World {
  engine: TestEngine
  farEnds: Record<string, FarEnd>
  typists: Typist[]
  secrets: Press[]
  dir: string
}

/** A timetable of keys: ones before and after the pause, a card number in it, and its last keys across the end of the pause. */
function timetable(random: () => number, ways: readonly Way[]): Press[] {
  const presses: Press[] = []
  const pick = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
  const way = (): Way => ways[Math.floor(random() * ways.length)]!
  let at = pick(5, 30)
  while (at < PAUSE - 1) {
    const ticks = pick(3, 8)
    presses.push({ key: '1', from: at, ticks, way: way() })
    at += ticks + pick(3, 12)
  }
  at = Math.max(at, PAUSE)
  for (let digit = 0; at < RESUME; digit++) {
    const ticks = random() < 0.1 ? pick(20, 60) : pick(3, 10)
    presses.push({ key: CARD[digit % CARD.length]!, from: at, ticks, way: way() })
    at += ticks + pick(3, 12)
  }
  presses.push({ key: '1', from: Math.max(at, CALM), ticks: 5, way: way() })
  return presses
}

async function makeWorld(seed: number, consumer: Consumer): Promise<World> {
  const random = seeded(seed)
  const dir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const engine = new TestEngine(dir)
  const tonesOnly = random() < 0.3
  const farEnds: Record<string, FarEnd> = {}
  for (const legId of [CALLER, SECOND, AGENT, PAYMENT]) {
    farEnds[legId] = await engine.join(legId, {}, legId === CALLER && tonesOnly ? { telephoneEvent: false } : {})
  }
  const ofCaller = timetable(random, tonesOnly ? ['inband', 'info'] : ['event', 'both', 'info'])
  const ofSecond = timetable(random, ['event', 'both', 'info'])
  const typists = [
    new Typist(engine, CALLER, farEnds[CALLER]!, ofCaller),
    new Typist(engine, SECOND, farEnds[SECOND]!, ofSecond),
  ]
  // Each typist has a network of its own. One of them stalls around the resume, and then delivers everything at once.
  for (const typist of typists) {
    const [base, jitter, stall] = [10 + 60 * random(), 40 * random(), random() < 0.5 ? 380 * random() : 0]
    const stallFrom = RESUME - Math.ceil(stall / 20)
    typist.delayOf = (tick, what) => {
      const held = tick >= stallFrom && tick < RESUME ? stall - (tick - stallFrom) * 20 : 0
      const lost = what === 'info' && random() < 0.2 ? 500 : 0
      return base + jitter * random() + Math.max(0, held) + lost
    }
  }
  const collect = consumer(CALLER)
  if (collect !== null) await engine.engine.do('leg.collect', collect)
  const secrets = [...ofCaller, ...ofSecond].filter(({ from }) => from >= PAUSE && from < RESUME)
  return { engine, farEnds, typists, secrets, dir }
}

function play({ engine, typists }: World): void {
  for (let tick = 0; tick < END; tick++) {
    if (tick === PAUSE) {
      const request = { maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: PAYMENT }
      engine.engine.do('capture.pause', { target: { legId: CALLER }, ...request })
    }
    if (tick === RESUME) engine.engine.do('capture.resume', { target: { legId: CALLER } })
    engine.run(1, () => {
      for (const typist of typists) typist.tick(tick)
    })
  }
}

const codesOf = (farEnd: FarEnd): string => farEnd.received.events.map(({ code }) => '0123456789*#ABCD'[code]).join('')

for (const [name, consumer] of Object.entries(CONSUMERS)) {
  test(
    `a card number typed in a pause reaches the payment line alone while ${name} waits, however it is typed and the networks run`,
    async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const world = await makeWorld(seed, consumer)
        const { engine, farEnds, typists, secrets } = world
        play(world)
        const where = `seed ${seed}`
        for (const { key } of engine.of('leg.dtmf')) assert.not.match(key, SECRET, where)
        for (const { digits } of engine.of('leg.collected')) assert.not.match(digits, SECRET, where)
        for (const legId of [CALLER, SECOND, AGENT]) {
          const heard = farEnds[legId]!.received
          assert.not.match(codesOf(farEnds[legId]!), SECRET, `${where}: events at ${legId}`)
          assert.not.match(keysIn(heard.heard()), SECRET, `${where}: tones at ${legId}`)
        }
        const atPayment = codesOf(farEnds[PAYMENT]!)
        const inTime = secrets.filter(press =>
          typists.some(typist => (typist.arrivals.get(press) ?? Number.POSITIVE_INFINITY) <= (RESUME - 1) * 20),
        )
        assert.ok(inTime.length > 5)
        for (const { key } of inTime) assert.match(atPayment, key, where)
        const isSecret = consumer(CALLER)?.sensitive === true
        const last = (legId: string) => engine.of('leg.dtmf').findLast(key => key.legId === legId)?.key
        // The pause's shadow ends.
        assert.equal([last(CALLER), last(SECOND)], [isSecret ? '*' : '1', '1'], where)
        await engine.close()
        rmSync(world.dir, { recursive: true })
      }
    },
    { timeoutMs: 120_000 },
  )
}

/** Presses a key `beforeMs` before the resume, which arrives after `delayMs`. @returns what a waiting menu gets */
async function lateKey(way: Way, beforeMs: number, delayMs: number): Promise<{ keys: string; collected: string }> {
  const world = await makeWorld(1, () => null)
  const { engine, farEnds } = world
  const press: Press = { key: '7', from: RESUME - beforeMs / 20, ticks: 5, way }
  const typist = new Typist(engine, CALLER, farEnds[CALLER]!, [press])
  typist.delayOf = (_tick, what) => (what === 'audio' ? 30 : delayMs)
  await engine.engine.do('leg.collect', entry(CALLER, { maxDigits: 1, firstDigitTimeoutMs: 60_000 }))
  play({ ...world, typists: [typist] })
  const keys = engine.of('leg.dtmf').map(({ key }) => key)
  await engine.close()
  rmSync(world.dir, { recursive: true })
  return {
    keys: keys.join(''),
    collected: engine
      .of('leg.collected')
      .map(({ digits }) => digits)
      .join(''),
  }
}

test('a key of the pause that comes long after the resume is masked, and nobody gets it', async () => {
  for (const delayMs of [290, 450, 900, 2000]) {
    assert.equal(await lateKey('event', 100, delayMs), { keys: '*', collected: '' }, `event, ${delayMs} ms`)
  }
  for (const delayMs of [290, 600, 1600]) {
    assert.equal(await lateKey('info', 100, delayMs), { keys: '*', collected: '' }, `INFO, ${delayMs} ms`)
  }
})

test('a key that is pressed a while after the pause is a key again', async () => {
  assert.equal(await lateKey('event', -1200, 60), { keys: '7', collected: '7' })
  assert.equal(await lateKey('info', -2200, 60), { keys: '7', collected: '7' })
})

test.run()
