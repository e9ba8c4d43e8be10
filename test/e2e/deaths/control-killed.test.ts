// Wants the machine: it judges how soon a process is back, or how much load is borne, and takes more than a core.
import * as assert from 'uvu/assert'
import { memberNamed } from '../../../bench/members.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { Product } from '../../../bench/product.ts'
import { assertExact, noise } from '../../fuzz/health.ts'
import { suite } from '../../harness.ts'
import { callFrom, curtain, endedCall, newRoom, type Seated, seat, type TestRoom } from '../scene.ts'
import { assertEventsOnce, assertGapless, countEvents, killAndWait } from '../witness.ts'

const test = suite('e2e/deaths/control-killed')
const SLOW = { timeoutMs: 60_000 }
/** The supervisor waits longer before each restart of a process that keeps dying, up to two seconds. */
const ROUNDS = 3
/** Media refuses a call that control has not decided on within four seconds. On a busy machine the restart may take longer than this [ms]. */
const DECISION_MS = 3500
/** A frame that the test itself sends this late may miss its slot, so that the round proves nothing [ms]. */
const TEST_LATE_MS = 35

let product: Product
let room: TestRoom
let speaker: Seated
let listener: Seated
/** The longest time between two frames that the test sent [ms]. */
let longestPauseMs = 0
let lastFrameAt = performance.now()

/** Starts a product with a room, in which one phone speaks and another listens. */
async function setScene(): Promise<void> {
  product = await Product.start()
  room = await newRoom(product)
  const voice = noise(1)
  const timed = (frame: Int16Array): void => {
    const now = performance.now()
    longestPauseMs = Math.max(longestPauseMs, now - lastFrameAt)
    lastFrameAt = now
    voice(frame)
  }
  speaker = await seat(product, room, 'speaker', { voice: timed })
  listener = await seat(product, room, 'listener')
  await assertExact({ said: speaker.call.said, heard: listener.call.heard }, 'before')
}
test.afterEach(() => curtain(product))

const FRAME = 160
/** Length of the beginning of a frame by which it is found in what was said [samples]. */
const HEAD = 8
/** Maximum step of the jitter buffer's depth; the joint is within two frames [samples]. */
const MAX_SHIFT = 160
const MAX_JOINT_FRAMES = 2

/** For every frame heard from `from` on, its position in what was said; -1: it was not said like this [samples]. */
function positions(from: number): number[] {
  const said = speaker.call.said.samples()
  const heard = listener.call.heard.samples()
  const places = new Map<string, number>()
  for (let at = 0; at + HEAD <= said.length; at++) places.set(said.subarray(at, at + HEAD).join(), at)
  return Array.from({ length: Math.floor((heard.length - from) / FRAME) }, (_, i) => {
    const at = from + i * FRAME
    const place = places.get(heard.subarray(at, at + HEAD).join()) ?? -1
    return place >= 0 && said.subarray(place, place + FRAME).every((sample, n) => sample === heard[at + n]) ? place : -1
  })
}

/**
 * The first frame that does not follow the one before it in what was said, or -1. A joint, where the jitter buffer changes its depth slightly, is no
 * gap: after a lost frame its successor would be in its place, and a repeated frame has no joint.
 */
function brokenAt(heard: readonly number[]): number {
  let last = heard.findIndex(place => place >= 0)
  for (let i = last + 1; i < heard.length; i++) {
    if (heard[i]! < 0) continue
    const shift = heard[i]! - heard[last]! - (i - last) * FRAME
    const joint = i - last - 1
    const isWhole = joint === 0 ? shift === 0 : joint <= MAX_JOINT_FRAMES && shift !== 0 && Math.abs(shift) <= MAX_SHIFT
    if (!isWhole) return i
    last = i
  }
  return heard.length - last > MAX_JOINT_FRAMES + 1 ? last : -1
}

const running = async (): Promise<string[]> =>
  (await product.all('/calls'))
    .filter(({ ended_at, kind }) => ended_at === null && kind === 'party')
    .map(({ id }) => id)

