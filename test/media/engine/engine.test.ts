import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readWav, wavHeader } from '../../../codecs/wav.ts'
import type { LegMedia } from '../../../media/legs/leg-media.ts'
import { isFailure, type PlaySource } from '../../../media/protocol.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { crossing } from '../../fakes/engine-group.ts'
import { suite } from '../../harness.ts'
import { levelOf, mediaOf, sharpest, toneFrame } from './party.ts'

let dataDir: string
let engine: TestEngine

const test = suite('media/engine/engine')

test.beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir)
})

test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

const play = (source: PlaySource) =>
  engine.engine.do('leg.play', {
    ...{ legId: 'part_a', playId: 'p1', sources: [source] },
    ...{ loop: false, hangupAfter: null },
  })

const names = (): string[] => engine.events.map(event => event.name)

test('a room opens with its first member and is gone with the last, and the clock with the last room', async () => {
  assert.not(engine.clockRuns)
  const farEnd = await engine.join('part_a')
  assert.ok(engine.clockRuns)
  await engine.join('part_bb')
  engine.engine.do('leg.close', { legId: 'part_a' })
  assert.ok(farEnd.closed)
  assert.ok(engine.clockRuns)
  engine.engine.do('leg.close', { legId: 'part_bb' })
  assert.not(engine.clockRuns)
  assert.equal(names(), ['room.opened', 'leg.joined', 'leg.joined', 'leg.left', 'leg.left', 'room.closed'])
})

test('a room has the chimes with which it was opened, for who comes as for who goes, whatever is asked for later', async () => {
  const a = await engine.join('part_a', { roomId: 'call_quiet', chimes: false })
  await engine.join('part_bb', { roomId: 'call_quiet', chimes: true })
  engine.run(30)
  engine.engine.do('leg.close', { legId: 'part_bb' })
  engine.run(30)
  assert.ok(a.received.heard().every(sample => sample === 0))
})

test('packets of a member come with the slot of its room, of two who are relayed as they are sent, and of who has left too', async () => {
  await engine.close()
  // Where the two are on two threads nothing is relayed.
  engine = new TestEngine(dataDir, { threads: 1 })
  const talk = (parties: Awaited<ReturnType<TestEngine['join']>>[]): void =>
    engine.run(70, tick => {
      for (const { speaker } of parties) speaker.speak(toneFrame(415, tick), engine.now)
    })
  const room = (roomId: string) => ({ kind: 'call' as const, roomId })
  const [a, b] = [await engine.join('part_a', room('call_one')), await engine.join('part_bb', room('call_one'))]
  const c = await engine.join('part_ccc', room('call_other'))
  assert.is(a.slot, b.slot)
  assert.ok(a.slot !== null && c.slot !== null && a.slot !== c.slot, `${a.slot} ${c.slot}`)
  talk([a, b, c])
  assert.equal([a.slot, b.slot], [null, null])
  const other = { chimes: false, musicWhenAlone: false, maxMembers: 9, ...room('call_other') }
  engine.engine.do('leg.move', { legId: 'part_a', room: other, mustExist: true, muted: false })
  talk([a, b, c])
  assert.is(b.slot === null, false)
  // They are two again.
  assert.equal([a.slot, c.slot], [null, null])
  engine.engine.do('leg.update', { legId: 'part_a', muted: true })
  talk([a, c])
  assert.ok(a.slot !== null && a.slot === c.slot, `${a.slot} ${c.slot}`)
  engine.engine.do('leg.close', { legId: 'part_a' })
  assert.is(a.slot, null)
})

