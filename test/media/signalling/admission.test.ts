import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { Admission } from '../../../media/signalling/admission.ts'
import { suite } from '../../harness.ts'
import { LocalMedia, RawPhone } from '../local-media.ts'

const test = suite('media/signalling/admission')

/** Calls that wait: enough to be a queue, and in a rush. */
const MANY = 16
const FEW = 8
/** Calls of one network of strangers at once. */
const SHARE = 50

function makeWorld() {
  const world = { now: 10_000, since: 0 as number | null, clocks: { slots: 0, late: 0, inSlotsMs: [0, 0] }, legs: 0 }
  const admission = new Admission({
    now: () => world.now,
    controlSince: () => world.since,
    clocks: () => ({ ...world.clocks }),
    legs: () => world.legs,
  })
  const wait = (count: number): void => {
    for (let n = 0; n < count; n++) admission.waits(`part_${n}`)
  }
  const passing: string[] = []
  let passed = 0
  /** Lets calls arrive and be decided, `perSecond` each, for `ms`; each waits for `waitMs`. The last ones still wait at the end. */
  const pass = (perSecond: number, waitMs: number, ms: number): void => {
    const gapMs = 1000 / perSecond
    for (let n = 0; n * gapMs < ms; n++) {
      world.now += gapMs
      passing.push(`part_passing_${passed++}`)
      admission.waits(passing.at(-1)!)
      if (passing.length > waitMs / gapMs) admission.isTaken(passing.shift()!)
    }
  }
  const take = (count: number): void => {
    for (const legId of passing.splice(0, count)) admission.isTaken(legId)
  }
  const takeAll = (): void => {
    take(passing.length)
    for (let n = 0; n < MANY; n++) admission.isTaken(`part_${n}`)
  }
  return { world, admission, wait, pass, take, takeAll }
}

test('a call is one too many when others have waited for control for more than 250 ms', () => {
  const { world, admission, wait } = makeWorld()
  wait(MANY)
  world.now += 250
  assert.not(admission.refuses())
  world.now += 1
  assert.ok(admission.refuses())
})

test('what few calls wait for is a moment and no queue', () => {
  const { world, admission, wait } = makeWorld()
  wait(MANY - 1)
  world.now += 3000
  assert.not(admission.refuses())
})

test('a call is one too many when each that control has taken for more than 100 ms had waited for more than 50 ms', () => {
  const { admission, pass } = makeWorld()
  pass(200, 70, 175)
  assert.not(admission.refuses(), 'the first that waited for long were taken 100 ms ago')
  pass(200, 70, 10)
  assert.ok(admission.refuses())
})

test('where few calls come and each waits for control, as on a machine that does much else, none is one too many', () => {
  const { admission, pass } = makeWorld()
  pass(20, 300, 4000)
  assert.not(admission.refuses())
})

test('a queue that is worked off within 100 ms is no rush, nor one that is taken in time', () => {
  const { world, admission, wait, pass } = makeWorld()
  wait(MANY)
  world.now += 200
  for (let n = 0; n < MANY; n++) {
    admission.isTaken(`part_${n}`)
    world.now += 6
    assert.not(admission.refuses(), `${n + 1} were taken`)
  }
  pass(400, 45, 2000)
  assert.not(admission.refuses())
})

