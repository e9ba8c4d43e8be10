import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readWav } from '../../../codecs/wav.ts'
import type { Failure, RoomSpec } from '../../../media/protocol.ts'
import type { Sink } from '../../../media/rooms/sink.ts'
import type { SinkNoun } from '../../../media/sinks/sink-kind.ts'
import { FarEnd, socketOf, TestEngine } from '../../fakes/engine.ts'
import { ScriptedEar } from '../../fakes/scripted-ear.ts'
import { suite } from '../../harness.ts'
import { levelOf, mediaOf, toneFrame } from './party.ts'

const test = suite('media/engine: legs of several threads')

const SETTLED = 10
const SECOND = 50
const FRAME_MS = 20
/** A tone that is sent at about -12 dBov is heard above the first level, and not heard below the second [dBov]. */
const HEARD = -15
const UNHEARD = -50

const wav = readWav(readFileSync(new URL('../../../fixtures/prompts/muted.wav', import.meta.url)))
if ('error' in wav) throw new Error(wav.error)
/** "You are muted." */
const VOICE = wav.samples[0]!

let dataDir: string
let engine: TestEngine
test.beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir, { threads: 3 })
})
test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

const roomOf = (roomId: string, changes: Partial<RoomSpec> = {}): RoomSpec => ({
  ...{ roomId, kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 10 },
  ...changes,
})
const move = (legId: string, room: RoomSpec, changes: object = {}) =>
  engine.engine.do('leg.move', { legId, room, mustExist: true, muted: false, ...changes })

interface Party {
  legId: string
  farEnd: FarEnd
  hz: number
}

/** Three parties on three threads, each in a room of its own. */
async function three(): Promise<[Party, Party, Party]> {
  const parties = []
  for (const [legId, hz] of [
    ['part_a', 1000],
    ['part_bb', 440],
    ['part_ccc', 1720],
  ] as const) {
    parties.push({ legId, hz, farEnd: await engine.join(legId, { roomId: `call_of_${legId}` }) })
  }
  return parties as [Party, Party, Party]
}

/** Lets all parties speak, each with its own tone. */
const speak = (parties: readonly Party[], ticks: number): void =>
  engine.run(ticks, tick => {
    for (const { farEnd, hz } of parties) farEnd.speaker.speak(toneFrame(hz, tick), engine.now)
  })

/** Who hears whom over a second, by index: "0<12" means that the first party hears the two others. */
function hearing(parties: readonly Party[]): string[] {
  speak(parties, SETTLED)
  const from = parties.map(({ farEnd }) => farEnd.received.payloads.length)
  speak(parties, SECOND)
  return parties.map((listener, i) => {
    const heard = listener.farEnd.received.heard(from[i]!, from[i]! + SECOND)
    const audible = parties.flatMap(({ hz }, speaker) => {
      const level = levelOf(hz, heard)
      assert.ok(level > HEARD || level < UNHEARD, `${i} hears ${speaker} at ${level} dBov`)
      return level > HEARD ? [speaker] : []
    })
    return `${i}<${audible.join('')}`
  })
}

/** The runs of equal values in what a sink was told. */
const parts = (heard: readonly string[]): string[] => heard.filter((what, i) => what !== heard[i - 1])

/** The events of legs and rooms since the last call, each with its leg or room. */
function happened(): string[] {
  const told = engine.events.splice(0)
  return told.flatMap(({ name, body }) => {
    const { legId = '', roomId = '' } = body as { legId?: string; roomId?: string }
    return /^(leg\.(joined|left)|room\.)/.test(name) ? [`${name} ${[legId, roomId].filter(Boolean).join(' ')}`] : []
  })
}

const roomsNow = (): string[] =>
  engine.engine
    .snapshot()
    .rooms.map(({ roomId, legIds }) => `${roomId}: ${[...legIds].sort().join(' ')}`)
    .sort()