test('with chimes who is in the room hears two rising notes when somebody joins and two falling ones when he leaves; without, nothing', async () => {
  const [LOW_HZ, HIGH_HZ] = [587, 880]
  for (const chimes of [true, false]) {
    const room = { roomId: `call_${chimes}`, chimes }
    const a = await engine.join(`part_a${chimes}`, room)
    engine.run(50)
    await engine.join('part_b', room)
    engine.run(50)
    engine.engine.do('leg.close', { legId: 'part_b' })
    engine.run(50)
    if (!chimes) assert.ok(a.received.heard().every(sample => sample === 0))
    else {
      // The low note lasts for 7 frames, the high one for 16.
      const isHigher = [51, 60, 101, 118].map(tick => {
        const note = a.received.heard(tick, tick + 5)
        assert.ok(Math.max(levelOf(LOW_HZ, note), levelOf(HIGH_HZ, note)) > -40, `nothing at tick ${tick}`)
        return levelOf(HIGH_HZ, note) > levelOf(LOW_HZ, note)
      })
      assert.equal(isHigher, [false, true, true, false])
    }
    engine.engine.do('leg.close', { legId: `part_a${chimes}` })
  }
})

test('who comes into a room that is open brings its streams, which hear it from its first sample', async () => {
  await engine.join('part_a')
  const stream = {
    ...{ streamId: 'stream_1', url: 'ws://127.0.0.1:9/', tracks: 'inbound' as const, format: 'mulaw_8000' as const },
    ...{
      customParameters: {},
      accountSid: 'org_1',
      callSid: 'call_room',
      signingSecret: '',
      target: { legId: 'part_bb' },
    },
    addresses: { publicOnly: true, allowed: [] },
  }
  await engine.join('part_bb', { capture: { recordingId: null, transcript: null, streams: [stream] } })
  assert.equal(
    engine.engine.snapshot().streams.map(({ status }) => status),
    ['connecting'],
  )
  assert.equal(engine.engine.do('stream.start', stream), {
    failure: 'conflict',
    message: 'a stream with this ID exists',
  })
})

test('who heard itself is in a call as soon as somebody joins: nobody hears itself, and keys reach the other', async () => {
  const HEARD = -30
  const hz = { part_a: 600, part_b: 1000 }
  const a = await engine.join('part_a', { kind: 'echo' })
  const parties = new Map([['part_a' as const, a]])
  const levels = (): boolean[] => {
    const from = a.received.payloads.length + 25
    engine.run(50, tick => {
      for (const [name, { speaker }] of parties) speaker.speak(toneFrame(hz[name], tick), engine.now)
    })
    return [...parties.values()].flatMap(({ received }) => {
      const heard = received.heard(received.payloads.length - (a.received.payloads.length - from))
      return Object.values(hz).map(tone => levelOf(tone, heard) > HEARD)
    })
  }
  assert.equal(levels(), [true, false])
  parties.set('part_b' as never, await engine.join('part_b', { kind: 'call' }))
  assert.equal(levels(), [false, true, true, false])
  engine.engine.do('leg.key', { legId: 'part_a', key: '5', source: 'info', durationMs: 100 })
  engine.run(20)
  assert.is(parties.get('part_b' as never)!.received.events[0]?.code, 5)
})

test('a key that comes in two ways, by events and by INFO, is one key, and two in the same way are two', async () => {
  const phone = await engine.join('part_a')
  /** An event of 100 ms and silence, with INFO after so many ms of the press. */
  const press = (infoAfterMs: number, ms = 100): void => {
    const ticks = ms / 20
    for (let tick = 0; tick < Math.max(ticks, infoAfterMs / 20) + 5; tick++) {
      if (tick * 20 === infoAfterMs) {
        engine.engine.do('leg.key', { legId: 'part_a', key: '5', source: 'info', durationMs: ms })
      }
      const step = tick === 0 ? 'start' : tick < ticks - 1 ? 'middle' : 'end'
      if (tick < ticks) phone.speaker.press(5, step, 160 * (tick + 1), engine.now)
      else phone.speaker.speak(new Int16Array(160), engine.now)
      engine.run(1)
    }
  }
  const keys = (): string[] => engine.of('leg.dtmf').map(({ key, source }) => `${source} ${key}`)
  press(0)
  press(100)
  press(400)
  assert.equal(keys(), ['info 5', 'rfc4733 5', 'rfc4733 5'])
  // Held for long: INFO comes when it is released.
  press(1500, 1500)
  assert.is(keys().length, 4)
  press(-1)
  press(-1)
  engine.run(50)
  engine.engine.do('leg.key', { legId: 'part_a', key: '5', source: 'info', durationMs: 100 })
  engine.engine.do('leg.key', { legId: 'part_a', key: '5', source: 'info', durationMs: 100 })
  assert.equal(keys().slice(4), ['rfc4733 5', 'rfc4733 5', 'info 5', 'info 5'])
  // Another one in between: whoever goes over to INFO in a number loses no key of it.
  for (const key of ['6', '5']) engine.engine.do('leg.key', { legId: 'part_a', key, source: 'info', durationMs: 100 })
  press(-1)
  press(-1)
  for (const key of ['6', '5']) engine.engine.do('leg.key', { legId: 'part_a', key, source: 'info', durationMs: 100 })
  assert.equal(keys().slice(8), ['info 6', 'info 5', 'rfc4733 5', 'info 6', 'info 5'])
})

