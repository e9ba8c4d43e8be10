import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { keysIn } from '../../../bench/phone/keypad.ts'
import type { Request } from '../../../media/protocol.ts'
import { isFailure } from '../../../media/protocol.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { type Press, Typist, type Way } from './typist.ts'

/** Name lengths differ, since the test addresses of the far ends come from them. */
const CALLER = 'part_a'
const AGENT = 'part_ag'
const PAYMENT = 'part_pay'
const CONNECT = 20

const test = suite('media/engine: a payment line')

let dataDir: string
let engine: TestEngine
let farEnds: Record<string, FarEnd>

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir)
  farEnds = {
    [CALLER]: await engine.join(CALLER),
    [AGENT]: await engine.join(AGENT),
    [PAYMENT]: await engine.join(PAYMENT, { roomId: PAYMENT }),
  }
})
test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

const connect = (change: Partial<Request<'leg.move'>> = {}) =>
  engine.engine.do('leg.move', {
    legId: PAYMENT,
    room: { roomId: 'call_room', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 10 },
    mustExist: true,
    muted: false,
    payment: { maxSeconds: 2, reason: 'payment', maskDtmf: true },
    ...change,
  })

/** Lets a caller press keys all the time while the payment line joins and leaves. */
function typeThrough(way: Way, ticks: number, at: (tick: number) => void): void {
  const presses: Press[] = []
  for (let from = 0; from < ticks; from += 12) {
    presses.push({ key: from >= CONNECT && from < CONNECT + 100 ? '7' : '1', from, ticks: 5, way })
  }
  const typist = new Typist(engine, CALLER, farEnds[CALLER]!, presses)
  typist.delayOf = () => 0
  for (let tick = 0; tick < ticks; tick++) {
    at(tick)
    engine.run(1, () => typist.tick(tick))
  }
}

for (const way of ['event', 'both', 'info'] as const) {
  test(`it is connected and capture is paused in the same tick, and both end in one: keys typed on and on by ${way}`, () => {
    typeThrough(way, 300, tick => {
      if (tick === CONNECT) assert.not(isFailure(connect()))
    })
    const agent = farEnds[AGENT]!.received
    assert.ok(
      agent.events.some(({ code }) => code === 1),
      'before the payment line comes, others get the keys',
    )
    assert.ok(agent.events.every(({ code }) => code === 1))
    assert.not.match(keysIn(agent.heard()), '7')
    assert.ok(engine.of('leg.dtmf').every(({ key }) => key === '1' || key === '*'))
    assert.ok(farEnds[PAYMENT]!.received.events.some(({ code }) => code === 7))
    assert.equal(
      engine.of('capture.changed').map(({ target, state, by }) => [target, state.paused, by]),
      [
        [{ legId: PAYMENT }, true, 'command'],
        [{ legId: PAYMENT }, false, 'deadline'],
      ],
    )
    const story = engine.events.flatMap(({ name, body }) => {
      if (name === 'capture.changed') return [body.state.paused ? 'paused' : 'resumed']
      return (name === 'leg.joined' || name === 'leg.left') && body.legId === PAYMENT && body.roomId === 'call_room'
        ? [name]
        : []
    })
    assert.equal(story, ['paused', 'leg.joined', 'leg.left', 'resumed'])
    assert.equal(engine.ends, [{ legId: PAYMENT, reason: 'max_duration' }])
  })
}

test('the same command again changes nothing: nobody knows whether the first was carried out', () => {
  connect()
  assert.not(isFailure(connect()))
  assert.is(engine.engine.snapshot().captures.length, 1)
})

test('a line that cannot be connected is not paused, and one that cannot be paused is not connected', () => {
  const room = { roomId: 'call_gone', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 10 }
  assert.ok(isFailure(connect({ room })))
  assert.equal(engine.engine.snapshot().captures, [])
  assert.ok(isFailure(connect({ payment: { maxSeconds: 0, reason: 'payment', maskDtmf: true } })))
  assert.equal(engine.engine.snapshot().rooms.find(({ roomId }) => roomId === PAYMENT)?.legIds, [PAYMENT])
})

test('its pause ends with it, and the caller is masked for a while yet', () => {
  connect()
  engine.run(10)
  engine.engine.do('leg.close', { legId: PAYMENT })
  engine.engine.do('leg.key', { legId: CALLER, key: '8', source: 'info', durationMs: 100 })
  engine.run(20)
  assert.equal(
    engine.of('leg.dtmf').map(({ key }) => key),
    ['*'],
  )
  assert.is(farEnds[AGENT]!.received.events.length, 0)
})

test.run()