test('who is moved into a room of another thread hears all others and not himself, and they hear him', async () => {
  const parties = await three()
  assert.equal(hearing(parties), ['0<', '1<', '2<'])
  move('part_bb', roomOf('call_of_part_a'))
  assert.equal(hearing(parties), ['0<1', '1<0', '2<'])
  move('part_ccc', roomOf('call_of_part_a'))
  assert.equal(hearing(parties), ['0<12', '1<02', '2<01'])
  move('part_a', roomOf('call_again'), { mustExist: false })
  assert.equal(hearing(parties), ['0<', '1<2', '2<1'], 'the room stays where it is when nobody of its thread is left')
  move('part_ccc', roomOf('call_again'))
  move('part_bb', roomOf('call_of_part_bb'), { mustExist: false })
  assert.equal(hearing(parties), ['0<2', '1<', '2<0'])
})

test('the figures tell of each thread how many legs and rooms it has, and how many legs of others are in its rooms', async () => {
  await three()
  const figures = (name: string) =>
    [0, 1, 2].map(thread => engine.engine.stats().gauges[`thread_${name}{thread="${thread}"}`])
  assert.equal(
    [figures('legs'), figures('rooms'), figures('guests')],
    [
      [1, 1, 1],
      [1, 1, 1],
      [0, 0, 0],
    ],
  )
  move('part_bb', roomOf('call_of_part_a'))
  assert.equal(
    [figures('legs'), figures('rooms'), figures('guests')],
    [
      [1, 1, 1],
      [1, 0, 1],
      [1, 0, 0],
    ],
  )
  engine.engine.do('leg.close', { legId: 'part_bb' })
  assert.equal(
    [figures('legs'), figures('rooms'), figures('guests')],
    [
      [1, 0, 1],
      [1, 0, 1],
      [0, 0, 0],
    ],
  )
})

test('on the way it has left the one room before it joins the other, and a room closes after its last has left', async () => {
  await three()
  happened()
  move('part_bb', roomOf('call_of_part_a'))
  assert.equal(happened(), [
    'leg.left part_bb call_of_part_bb',
    'room.closed call_of_part_bb',
    'leg.joined part_bb call_of_part_a',
  ])
  move('part_ccc', roomOf('call_of_part_a'))
  happened()
  engine.engine.do('leg.close', { legId: 'part_a' })
  move('part_bb', roomOf('call_new'), { mustExist: false })
  engine.engine.do('leg.close', { legId: 'part_ccc' })
  assert.equal(happened(), [
    'leg.left part_a call_of_part_a',
    'leg.left part_bb call_of_part_a',
    'room.opened call_new',
    'leg.joined part_bb call_new',
    'leg.left part_ccc call_of_part_a',
    'room.closed call_of_part_a',
  ])
})

test('each tick brings it one packet, also those in which it goes to another thread and comes back', async () => {
  const [, { farEnd }] = await three()
  const before = farEnd.received.payloads.length
  for (const room of ['call_of_part_a', 'call_of_part_ccc', 'call_own']) {
    engine.run(5)
    move('part_bb', roomOf(room), { mustExist: false })
    engine.run(5)
  }
  assert.is(farEnd.received.payloads.length - before, 30)
})

test('what is said on another thread is heard sample by sample, without a gap', async () => {
  const [a, b] = await three()
  move('part_bb', roomOf('call_of_part_a'))
  const said: number[] = []
  engine.run(SECOND, tick => {
    const frame = toneFrame(a.hz, tick)
    said.push(...frame)
    a.farEnd.speaker.speak(frame, engine.now)
  })
  const heard = [...b.farEnd.received.heard(SETTLED, SECOND)]
  const at = heard.findIndex(sample => sample > 10_000)
  const lag = said.findIndex(
    (_, from) => from >= at && heard.slice(at, at + 800).every((v, i) => Math.abs(v - said[from - at + at + i]!) < 600),
  )
  assert.ok(lag >= 0, 'it is found in what was said')
  assert.ok(levelOf(a.hz, Int16Array.from(heard)) > -13)
  assert.ok(!heard.some((_, i) => i > at && heard.slice(i, i + 20).every(sample => sample === 0)), 'no run of zeros')
})

test(
  'parts of a room on other threads follow the clocks of their parties where nobody speaks: no word has a hole',
  () => talkOn(),
  {
    timeoutMs: 60_000,
  },
)