test('closing twice is harmless', async () => {
  await engine.join('part_a')
  assert.not(isFailure(engine.engine.do('leg.close', { legId: 'part_a' })))
  assert.ok(isFailure(engine.engine.do('leg.close', { legId: 'part_a' })))
  assert.is(names().filter(name => name === 'leg.left').length, 1)
})

test('a full room takes nobody more', async () => {
  await engine.join('part_a', { maxMembers: 1 })
  await engine.join('part_bb', { maxMembers: 1 })
  assert.equal(engine.engine.snapshot().rooms, [{ roomId: 'call_room', legIds: ['part_a'] }])
})

test('no free port is a failure of the kind capacity', async () => {
  const opened = await engine.engine.run('leg.open', { legId: 'part_a', affinity: '', host: '' })
  assert.is((opened as { failure: string }).failure, 'capacity')
})

test('who moves to a room that must exist and is gone stays where it is', async () => {
  await engine.join('part_a', { roomId: 'call_own' })
  const room = { roomId: 'call_gone', kind: 'conference' as const, chimes: false, musicWhenAlone: false, maxMembers: 9 }
  const moved = engine.engine.do('leg.move', { legId: 'part_a', room, mustExist: true, muted: false })
  assert.is((moved as { failure: string }).failure, 'not_found')
  assert.is(engine.engine.snapshot().legs[0]!.roomId, 'call_own')
})

test('a prompt is heard by its leg alone, and its end is an event', async () => {
  const a = await engine.join('part_a')
  const b = await engine.join('part_bb')
  await engine.preload({ kind: 'tone', name: 'beep' })
  await engine.engine.do('leg.play', {
    legId: 'part_a',
    playId: 'p1',
    sources: [{ kind: 'tone', name: 'beep' }],
    loop: false,
    hangupAfter: 'assistant_ended',
  })
  engine.run(50)
  assert.ok(levelOf(1000, a.received.heard(0, 10)) > -25)
  assert.ok(b.received.heard().every(sample => sample === 0))
  assert.equal(engine.of('play.started'), [{ legId: 'part_a', playId: 'p1', clockMs: 5 }])
  assert.equal(engine.of('play.finished'), [{ legId: 'part_a', playId: 'p1', ended: 'played', heardMs: 200 }])
  assert.equal(engine.ends, [{ legId: 'part_a', reason: 'assistant_ended' }])
})