test('in a rush the queue is short: those are let in that control takes in time, nearly as many as it can take, and the rest is refused at once', () => {
  const { world, admission } = makeWorld()
  const random = seeded(19)
  const [offered, capacity, seconds] = [300, 100, 60]
  const queue: { legId: string; since: number }[] = []
  const waits: number[] = []
  let calls = 0
  for (let ms = 0; ms < seconds * 1000; ms++) {
    world.now++
    if (random() < offered / 1000) {
      const legId = `part_${calls++}`
      if (!admission.refuses()) {
        admission.waits(legId)
        queue.push({ legId, since: world.now })
      }
    }
    const taken = ms % (1000 / capacity) === 0 ? queue.shift() : undefined
    if (taken === undefined) continue
    admission.isTaken(taken.legId)
    waits.push(world.now - taken.since)
  }
  const longest = Math.max(...waits)
  // From the beginning of the rush: it is noticed within 50 + 100 ms, in which three times as many calls arrive as can be decided.
  assert.ok(longest < 450, `one waited for ${longest} ms`)
  waits.sort((one, another) => one - another)
  const p99 = waits[Math.floor(waits.length * 0.99)]!
  assert.ok(p99 < 100, `p99 of the waits is ${p99} ms`)
  assert.ok(waits.length > 0.95 * capacity * seconds, `${waits.length} were taken`)
})

test('in a rush as many calls wait as control takes in 50 ms, or eight, until half a second without a refusal', () => {
  const { world, admission, wait, pass, take, takeAll } = makeWorld()
  wait(MANY)
  world.now += 251
  assert.ok(admission.refuses())
  for (let n = 0; n <= MANY - FEW; n++) admission.isTaken(`part_${n}`)
  assert.not(admission.refuses(), 'few wait')
  admission.waits('part_new')
  assert.ok(admission.refuses(), 'more than control has taken lately in such a time')
  admission.isTaken('part_new')
  takeAll()
  world.now += 500
  wait(MANY)
  world.now += 250
  assert.not(admission.refuses(), 'the rush was over')
  takeAll()
  pass(200, 70, 4000)
  assert.ok(admission.refuses(), 'another one')
  take(3)
  assert.ok(admission.refuses(), 'eleven wait, and 200 a second are ten in 50 ms')
  take(2)
  assert.not(admission.refuses())
})

test('in a rush half as many again wait while control takes calls within 50 ms: what has only just begun to stall may go on in time', () => {
  const { admission, wait, pass, takeAll } = makeWorld()
  pass(200, 70, 4000)
  assert.ok(admission.refuses())
  takeAll()
  pass(200, 10, 100)
  takeAll()
  wait(14)
  assert.not(admission.refuses())
  wait(16)
  assert.ok(admission.refuses())
})

test('while control is away who calls waits for it, and once it is back it has its time', () => {
  const { world, admission, wait } = makeWorld()
  wait(MANY)
  world.since = null
  world.now += 3000
  assert.not(admission.refuses())
  world.since = world.now
  assert.not(admission.refuses())
  world.now += 251
  assert.ok(admission.refuses())
})

test('a call is one too many while more than half of the slots of the audio clock are late, until they are on time again', () => {
  const { world, admission } = makeWorld()
  world.legs = 50
  const second = (late: number): boolean => {
    world.now += 1000
    world.clocks.slots += 200
    world.clocks.late += late
    admission.look()
    return admission.refuses()
  }
  second(0)
  assert.not(second(100))
  assert.ok(second(101))
  assert.ok(admission.refuses(), 'until the next look')
  assert.not(second(0))
  world.legs = 49
  assert.not(second(200), 'so few legs are not what makes it late')
  world.legs = 50
  assert.ok(second(200))
  assert.not(second(0), 'what was before tells nothing')
})

test('a call is judged by the last second, however long ago the call before it came', () => {
  const { world, admission } = makeWorld()
  world.legs = 1000
  const pass = (seconds: number, late: number, share: number): void => {
    for (let n = 0; n < seconds; n++) {
      world.now += 1000
      world.clocks.slots += 200
      world.clocks.late += late
      world.clocks = { ...world.clocks, inSlotsMs: world.clocks.inSlotsMs.map(ms => ms + 1000 * share) }
      admission.look()
    }
  }
  pass(60, 0, 0.5)
  assert.not(admission.refuses())
  pass(1, 150, 0.5)
  assert.ok(admission.refuses(), 'late')
  pass(60, 200, 0.99)
  pass(1, 0, 0.5)
  assert.not(admission.refuses(), 'it was')
  pass(1, 0, 0.9)
  assert.ok(admission.refuses(), 'full')
})