/** Two parties on two threads, whose clocks differ by 400 ppm, speak for three minutes with a short pause every five seconds. */
async function talkOn(): Promise<void> {
  const [a, b] = await three()
  move('part_bb', roomOf('call_of_part_a'))
  const clocks = [a, b].map(({ farEnd, hz }, n) => ({
    farEnd,
    hz,
    tickMs: FRAME_MS * (1 + (n - 0.5) * 8e-4),
    frame: 0,
  }))
  for (let slot = 0; slot < 180 * 200; slot++) {
    const now = slot * 5
    for (const clock of clocks) {
      for (; clock.frame * clock.tickMs <= now; clock.frame++) {
        engine.now = clock.frame * clock.tickMs
        const isBreath = clock.frame % 250 >= 230
        clock.farEnd.speaker.speak(toneFrame(clock.hz, clock.frame, isBreath ? 20 : 11_600), engine.now)
      }
    }
    engine.now = now
    engine.engine.tick(slot % 4, now)
  }
  for (const [listener, speaker] of [
    [a, b],
    [b, a],
  ] as const) {
    const holes = holesIn(listener.farEnd.received.heard(10), speaker.hz)
    assert.equal(holes, [], `${listener.legId} hears ${speaker.hz} Hz`)
  }
}

/** Gaps in a tone that are shorter than these pauses [ms]. */
function holesIn(samples: Int16Array, hz: number): number[] {
  const found: number[] = []
  let lastHeard = Number.NEGATIVE_INFINITY
  for (let at = 0; at + 80 <= samples.length; at += 40) {
    if (levelOf(hz, samples.subarray(at, at + 80)) < HEARD - 6) continue
    if (at - lastHeard > 80 && at - lastHeard < 1600) found.push(at / 8)
    lastHeard = at
  }
  return found
}

test('comfort noise is told as such where it is heard from another thread, and behind who has gone back to its own, and so is what does not come', async () => {
  /** For each thread: what a sink was told about each frame of the leg. */
  const told: string[][] = []
  const ears: SinkNoun = {
    create: () => {
      const heard: string[] = []
      told.push(heard)
      const ear: Sink = {
        onPause: 'silence',
        write: (track, _frame, isComfort, isMissing) =>
          track === 'inbound' && heard.push(isComfort === true ? 'rested' : isMissing === true ? 'missed' : 'spoke'),
        close: () => {},
      }
      return {
        commands: {},
        enter: ({ leg: { id, sinks } }) => id === 'part_bb' && !sinks.includes(ear) && sinks.push(ear),
        follows: () => true,
      }
    },
  }
  await engine.close()
  engine = new TestEngine(dataDir, { threads: 3, sinks: [ears] })
  const [, { farEnd }] = await three()
  const rest = (): void =>
    engine.run(SECOND, tick => {
      if (tick % SECOND < 20) farEnd.speaker.speak(toneFrame(440, tick), engine.now)
      else if (tick % SECOND === 20) farEnd.speaker.rest(40, engine.now)
    })
  move('part_bb', roomOf('call_of_part_a'))
  rest()
  assert.equal(told.map(parts), [['spoke', 'rested'], ['spoke', 'rested'], []], 'in the room of another thread')
  move('part_bb', roomOf('call_of_part_bb'), { mustExist: false })
  for (const heard of told) heard.splice(0)
  rest()
  const after = ['rested', 'spoke', 'rested']
  assert.equal(told.map(parts), [after, after, []], 'in its own again')
  for (const heard of told) heard.splice(0)
  // It speaks on, and then nothing comes any more.
  engine.run(SECOND, tick => tick % SECOND < 20 && farEnd.speaker.speak(toneFrame(440, tick), engine.now))
  const stalled = ['rested', 'spoke', 'missed']
  assert.equal(told.map(parts), [stalled, stalled, []], 'when it stalls')
  move('part_bb', roomOf('call_of_part_a'))
  for (const heard of told) heard.splice(0)
  engine.run(SECOND, tick => tick % SECOND < 20 && farEnd.speaker.speak(toneFrame(440, tick), engine.now))
  assert.equal(
    told.map(parts).map(of => of.slice(-2)),
    [['spoke', 'missed'], ['spoke', 'missed'], []],
    'in the room of another thread again',
  )
})