test('what is said to who is alone in a room ends as somebody comes, and is not said to who is not alone any more', async () => {
  const source = toneFile('alone.wav', 415)
  const sources = [source]
  await engine.preload(source)
  const say = (playId: string, whileAlone: boolean) =>
    engine.engine.do('leg.play', {
      ...{ legId: 'part_a', playId, sources, whileAlone },
      ...{ loop: false, hangupAfter: null },
    })
  const isHeard = (a: Awaited<ReturnType<TestEngine['join']>>, from: number, to: number): boolean =>
    levelOf(415, a.received.heard(from, to)) > -30
  const a = await engine.join('part_a')
  await say('alone', true)
  engine.run(20)
  await engine.join('part_bb')
  engine.run(20)
  await say('late', true)
  engine.run(20)
  assert.equal([isHeard(a, 5, 20), isHeard(a, 22, 40), isHeard(a, 42, 60)], [true, false, false])
  await say('anyway', false)
  engine.run(20)
  await engine.join('part_ccc')
  engine.run(20)
  assert.ok(isHeard(a, 82, 100))
  const ends = engine.of('play.finished').map(({ playId, ended }) => [playId, ended])
  assert.equal(ends, [
    ['alone', 'interrupted'],
    ['late', 'interrupted'],
  ])
})

/** A file with a tone in it that has no whole number of periods in a frame. */
function toneFile(name: string, hz: number): PlaySource {
  const path = join(dataDir, name)
  const samples = Int16Array.from({ length: 8000 }, (_, i) => 8000 * Math.cos((2 * Math.PI * hz * i) / 8000))
  const header = wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: samples.byteLength })
  writeFileSync(path, Buffer.concat([header, new Uint8Array(samples.buffer)]))
  return { kind: 'file', path }
}

test('where hold music begins and ends there is no click, neither in it nor in the voice on both sides of it', async () => {
  const [a, b] = [await engine.join('part_a'), await engine.join('part_bb')]
  const sources = [toneFile('music.wav', 415)]
  await engine.preload(...sources)
  const talk = (ticks: number): void => engine.run(ticks, tick => a.speaker.speak(toneFrame(365, tick), engine.now))
  const heard = (): Int16Array => b.received.heard(10)
  talk(40)
  const whole = sharpest(heard())
  for (const ticks of [10, 13, 17]) {
    await engine.engine.do('leg.hold', { legId: 'part_bb', held: true, sources })
    talk(20)
    assert.ok(levelOf(415, heard().slice(-10 * LEG_SAMPLES)) > -17)
    await engine.engine.do('leg.hold', { legId: 'part_bb', held: false, sources: [] })
    talk(ticks)
    assert.ok(levelOf(365, heard().slice(-4 * LEG_SAMPLES)) > -13)
  }
  assert.ok(sharpest(heard()) < 2 * whole, `${sharpest(heard())} in place of ${whole}`)
})

test('a hold that is ended while its music is being loaded has ended', async () => {
  await engine.join('part_a')
  const hold = (held: boolean) => {
    const sources: PlaySource[] = held ? [toneFile('music.wav', 415)] : []
    return engine.engine.run('leg.hold', { legId: 'part_a', held, sources })
  }
  const replies = await Promise.all([hold(true), hold(false)])
  assert.equal(
    replies.map(reply => isFailure(reply) || reply.onHold),
    [true, false],
  )
  assert.is(engine.engine.snapshot().legs[0]!.onHold, false)
})

test('a party that answers while its ringing tone is being loaded is heard', async () => {
  const [a, b] = [await engine.join('part_a'), await engine.join('part_bb')]
  const media = mediaOf('192.0.2.7')
  const connect = (more: object) => engine.engine.run('leg.connect', { legId: 'part_bb', enter: null, media, ...more })
  await Promise.all([
    connect({ media: { ...media, direction: 'inactive' }, ringing: { kind: 'tone', name: 'ringback' } }),
    connect({}),
  ])
  engine.run(40, tick => b.speaker.speak(toneFrame(365, tick), engine.now))
  const heard = a.received.heard(30)
  assert.ok(levelOf(365, heard) > -17, `${levelOf(365, heard)} dBov`)
})

