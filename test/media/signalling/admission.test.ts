import * as assert from 'uvu/assert'
import { Admission } from '../../../media/signalling/admission.ts'
import { suite } from '../../harness.ts'
import { LocalMedia, RawPhone } from '../local-media.ts'

const test = suite('media/signalling/admission')

/** Calls that wait, and of legs that run: enough to be a queue. */
const MANY = 16
/** Calls of one network of strangers at once. */
const SHARE = 50

function makeWorld() {
  const world = { now: 10_000, since: 0 as number | null, clocks: { slots: 0, late: 0 }, legs: 0 }
  const admission = new Admission({
    now: () => world.now,
    controlSince: () => world.since,
    clocks: () => ({ ...world.clocks }),
    legs: () => world.legs,
  })
  const wait = (count: number): void => {
    for (let n = 0; n < count; n++) admission.waits(`part_${n}`)
  }
  return { world, admission, wait }
}

test('a call is one too many while others have waited for control for more than half a second', () => {
  const { world, admission, wait } = makeWorld()
  wait(MANY + 1)
  assert.not(admission.refuses())
  world.now += 501
  assert.ok(admission.refuses())
  admission.isTaken('part_0')
  admission.isTaken('part_1')
  assert.not(admission.refuses(), 'fewer wait than are a queue')
  admission.waits('part_new')
  assert.ok(admission.refuses())
})

test('what few calls wait for is a moment and no queue', () => {
  const { world, admission, wait } = makeWorld()
  wait(MANY - 1)
  world.now += 3000
  assert.not(admission.refuses())
})

test('while control is away who calls waits for it, and once it is back it has its half second', () => {
  const { world, admission, wait } = makeWorld()
  wait(MANY)
  world.since = null
  world.now += 3000
  assert.not(admission.refuses())
  world.since = world.now
  assert.not(admission.refuses())
  world.now += 501
  assert.ok(admission.refuses())
})

test('a call is one too many while more than half of the slots of the audio clock are late, until they are on time again', () => {
  const { world, admission } = makeWorld()
  world.legs = 50
  const second = (late: number): boolean => {
    world.now += 1000
    world.clocks.slots += 200
    world.clocks.late += late
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
  world.now += 5000
  assert.not(second(200), 'what was long ago tells nothing')
})

test('above capacity an INVITE gets 503 with Retry-After and nothing is begun for it, and those that wait are answered', async () => {
  let laterMs = 0
  const media = await LocalMedia.open({}, { maxCalls: 100, lateness: { now: () => performance.now() + laterMs } })
  const phones = await Promise.all(Array.from({ length: MANY + 2 }, () => RawPhone.open(media)))
  const [late, again, ...waiting] = phones as [RawPhone, RawPhone, ...RawPhone[]]
  for (const phone of waiting) await phone.call()
  await media.engine.until(() => media.of('leg.incoming').length === MANY)
  laterMs = 501
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

test("a stranger's calls beyond its share get 503 with Retry-After, and nothing is remembered of them", async () => {
  const media = await LocalMedia.open({}, { maxCalls: 1000 })
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

test.run()