test('a call is one too many when each engine thread is in its slots for more than 85 % of the time, with the legs that have come since', () => {
  const { world, admission } = makeWorld()
  const second = (...shares: number[]): boolean => {
    world.now += 1000
    world.clocks = { ...world.clocks, inSlotsMs: world.clocks.inSlotsMs.map((ms, n) => ms + 1000 * shares[n]!) }
    admission.look()
    return admission.refuses()
  }
  world.legs = 1000
  second(0, 0)
  assert.not(second(0.99, 0.8), 'the other one has time')
  world.legs = 1050
  assert.not(admission.refuses())
  world.legs = 1070
  assert.ok(admission.refuses(), 'they will speak as those before do')
  assert.ok(second(0.86, 0.87))
  assert.not(second(0.8, 0.87), 'some have gone')
  world.legs = 1
  second(0.05, 0.05)
  world.legs = 400
  assert.not(admission.refuses(), 'a thread with few legs tells nothing of many')
  world.legs = 49
  assert.not(second(0.9, 0.9), 'so few legs are not what takes it')
})

test('above capacity an INVITE gets 503 with Retry-After and nothing is begun for it, and those that wait are answered', async () => {
  let laterMs = 0
  const media = await LocalMedia.open({}, { maxCalls: 100, lateness: { now: () => performance.now() + laterMs } })
  const phones = await Promise.all(Array.from({ length: MANY + 2 }, () => RawPhone.open(media)))
  const [late, again, ...waiting] = phones as [RawPhone, RawPhone, ...RawPhone[]]
  for (const phone of waiting) await phone.call()
  await media.engine.until(() => media.of('leg.incoming').length === MANY)
  laterMs = 251
  await late.call()
  assert.match(await late.expect('SIP/2.0'), /^SIP\/2\.0 503 [\s\S]*\r\nRetry-After: 1\r\n/)
  assert.is(media.of('leg.incoming').length, MANY)
  assert.is(media.switchboard.lines.size, MANY)
  assert.is(media.switchboard.refused, 1)
  for (const { legId } of media.of('leg.incoming')) await media.answer(legId)
  for (const phone of waiting) await phone.expect('SIP/2.0 200')
  await again.call()
  await media.engine.until(() => media.of('leg.incoming').length === MANY + 1)
  for (const phone of phones) phone.close()
  await media.close()
})

test('once control has said nothing about a call in time, one at a time waits for it and the others get 503 at once, until it says something', async () => {
  let laterMs = 0
  const media = await LocalMedia.open({}, { lateness: { now: () => performance.now() + laterMs } })
  const phones = await Promise.all(Array.from({ length: 5 }, () => RawPhone.open(media)))
  const [undecided, probe, refused, ...later] = phones as [RawPhone, RawPhone, RawPhone, ...RawPhone[]]
  await undecided.call()
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  laterMs = 4000
  await undecided.expect('SIP/2.0 503')
  await probe.call()
  await media.engine.until(() => media.of('leg.incoming').length === 2)
  await refused.call()
  assert.match(await refused.expect('SIP/2.0'), /^SIP\/2\.0 503 [\s\S]*\r\nRetry-After: 5\r\n/)
  assert.is(media.of('leg.incoming').length, 2)
  await media.answer(media.of('leg.incoming')[1]!.legId)
  await probe.expect('SIP/2.0 200')
  for (const phone of later) await phone.call()
  await media.engine.until(() => media.of('leg.incoming').length === 4)
  for (const phone of phones) phone.close()
  await media.close()
})