test('a monitor of another thread hears all and is heard by nobody, one who whispers by one alone, from the reply on', async () => {
  const parties = await three()
  move('part_bb', roomOf('call_of_part_a'))
  move('part_ccc', roomOf('call_of_part_a'), { muted: true })
  assert.equal(hearing(parties), ['0<1', '1<0', '2<01'])
  engine.engine.do('leg.update', { legId: 'part_ccc', muted: false, heardBy: [] })
  assert.equal(hearing(parties), ['0<1', '1<0', '2<01'])
  engine.engine.do('leg.update', { legId: 'part_ccc', heardBy: ['part_bb'] })
  assert.equal(hearing(parties), ['0<1', '1<02', '2<01'])
  engine.engine.do('leg.update', { legId: 'part_bb', hears: ['part_ccc'] })
  assert.equal(hearing(parties), ['0<1', '1<2', '2<01'])
  engine.engine.do('leg.update', { legId: 'part_ccc', heardBy: null })
  engine.engine.do('leg.update', { legId: 'part_bb', hears: null })
  assert.equal(hearing(parties), ['0<12', '1<02', '2<01'])
})

test('who was muted while it waited is not heard in a conference of another thread, though its move says otherwise', async () => {
  const parties = await three()
  const conference = roomOf('call_meeting', { kind: 'conference' })
  move('part_a', conference, { mustExist: false })
  engine.engine.do('leg.update', { legId: 'part_bb', muted: true })
  move('part_bb', conference)
  move('part_ccc', conference)
  assert.equal(hearing(parties), ['0<2', '1<02', '2<0'])
  engine.engine.do('leg.update', { legId: 'part_bb', muted: false })
  assert.equal(hearing(parties), ['0<12', '1<02', '2<01'])
})

test('on hold neither hears nor is heard, and music for who is alone is heard on another thread as well', async () => {
  const parties = await three()
  const [, b] = parties
  await engine.preload({ kind: 'music' })
  const room = roomOf('call_meeting', { kind: 'conference', musicWhenAlone: true })
  move('part_a', room, { mustExist: false })
  move('part_bb', room)
  await engine.engine.do('leg.hold', { legId: 'part_bb', held: true, sources: [] })
  assert.equal(hearing(parties), ['0<', '1<', '2<'])
  await engine.engine.do('leg.hold', { legId: 'part_bb', held: false, sources: [] })
  assert.equal(hearing(parties), ['0<1', '1<0', '2<'])
  engine.engine.do('leg.close', { legId: 'part_a' })
  await engine.until(() => {
    engine.run(1)
    return b.farEnd.received.heard(b.farEnd.received.payloads.length - 1).some(sample => sample !== 0)
  })
})

test('a room is full for who is on another thread, and who may not come in stays where it is', async () => {
  const parties = await three()
  const room = roomOf('call_small', { maxMembers: 2 })
  move('part_a', room, { mustExist: false })
  move('part_bb', room)
  happened()
  assert.is((move('part_ccc', room) as { failure: string }).failure, 'capacity')
  assert.is((move('part_ccc', roomOf('call_gone')) as { failure: string }).failure, 'not_found')
  assert.equal(happened(), [])
  assert.equal(hearing(parties), ['0<1', '1<0', '2<'])
  move('part_ccc', roomOf('call_small', { maxMembers: 3 }))
  assert.equal(hearing(parties), ['0<12', '1<02', '2<01'])
})

for (const lost of ['room.seat', 'leg.move'] as const) {
  test(`who asked is told when ${lost} is not answered in time, and the leg is where it was, heard as before`, async () => {
    const parties = await three()
    move('part_bb', roomOf('call_of_part_a'))
    engine.engine.do('leg.update', { legId: 'part_bb', heardBy: ['part_a'], hears: ['part_a'] })
    // From a room of its own thread.
    engine.engine.loses = lost
    assert.is((move('part_ccc', roomOf('call_of_part_a')) as Failure).failure, 'unanswered')
    assert.equal(hearing(parties), ['0<1', '1<0', '2<'])
    assert.equal(roomsNow(), ['call_of_part_a: part_a part_bb', 'call_of_part_ccc: part_ccc'])
    // From a room of another one, with who hears it there.
    engine.engine.loses = lost
    assert.is((move('part_bb', roomOf('call_of_part_ccc')) as Failure).failure, 'unanswered')
    move('part_ccc', roomOf('call_of_part_a'))
    assert.equal(hearing(parties), ['0<12', '1<0', '2<0'])
    assert.equal(roomsNow(), ['call_of_part_a: part_a part_bb part_ccc'])
    assert.equal(engine.faults, [])
  })
}