test('who is moved in the middle of a word fades out for those who stay and in for those who are there, and what it hears begins without a click', async () => {
  const room = (n: number) => ({ roomId: `call_${n}` })
  const mover = await engine.join('part_a', room(0))
  const others = [await engine.join('part_bb', room(0)), await engine.join('part_ccc', room(1))]
  const talk = (ticks: number): void =>
    engine.run(ticks, tick => {
      mover.speaker.speak(toneFrame(415, tick), engine.now)
      for (const { speaker } of others) speaker.speak(toneFrame(365, tick), engine.now)
    })
  talk(40)
  const whole = sharpest(others[0]!.received.heard(10))
  for (const [n, ticks] of [13, 17, 11, 19, 12, 16].entries()) {
    const to = { kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 9, ...room((n + 1) % 2) }
    engine.engine.do('leg.move', { legId: 'part_a', room: to, mustExist: true, muted: false })
    talk(ticks)
    const heard = others.map(({ received }) => levelOf(415, received.heard(received.payloads.length - 4)))
    assert.ok(heard[(n + 1) % 2]! > -13 && heard[n % 2]! < -60, heard.join())
  }
  for (const { received } of others) {
    const most = sharpest(received.heard(10))
    assert.ok(most < 2 * whole, `${most} in place of ${whole}`)
  }
})

for (const count of [2, 3]) {
  const relays = count === 2
  test(`who ${relays ? 'is relayed to another and ' : ''}is moved hears the voices of the room that it leaves fade out, those who stay its own, and music begins so`, async () => {
    const music = toneFile('music.wav', 365)
    await engine.preload(music)
    for (const ticks of [71, 74, 78, 83]) {
      const room = { roomId: `call_${ticks}`, kind: 'call' as const }
      const ids = ['part_a', 'part_bb', 'part_ccc'].slice(0, count).map(id => `${id}${ticks}`)
      const parties = [] as Awaited<ReturnType<TestEngine['join']>>[]
      for (const legId of ids) parties.push(await engine.join(legId, room))
      const talk = (all: number): void =>
        engine.run(all, tick =>
          parties.forEach(({ speaker }, n) => speaker.speak(toneFrame([415, 365, 0][n]!, tick), engine.now)),
        )
      talk(ticks)
      const from = parties.map(({ received }) => received.payloads.length)
      const to = { chimes: false, musicWhenAlone: false, maxMembers: 9, ...room, roomId: `call_other${ticks}` }
      engine.engine.do('leg.move', { legId: ids[0]!, room: to, mustExist: false, muted: false })
      if (ticks > 75) void engine.engine.do('room.play', { roomId: room.roomId, sources: [music], loop: true })
      talk(8)
      parties.slice(0, 2).forEach(({ received }, n) => {
        const before = received.heard(from[n]! - 10, from[n]!)
        const [whole, most] = [sharpest(before), sharpest(received.heard(from[n]! - 10))]
        assert.ok(levelOf([365, 415][n]!, before) > -14)
        assert.ok(most < 2 * whole, `${n} after ${ticks}: ${most} in place of ${whole}`)
      })
      const alone = parties[0]!.received.heard(from[0]! + 1)
      assert.ok(alone.every(sample => sample === 0))
      for (const legId of ids) engine.engine.do('leg.close', { legId })
    }
  })
}

for (const [how, stop] of Object.entries({
  'is stopped': () => engine.engine.do('leg.stop_play', { legId: 'part_a' }),
  'gives way to another one': () => play({ kind: 'silence', ms: 1000 }),
  'plays to who leaves the room': () =>
    engine.engine.do('leg.move', {
      ...{ legId: 'part_a', mustExist: false, muted: false },
      room: { roomId: `call_${engine.ticks}`, kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 9 },
    }),
})) {
  test(`a prompt that ${how} in the middle of a word fades out within 5 ms`, async () => {
    const a = await engine.join('part_a')
    const prompt = toneFile('prompt.wav', 415)
    for (const ticks of [12, 17, 23]) {
      await play(prompt)
      engine.run(ticks)
      const from = a.received.payloads.length
      assert.ok(levelOf(415, a.received.heard(from - 5)) > -17)
      const whole = sharpest(a.received.heard(from - 5))
      await stop()
      engine.run(3)
      assert.ok(a.received.heard(from).every((sample, n) => sample === 0 || n < 40))
      const end = sharpest(a.received.heard(from - 1))
      assert.ok(end < 2 * whole, `${end} in place of ${whole}`)
    }
  })
}