test(
  'while control starts for the first time callers wait for it, however long that takes; once it is there, each for as long as any',
  async () => {
    let [isAwaited, nowMs, sinceMs] = [true, performance.now(), null as number | null]
    const lateness = { isControlAwaited: () => isAwaited, controlSince: () => sinceMs, now: () => nowMs }
    const media = await LocalMedia.open({}, { lateness })
    const phone = await RawPhone.open(media)
    await phone.call()
    await media.engine.until(() => media.of('leg.incoming').length === 1)
    // A decision takes four seconds at most.
    await new Promise(later => setTimeout(later, 4500))
    assert.is(phone.count('SIP/2.0 503'), 0, 'it waits')
    nowMs += 20_000
    sinceMs = nowMs
    isAwaited = false
    await new Promise(later => setTimeout(later, 4500))
    assert.is(phone.count('SIP/2.0 503'), 0, 'control has just come')
    nowMs += 4000
    await phone.expect('SIP/2.0 503')
    phone.close()
    await media.close()
  },
  { timeoutMs: 60_000 },
)

test("a stranger's calls beyond its share get 503 with Retry-After, and nothing is remembered of them", async () => {
  // Nobody waits too long for control: that is another refusal.
  const media = await LocalMedia.open({}, { maxCalls: 1000, lateness: { now: () => 0 } })
  const phones = await Promise.all(Array.from({ length: 2 * SHARE }, () => RawPhone.open(media)))
  // All at once: what is refused depends on how many come in a second.
  await Promise.all(phones.map(phone => phone.call()))
  for (const phone of phones) await phone.expect('SIP/2.0')
  const refused = phones.filter(phone => phone.count('SIP/2.0 503') > 0)
  assert.ok(refused.length > 0, 'some are beyond it')
  for (const phone of refused) {
    assert.match(await phone.expect('SIP/2.0 503'), /\r\nRetry-After: 5\r\n/)
    assert.is(phone.count('SIP/2.0 100'), 0, 'no transaction was opened')
  }
  assert.is(media.switchboard.refused, refused.length)
  assert.is(media.switchboard.lines.size, phones.length - refused.length)
  for (const phone of phones) phone.close()
  await media.close()
})

test('a call that has taken the place of another waits for nobody: however many have, callers find room after them', async () => {
  let laterMs = 0
  const media = await LocalMedia.open({}, { maxCalls: 100, lateness: { now: () => performance.now() + laterMs } })
  const phones = await Promise.all(Array.from({ length: MANY + 2 }, () => RawPhone.open(media)))
  const [first, late, ...replacing] = phones as [RawPhone, RawPhone, ...RawPhone[]]
  await media.dial('part_a', first)
  await first.expect('INVITE')
  await first.respond(200, { port: 40_000 })
  await media.engine.until(() => media.of('leg.answered').length === 1)
  for (const [n, phone] of replacing.entries()) {
    await phone.call()
    await media.engine.until(() => media.of('leg.incoming').length === n + 1)
    assert.equal(await media.run('leg.replace', { legId: 'part_a', byLegId: media.of('leg.incoming')[n]!.legId }), {})
  }
  laterMs = 251
  await late.call()
  await media.engine.until(() => media.of('leg.incoming').length === MANY + 1)
  for (const phone of phones) phone.close()
  await media.close()
})

test('a caller for whom somebody is called waits for that one and no longer for control: nothing rings yet', async () => {
  let laterMs = 0
  const media = await LocalMedia.open({}, { maxCalls: 100, lateness: { now: () => performance.now() + laterMs } })
  const phones = await Promise.all(Array.from({ length: MANY + 2 }, () => RawPhone.open(media)))
  const [called, late, ...callers] = phones as [RawPhone, RawPhone, ...RawPhone[]]
  for (const phone of callers) await phone.call()
  await media.engine.until(() => media.of('leg.incoming').length === MANY)
  for (const { legId } of media.of('leg.incoming')) await media.dial(`${legId}_called`, called, {}, legId)
  laterMs = 251
  await late.call()
  await media.engine.until(() => media.of('leg.incoming').length === MANY + 1)
  for (const phone of phones) phone.close()
  await media.close()
})

test.run()