test('a key that is on its way to the room when a pause begins there is heard by nobody', async () => {
  const [a, b] = await three()
  move('part_bb', roomOf('call_of_part_a'))
  engine.run(SETTLED)
  engine.engine.holds = true
  engine.engine.do('leg.key', { legId: 'part_bb', key: '7', source: 'info', durationMs: 160 })
  const pause = { maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: null }
  engine.engine.do('capture.pause', { target: { roomId: 'call_of_part_a' }, ...pause })
  engine.engine.holds = false
  engine.run(20)
  assert.equal(a.farEnd.received.events, [])
  engine.engine.do('leg.key', { legId: 'part_bb', key: '8', source: 'info', durationMs: 160 })
  engine.run(20)
  assert.equal(
    engine.of('leg.dtmf').map(({ key }) => key),
    ['7', '*'],
    'the next one is masked before any tick',
  )
  assert.equal([...a.farEnd.received.events, ...b.farEnd.received.events], [])
})

test('what was said before tones were taken out is not mixed after that, and a pause of a leg is one of its room on every thread', async () => {
  const [a, b, c] = await three()
  move('part_bb', roomOf('call_of_part_a'))
  move('part_ccc', roomOf('call_of_part_a'))
  speak([b], SETTLED)
  engine.engine.do('capture.pause', {
    target: { legId: 'part_bb' },
    ...{ maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: 'part_ccc' },
  })
  const from = a.farEnd.received.payloads.length
  speak([b], 1)
  assert.ok(
    a.farEnd.received.heard(from).every(sample => sample === 0),
    'it is cut off with the next tick',
  )
  speak([b], 20)
  assert.ok(levelOf(b.hz, a.farEnd.received.heard(from + 12)) > HEARD, 'then it is heard without tones')
  engine.engine.do('leg.key', { legId: 'part_a', key: '5', source: 'info', durationMs: 160 })
  engine.run(20)
  assert.ok(
    c.farEnd.received.events.some(({ code }) => code === 5),
    'the payment line of one thread gets keys of another',
  )
  assert.equal(b.farEnd.received.events, [])
})

test('nor is what was mixed before tones were taken out heard by a guest after that', async () => {
  const [a, , c] = await three()
  // The thread of the listener is the first: in each tick it hears what the room's thread has mixed in the one before.
  move('part_a', roomOf('call_of_part_ccc'))
  speak([c], SECOND)
  const from = a.farEnd.received.payloads.length
  assert.ok(levelOf(c.hz, a.farEnd.received.heard(from - SECOND / 2)) > HEARD)
  engine.engine.do('capture.pause', {
    target: { roomId: 'call_of_part_ccc' },
    ...{ maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: null },
  })
  speak([c], 3)
  assert.ok(
    a.farEnd.received.heard(from).every(sample => sample === 0),
    'it is cut off with the next tick',
  )
})

test('the room decides of its guests, too, whether it is told who speaks: whoever comes later, and whoever is there when a member brings that', async () => {
  const own = new TestEngine(dataDir, { threads: 3 })
  const room = roomOf('room', { kind: 'conference' })
  const sound = { speechEvents: true }
  const farEnds = new Map<string, FarEnd>()
  for (const legId of ['part_a', 'part_bb', 'part_ccc', 'part_dddd'])
    farEnds.set(legId, await own.join(legId, { roomId: legId }))
  const enters = (legId: string, spec: RoomSpec) =>
    own.engine.do('leg.move', { legId, room: spec, mustExist: false, muted: false })
  const speaks = (legId: string) => {
    const from = own.of('leg.speaking').length
    own.say(farEnds.get(legId)!, VOICE, 10)
    return own
      .of('leg.speaking')
      .slice(from)
      .some(event => event.legId === legId && event.isSpeaking)
  }
  enters('part_a', room)
  enters('part_bb', room)
  assert.not(speaks('part_bb'))
  enters('part_dddd', { ...room, sound })
  assert.ok(speaks('part_bb'), 'was there')
  enters('part_ccc', room)
  assert.ok(speaks('part_ccc'), 'came later')
  await own.close()
})