test(
  'callers hear no gap while control is killed with -9 again and again: no frame lost, none repeated',
  async () => {
    await setScene()
    const packetsFrom = listener.call.packets.length
    let judged = 0
    for (let round = 0; judged < ROUNDS - 1 && round < 2 * ROUNDS; round++) {
      const { media } = product.pids
      await listener.call.heard.next(1000)
      const from = listener.call.heard.length
      longestPauseMs = 0
      await killAndWait(product, 'control')
      await product.ready()
      assert.is(product.pids.media, media, 'media is the same process')
      assert.equal((await running()).sort(), [speaker.callId, listener.callId].sort(), 'REST tells the truth at once')
      await listener.call.heard.next(300)
      if (longestPauseMs > TEST_LATE_MS) continue
      judged++
      const heard = positions(from)
      const wrong = brokenAt(heard)
      const around = heard.slice(Math.max(0, wrong - 3), wrong + 3)
      assert.is(wrong, -1, `round ${round}: frame ${wrong} of ${heard.length} is not what was said next: ${around}`)
    }
    assertGapless(listener.call.packets.slice(packetsFrom), 'listener')
    if (judged === 0)
      console.log(`the test sent frames ${longestPauseMs.toFixed(0)} ms late: only numbers were compared`)
  },
  SLOW,
)

test(
  'calls that begin and end around the kill are whole: each event once, none lost, and answered by the next control',
  async () => {
    await setScene()
    const { sessionId } = listener
    let expected = (await product.all('/calls')).length
    let seated = 0
    for (let round = 0; round < ROUNDS; round++) {
      const name = (what: string): string => `${what}-${round}`
      const staying = await Phone.open(name('staying'))
      const leaving = await Phone.open(name('leaving'))
      await staying.call(room.number, product.sip)
      const leavingCall = await leaving.call(room.number, product.sip)
      const leavingId = (await callFrom(product, leaving.name)).id
      for (const phone of [staying, leaving]) await memberNamed(product, room.roomId, phone.name)
      const early = await Phone.open(name('early'))
      // One call waits for an answer when control dies; one begins and one ends while control is down.
      const earlyCall = await early.dial('1002', product.sip)
      if (round % 2 === 1) await earlyCall.outcome
      const begun = performance.now()
      const killed = killAndWait(product, 'control')
      await leavingCall.hangup()
      const late = await Phone.open(name('late'))
      const lateCall: PhoneCall = await late.dial(room.number, product.sip)
      await killed
      await product.ready()
      const answers = performance.now() - begun < DECISION_MS ? [200] : [200, 503]
      const ended = await product.ok('GET', `/calls/${leavingId}`)
      assert.is(ended.ended_reason, 'caller_hangup', `round ${round}: what ended meanwhile has ended, at once`)
      for (const [what, { status }] of [
        ['that was on its way', await earlyCall.outcome],
        ['that came meanwhile', await lateCall.outcome],
      ] as const) {
        assert.ok(answers.includes(status), `round ${round}: the call ${what} is answered, not ${status}`)
      }
      const isLateIn = (await lateCall.outcome).status === 200
      if (isLateIn) await memberNamed(product, room.roomId, late.name)
      const ids = await Promise.all([early, late, staying].map(async phone => (await callFrom(product, phone.name)).id))
      await Promise.all([early, late, staying, leaving].map(phone => phone.close()))
      for (const id of ids) await endedCall(product, id)
      seated += isLateIn ? 3 : 2
      expected += 4
    }
    const calls = await product.all('/calls')
    assert.is(calls.length, expected, 'every call has one row')
    const events = await product.events()
    assertEventsOnce(events)
    const counts = countEvents(events)
    for (const { id, from, ended_at, answered_at, kind } of calls) {
      if (kind !== 'party') continue
      const count = counts.get(id) ?? {}
      assert.is(count['call.created'], 1, `${from}: created once`)
      assert.is(count['call.answered'] ?? 0, answered_at === null ? 0 : 1, `${from}: answered once`)
      assert.is(count['call.ended'] ?? 0, ended_at === null ? 0 : 1, `${from}: ended once`)
    }
    const joined = events.filter(({ type }) => type === 'conference.participant.joined')
    const left = events.filter(({ type }) => type === 'conference.participant.left')
    assert.is(joined.length, 2 + seated, 'each who entered the room joined once')
    assert.is(left.length, seated, 'each who left it left once')
    assert.is(counts.get(sessionId)?.['conference.started'], 1, 'one session all along')
    assert.is(counts.get(sessionId)?.['conference.ended'] ?? 0, 0)
    await assertExact({ said: speaker.call.said, heard: listener.call.heard }, 'after')
  },
  SLOW,
)

test.run()