test('an unknown prompt is a failure of the kind invalid, and the call goes on', async () => {
  await engine.join('part_a')
  const played = await engine.engine.do('leg.play', {
    legId: 'part_a',
    playId: 'p1',
    sources: [{ kind: 'prompt', name: 'no-such-prompt' }],
    loop: false,
    hangupAfter: 'assistant_ended',
  })
  assert.is((played as { failure: string }).failure, 'invalid')
  engine.run(5)
  assert.equal(engine.ends, [])
})

test('a party that sends nothing for a minute is to be ended as rtp_timeout', async () => {
  await engine.join('part_a')
  engine.run(2990)
  assert.equal(engine.ends, [])
  engine.run(20)
  assert.equal(engine.ends, [{ legId: 'part_a', reason: 'rtp_timeout' }])
})

test('a phone that holds by `sendonly` may send nothing for as long as it likes; once it resumes it should send again', async () => {
  await engine.join('part_a')
  const agree = (direction: LegMedia['direction']) =>
    engine.engine.do('leg.connect', { legId: 'part_a', media: { ...mediaOf('192.0.2.6'), direction }, enter: null })
  agree('recvonly')
  engine.run(6000)
  assert.equal(engine.ends, [])
  assert.not(names().includes('leg.one_way'))
  agree('sendrecv')
  engine.run(3010)
  assert.equal(engine.ends, [{ legId: 'part_a', reason: 'rtp_timeout' }])
})

test('a recording has one channel for each participant and one for the product, and keeps its timeline through a pause', async () => {
  const a = await engine.join('part_a')
  engine.engine.do('recording.start', { recordingId: 'call_rec', target: { roomId: 'call_room' } })
  const speakA = (tick: number): void => a.speaker.speak(toneFrame(440, tick), engine.now)
  engine.run(50, speakA)
  const b = await engine.join('part_bb')
  const speakBoth = (tick: number): void => {
    speakA(tick)
    b.speaker.speak(toneFrame(2000, tick), engine.now)
  }
  engine.run(50, speakBoth)
  engine.engine.do('capture.pause', {
    target: { roomId: 'call_room' },
    maxSeconds: 60,
    reason: 'payment',
    maskDtmf: true,
    destinationLegId: null,
  })
  engine.run(50, speakBoth)
  engine.engine.do('capture.resume', { target: { roomId: 'call_room' } })
  engine.run(50, speakBoth)
  engine.engine.do('leg.close', { legId: 'part_a' })
  engine.engine.do('leg.close', { legId: 'part_bb' })
  await engine.engine.shutdown()
  const [ready] = engine.of('recording.ready')
  assert.is(ready?.durationMs, 4000)
  assert.equal(ready?.channels, [{ legId: 'part_a' }, { legId: 'part_bb' }, { legId: null }])
  assert.equal(ready?.segments, [{ fromMs: 2000, toMs: 3000 + crossing.lingerMs, reason: 'payment' }])
  const wav = readWav(readFileSync(join(dataDir, 'recordings', ready!.file)))
  if ('error' in wav) throw new Error(wav.error)
  const [first, second] = wav.samples as [Int16Array, Int16Array]
  assert.ok(levelOf(440, first.subarray(2000, 15_000)) > -13)
  assert.ok(levelOf(2000, first) < -60)
  assert.ok(second.subarray(0, 8000).every(sample => sample === 0))
  assert.ok(levelOf(2000, second.subarray(10_000, 15_000)) > -13)
  for (const channel of [first, second]) assert.ok(channel.subarray(16_000, 24_000).every(sample => sample === 0))
  // The mask's tail keeps both silent for another moment; then they are back.
  assert.ok(levelOf(2000, second.subarray(28_000, 31_000)) > -13)
})

test.run()