test('a recording of the first call goes on with who leaves it for a room of another thread, and ends with the last of them', async () => {
  const own = { capture: { recordingId: 'call_recorded', transcript: null } }
  const caller = await engine.join('part_a', { roomId: 'call_of_part_a', ...own })
  const agent = await engine.join('part_bb', { roomId: 'part_bb' })
  const other = await engine.join('part_ccc', { roomId: 'call_of_part_ccc' })
  const parties = [
    { legId: 'part_a', hz: 1000, farEnd: caller },
    { legId: 'part_bb', hz: 440, farEnd: agent },
    { legId: 'part_ccc', hz: 1720, farEnd: other },
  ]
  move('part_bb', roomOf('call_of_part_a'))
  speak(parties, SECOND)
  move('part_bb', roomOf('call_of_part_ccc'))
  speak(parties, SECOND)
  move('part_bb', roomOf('call_consult'), { mustExist: false })
  speak(parties, SECOND)
  engine.engine.do('leg.close', { legId: 'part_a' })
  speak(parties, SECOND)
  assert.equal(engine.of('recording.ready'), [])
  engine.engine.do('leg.close', { legId: 'part_bb' })
  await engine.until(() => engine.of('recording.ready').length > 0)
  const [ready] = engine.of('recording.ready')
  assert.equal(
    ready?.channels.map(({ legId }) => legId),
    ['part_a', 'part_bb', null],
  )
  assert.ok(Math.abs(ready!.durationMs - 4000) <= 40, `${ready!.durationMs} ms`)
  const wav = readWav(readFileSync(join(dataDir, 'recordings', ready!.file)))
  if ('error' in wav) throw new Error(wav.error)
  const second = (channel: number, from: number) =>
    wav.samples[channel]!.subarray(from * 8000 + 2000, from * 8000 + 7000)
  for (const from of [0, 1, 2]) assert.ok(levelOf(1000, second(0, from)) > HEARD, `the caller in second ${from}`)
  for (const from of [0, 1, 2, 3]) assert.ok(levelOf(440, second(1, from)) > HEARD, `the agent in second ${from}`)
  for (const from of [0, 1, 2, 3]) assert.ok(levelOf(1720, second(1, from)) < UNHEARD, 'nobody else')
})

test('a transcript of a room goes on when the thread of one of its legs has died, and ends with what that one was saying taken back', async () => {
  const ear = new ScriptedEar()
  const own = new TestEngine(dataDir, { threads: 2, stt: ear })
  const room = { roomId: 'room', kind: 'conference' } as const
  const stays = await own.join('part_a', room)
  const goes = await own.join('part_bb', room)
  own.engine.do('transcript.start', { transcriptId: 'call_t', target: { roomId: 'room' }, language: null })
  own.engine.do('transcript.start', { transcriptId: 'cops_t', target: { roomId: 'room' }, language: null, live: true })
  own.say(goes, VOICE, SECOND * 2)
  assert.is(ear.heard.length, 1, 'what it has said is not understood yet')
  own.say(goes, VOICE)
  assert.equal(own.engine.die(1), ['part_bb'])
  own.engine.do('leg.close', { legId: 'part_bb' })
  own.say(stays, VOICE, SECOND * 2)
  assert.is(ear.heard.length, 2)
  for (const transcriptId of ['call_t', 'cops_t']) own.engine.do('transcript.stop', { transcriptId })
  await ear.understand('Of the dead thread.')
  await ear.understand('And then?')
  await own.until(() => own.of('transcript.ready').length === 2)
  assert.equal(
    own.of('transcript.segment').map(({ legId, text }) => [legId, text]),
    [['part_a', 'And then?']],
  )
  const last = new Map(own.of('transcript.words').map(words => [words.utteranceId, words]))
  assert.equal(
    [...last.values()].map(({ legId, text, isFinal }) => [legId, text, isFinal]),
    [
      ['part_bb', null, true],
      ['part_bb', null, true],
      ['part_a', 'And then?', true],
    ],
  )
  ear.close()
  await own.close()
})

test("a pause of a leg ends with the thread that dies under it; a pause of the others' room stays", async () => {
  await three()
  move('part_bb', roomOf('call_of_part_a'))
  move('part_ccc', roomOf('call_of_part_a'))
  const pause = { maxSeconds: 600, reason: 'payment', maskDtmf: true, destinationLegId: null }
  const pressed = (): string[] => {
    const from = engine.of('leg.dtmf').length
    for (const legId of ['part_a', 'part_ccc']) {
      engine.engine.do('leg.key', { legId, key: '5', source: 'info', durationMs: 160 })
      engine.run(SECOND)
    }
    const told = engine.of('leg.dtmf').slice(from)
    return told.map(({ key }) => key)
  }
  engine.engine.do('capture.pause', { target: { legId: 'part_bb' }, ...pause })
  engine.run(SETTLED)
  assert.equal(pressed(), ['*', '*'])
  assert.equal(engine.engine.die(1), ['part_bb'])
  engine.engine.do('leg.close', { legId: 'part_bb' })
  // What was on its way is of the pause, and a key that comes late.
  engine.run(4 * SECOND)
  assert.equal(pressed(), ['5', '5'])
  engine.engine.do('capture.pause', { target: { roomId: 'call_of_part_a' }, ...pause })
  engine.run(SETTLED)
  engine.engine.die(1)
  engine.run(4 * SECOND)
  assert.equal(pressed(), ['*', '*'])
})

/** Whose figures the reply to this leg's end tells. */
async function toldBy(legId: string): Promise<Record<string, number>> {
  const closed = await engine.engine.do('leg.close', { legId })
  if ('failure' in closed) throw new Error(closed.message)
  return Object.fromEntries(closed.others?.map(({ legId, quality }) => [legId, quality.packetsReceived]) ?? [])
}

test('who ends tells the figures of those whom it leaves in its call, on whichever threads all of them are', async () => {
  for (const leaver of ['part_a', 'part_bb', 'part_ccc']) {
    const parties = await three()
    for (const legId of ['part_bb', 'part_ccc']) move(legId, roomOf('call_of_part_a'))
    speak(parties, SECOND)
    const others = parties.map(({ legId }) => legId).filter(legId => legId !== leaver)
    const told = await toldBy(leaver)
    assert.equal(Object.keys(told).sort(), others)
    for (const received of Object.values(told)) assert.ok(received >= SECOND - 1, `${received}`)
    for (const legId of others) await toldBy(legId)
  }
})

test('nor does a conference room tell the figures of others, whose calls go on', async () => {
  const parties = await three()
  for (const { legId } of parties) move(legId, roomOf('room', { kind: 'conference' }), { mustExist: false })
  for (const { legId } of parties) assert.equal(await toldBy(legId), {})
})

test('a caller who is answered into the room of another thread is reported as answered before it is there; where that is full, never', async () => {
  const own = new TestEngine(dataDir, {
    threads: 2,
    openSocket: async () => socketOf(new FarEnd('192.0.2.1', () => own.now)),
  })
  const enter = roomOf('call_small', { maxMembers: 2 })
  const open = (legId: string) => {
    const begin = { media: mediaOf('192.0.2.1'), enter }
    return own.engine.run('leg.open', { legId, affinity: '', host: '', begin })
  }
  const told = async (legId: string) => {
    const from = own.events.length
    const { begun } = (await open(legId)) as { begun: object }
    const names = own.events
      .slice(from)
      .flatMap(({ name, body }) => ('legId' in body && body.legId === legId ? [name] : []))
    return [(begun as { failure?: string }).failure ?? 'begun', ...names]
  }
  assert.equal(await told('part_a'), ['begun', 'leg.answered', 'leg.joined'])
  // Each leg begins on the next of the two threads.
  assert.equal(await told('part_b'), ['begun', 'leg.answered', 'leg.joined'])
  assert.equal(await told('part_c'), ['capacity'])
  assert.equal(await told('part_d'), ['capacity'])
  await own.close()
})

test.run()
