import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { clamp16 } from '../../../codecs/audio.ts'
import { levelDbov } from '../../../codecs/level.ts'
import { readWav } from '../../../codecs/wav.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import { isFailure, type LegSound } from '../../../media/protocol.ts'
import { LEG_SAMPLES } from '../../../media/rooms/leg.ts'
import { Room } from '../../../media/rooms/room.ts'
import { AS_IT_CAME, Sound, type SoundTools } from '../../../media/rooms/sound.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { STALLS } from '../../fakes/stalls.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, Party, run, seeded, toneFrame } from '../engine/party.ts'

const SECOND = 50
const [A, B, C] = ['part_a', 'part_bb', 'part_ccc'] as const
const ROOM = { kind: 'conference' as const }

/** Speech: sentences of the product's prompts, with their pauses. */
const SPOKEN = ['announcement', 'apology', 'consent-before', 'call-back'].flatMap(name => {
  const wav = readWav(readFileSync(new URL(`../../../fixtures/prompts/${name}.wav`, import.meta.url)))
  if ('error' in wav) throw new Error(wav.error)
  return [...wav.samples[0]!]
})

/** Level of the loud parts: as a voice is measured, without its pauses [dBov]. */
function voiceDbov(samples: ArrayLike<number>): number {
  const frames = []
  for (let at = 0; at + LEG_SAMPLES <= samples.length; at += LEG_SAMPLES)
    frames.push(levelDbov(Int16Array.from({ length: LEG_SAMPLES }, (_, i) => samples[at + i]!)))
  const top = Math.max(...frames)
  const active = frames.filter(level => level > top - 25)
  return 10 * Math.log10(active.reduce((sum, level) => sum + 10 ** (level / 10), 0) / active.length)
}

/** Repeated speech of this duration and level, with noise. */
function speech(seconds: number, levelDb: number, noiseDb = -75): Int16Array {
  const gain = 10 ** ((levelDb - voiceDbov(SPOKEN)) / 20)
  const noise = noiseOf(seconds, noiseDb)
  return noise.map((sample, i) => clamp16(Math.round(SPOKEN[i % SPOKEN.length]! * gain + sample)))
}

function noiseOf(seconds: number, levelDb: number): Int16Array {
  const random = seeded(5)
  const amplitude = Math.sqrt(3) * 32_768 * 10 ** (levelDb / 20)
  return Int16Array.from({ length: seconds * 8000 }, () => Math.round(amplitude * ((2 * random()) / 2 ** 32 - 1)))
}

const unwanted = () => {
  throw new Error('it is not wanted')
}
const NO_TOOLS: SoundTools = { createVoiceDetector: unwanted, createNoiseSuppressor: unwanted }
const prompts = new Prompts({ sampleRateHz: 8000 })
let dataDir: string
let engine: TestEngine

const test = suite('media/rooms/sound')

test.beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir, { prompts })
})
test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})
test.after(() => prompts.close())

const update = (legId: string, sound: LegSound): void => {
  const reply = engine.engine.do('leg.update', { legId, sound })
  assert.not.ok(isFailure(reply), JSON.stringify(reply))
}

const voiceOf = (legId: string) => engine.engine.snapshot().legs.find(leg => leg.legId === legId)?.voice

/** What `to` heard in the last `seconds`. */
const heardBy = (to: FarEnd, seconds: number): Int16Array => {
  const { payloads } = to.received
  return to.received.heard(payloads.length - seconds * SECOND, payloads.length)
}

test('automatic gain brings a soft and a loud talker to the same level, within 3 dB of −22 dBov, and does so slowly', async () => {
  const soft = await engine.join(A, ROOM, {})
  const listener = await engine.join(B, ROOM)
  update(A, { autoGain: true })
  engine.say(soft, speech(2, -36))
  const first = voiceDbov(heardBy(listener, 1))
  assert.ok(first < -29, `after two seconds: ${first} dBov`)
  engine.say(soft, speech(18, -36))
  const raised = voiceDbov(heardBy(listener, 5))
  assert.ok(Math.abs(raised + 22) < 3, `soft: ${raised} dBov`)
  engine.say(soft, speech(15, -10))
  const lowered = voiceDbov(heardBy(listener, 5))
  assert.ok(Math.abs(lowered + 22) < 3, `loud: ${lowered} dBov`)
})

test('automatic gain raises no noise: neither where nobody speaks, nor in the pauses of a soft talker', async () => {
  const caller = await engine.join(A, ROOM)
  const listener = await engine.join(B, ROOM)
  update(A, { autoGain: true })
  engine.say(caller, noiseOf(12, -45))
  const alone = levelDbov(heardBy(listener, 4))
  assert.ok(Math.abs(alone + 45) < 1, `noise alone: ${alone} dBov`)
  engine.say(caller, speech(15, -38, -60))
  assert.ok(voiceDbov(heardBy(listener, 4)) > -30, 'it was raised')
  engine.say(caller, noiseOf(4, -60))
  const after = levelDbov(heardBy(listener, 1))
  assert.ok(Math.abs(after + 60) < 2, `in a pause: ${after} dBov`)
})

/** Five people speak at this level behind who says this. */
function amongOthers(said: Int16Array, seconds: number, levelDb: number): Int16Array {
  const others = Int16Array.from({ length: seconds * 8000 }, (_, i) =>
    [0, 1, 2, 3, 4].reduce((sum, n) => sum + SPOKEN[(i + n * 47_000) % SPOKEN.length]! / 5, 0),
  )
  const gain = 10 ** ((levelDb - voiceDbov(others)) / 20)
  return others.map((sample, i) => clamp16(Math.round(sample * gain + (said[i] ?? 0))))
}

test('who is silent has stopped speaking although people speak behind, and begins again with the next word', async () => {
  const caller = await engine.join(A, ROOM)
  update(A, { speechEvents: true })
  const said = new Int16Array(18 * 8000)
  said.set(speech(6, -22), 0)
  said.set(speech(6, -22), 12 * 8000)
  const changes: { at: number; isSpeaking: boolean }[] = []
  engine.say(caller, amongOthers(said, 18, -44), 0, tick => {
    for (const { isSpeaking } of engine.of('leg.speaking').slice(changes.length))
      changes.push({ at: tick / SECOND, isSpeaking })
  })
  const within = changes.filter(({ at }) => at > 6 && at < 12.5)
  assert.equal(
    within.map(({ isSpeaking }) => isSpeaking),
    [false, true],
    JSON.stringify(changes),
  )
  assert.ok(within[0]!.at < 7.5 && within[1]!.at > 12, JSON.stringify(changes))
})

test('people behind a talker are no talker to automatic gain: it brings the talker to −22 dBov, and adds nothing to them when the talker is silent', async () => {
  const caller = await engine.join(A, ROOM)
  const listener = await engine.join(B, ROOM)
  update(A, { autoGain: true })
  const heard = amongOthers(speech(20, -34), 24, -56)
  engine.say(caller, heard.subarray(0, 20 * 8000))
  const voice = voiceDbov(heardBy(listener, 5))
  assert.ok(Math.abs(voice + 22) < 2, `the talker: ${voice} dBov`)
  engine.say(caller, heard.subarray(20 * 8000))
  const behind = voiceDbov(heardBy(listener, 2))
  assert.ok(behind < -54, `the others: ${behind} dBov`)
})

test('a talker who moves away from the telephone is brought back to the same level', async () => {
  const caller = await engine.join(A, ROOM)
  const listener = await engine.join(B, ROOM)
  update(A, { autoGain: true })
  engine.say(caller, speech(10, -18))
  engine.say(caller, speech(30, -36))
  const voice = voiceDbov(heardBy(listener, 5))
  assert.ok(Math.abs(voice + 22) < 3, `${voice} dBov`)
})

test('noise suppression takes 10 dB and more of steady noise, and leaves the voice', async () => {
  const caller = await engine.join(A, ROOM)
  const listener = await engine.join(B, ROOM)
  update(A, { noiseSuppression: true })
  engine.say(caller, noiseOf(4, -40))
  const noise = levelDbov(heardBy(listener, 1))
  assert.ok(noise < -50, `noise: ${noise} dBov`)
  engine.say(caller, speech(8, -22, -40))
  const voice = voiceDbov(heardBy(listener, 4))
  assert.ok(Math.abs(voice + 22) < 3, `voice: ${voice} dBov`)
})

for (const [what, sound] of [
  ['noise suppression', { noiseSuppression: true }],
  ['a gain', { gainDb: 9 }],
] as const) {
  test(`nobody hears a hole or a click when ${what} begins or ends`, async () => {
    const caller = await engine.join(A, ROOM)
    const listener = await engine.join(B, ROOM)
    engine.run(2 * SECOND, tick => {
      if (tick % 7 === 0) update(A, tick % 14 === 7 ? sound : { noiseSuppression: false, gainDb: 0 })
      caller.speaker.speak(toneFrame(330, tick), engine.now)
    })
    const heard = heardBy(listener, 1)
    const top = heard.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
    let [step, quiet] = [0, 0]
    for (let i = 1, run = 0; i < heard.length; i++) {
      step = Math.max(step, Math.abs(heard[i]! - heard[i - 1]!))
      run = Math.abs(heard[i]!) < top / 50 ? run + 1 : 0
      quiet = Math.max(quiet, run)
    }
    assert.ok(step <= 1.2 * 2 * top * Math.sin((Math.PI * 330) / 8000), `a step of ${step} in a tone of ${top}`)
    assert.ok(quiet < 16, `${quiet} samples of nothing`)
  })
}

test('what a suppressed talker said last before it sent nothing for a while is not played when it goes on', async () => {
  const caller = await engine.join(A, ROOM)
  const listener = await engine.join(B, ROOM)
  update(A, { noiseSuppression: true })
  engine.run(SECOND / 2 + 1, tick => caller.speaker.speak(toneFrame(330, tick), engine.now))
  engine.run(SECOND)
  engine.say(caller, noiseOf(0.5, -60))
  const loudest = heardBy(listener, 1).reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  assert.ok(loudest < 200, `${loudest}`)
})

test('what others hear is treated; who understands words hears it as it came', () => {
  const room = new Room({ roomId: 'call_1', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 9 })
  const [caller, listener] = [new Party(A, '192.0.2.1'), new Party(B, '192.0.2.2')]
  room.legs.push(caller.leg, listener.leg)
  const [treated, plain] = [new KeepingSink(), Object.assign(new KeepingSink(), { hearsPlain: true })]
  caller.leg.sinks.push(treated, plain)
  caller.leg.sound = new Sound(LEG_SAMPLES, NO_TOOLS, () => {})
  caller.leg.sound.set({ ...AS_IT_CAME, gainDb: -20 })
  run(room, SECOND, (tick, now) => caller.speak(toneFrame(500, tick), now))
  const levels = [listener.heard(10), treated.samples('inbound', 10), plain.samples('inbound', 10)].map(levelDbov)
  assert.ok(Math.abs(levels[0]! - levels[2]! + 20) < 0.5 && Math.abs(levels[1]! - levels[2]! + 20) < 0.5, `${levels}`)
})

test('a gain of 20 dB is limited, not clipped', async () => {
  const caller = await engine.join(A, ROOM)
  const listener = await engine.join(B, ROOM)
  update(A, { gainDb: 20 })
  engine.run(SECOND, tick => caller.speaker.speak(toneFrame(500, tick, 16_000), engine.now))
  const heard = heardBy(listener, 1).subarray(4000)
  const [first, third] = [toneLevel(heard, 500), toneLevel(heard, 1500)]
  assert.ok(first > -3.5 && third < -40, `${first}, third harmonic ${third} dBov`)
})

function toneLevel(samples: Int16Array, hz: number): number {
  let [cosine, sine] = [0, 0]
  for (let i = 0; i < samples.length; i++) {
    cosine += samples[i]! * Math.cos((2 * Math.PI * hz * i) / 8000)
    sine += samples[i]! * Math.sin((2 * Math.PI * hz * i) / 8000)
  }
  return 10 * Math.log10((2 * (cosine ** 2 + sine ** 2)) / samples.length ** 2 / 32_768 ** 2)
}

test('who begins to speak is told of within 300 ms, once, and who ends after 700 ms of silence; a pause between two words ends nothing', async () => {
  const caller = await engine.join(A, ROOM)
  update(A, { speechEvents: true })
  engine.run(3)
  const changes: { tick: number; isSpeaking: boolean }[] = []
  const note = (tick: number): void => {
    for (const { isSpeaking } of engine.of('leg.speaking').slice(changes.length)) changes.push({ tick, isSpeaking })
  }
  engine.say(caller, noiseOf(2, -60))
  assert.is(changes.length, 0)
  const voice = speech(3, -22, -60)
  const begins = voice.findIndex(sample => Math.abs(sample) > 500) / LEG_SAMPLES
  engine.say(caller, voice, 0, note)
  assert.equal(
    changes.map(({ isSpeaking }) => isSpeaking),
    [true],
  )
  assert.ok(changes[0]!.tick - begins < 15, `${changes[0]!.tick - begins} frames`)
  const end: number[] = []
  engine.say(caller, noiseOf(2, -60), 0, tick => {
    if (end.length === 0 && engine.of('leg.speaking').length === 2) end.push(tick)
  })
  assert.is(engine.of('leg.speaking').at(-1)!.isSpeaking, false)
  assert.ok(end[0]! >= 30 && end[0]! <= 60, `${end[0]} frames`)
})

test('comfort noise is no speech, however loud: who falls silent by it has ended after 700 ms, and does not begin again by the next', async () => {
  const caller = await engine.join(A, ROOM)
  update(A, { speechEvents: true })
  const talk = speech(3, -22, -75)
  const changes = () => engine.of('leg.speaking').map(({ isSpeaking }) => isSpeaking)
  for (const [spurt, level] of [50, 40, 30].entries()) {
    engine.say(caller, talk)
    engine.run(1, () => caller.speaker.rest(level, engine.now))
    engine.run(45)
    assert.equal(changes().slice(2 * spurt), [true, false], `at -${level} dBov`)
    engine.run(100, tick => {
      if (tick % 20 === 0) caller.speaker.rest(level - 10 * (tick % 40 === 0 ? 1 : 0), engine.now)
    })
    assert.is(changes().length, 2 * (spurt + 1), `at -${level} dBov`)
  }
})

test('who is cut off in a voice speaks on: what was not received is no silence, for as long as a stall lasts', async () => {
  const changes = () => engine.of('leg.speaking').map(({ isSpeaking }) => isSpeaking)
  const talk = speech(4, -22, -65)
  for (const [name, stall] of Object.entries(STALLS)) {
    const caller = await engine.join(A, { ...ROOM, sound: { speechEvents: true } })
    const before = changes().length
    for (const ticks of [40, 70, 100]) {
      engine.say(caller, talk.subarray(0, 1.9 * 8000))
      stall(engine, caller, ticks)
    }
    engine.say(caller, talk.subarray(1.9 * 8000, 2.5 * 8000))
    assert.equal(changes().slice(before), [true], name)
    engine.run(130)
    assert.equal(changes().slice(before), [true, false], `${name}, and nothing comes any more`)
    await engine.engine.do('leg.close', { legId: A })
  }
})

test('who sends nothing in silence, and no comfort noise, has ended after the 700 ms of silence that everybody else has', async () => {
  const caller = await engine.join(A, ROOM)
  update(A, { speechEvents: true })
  const changes = () => engine.of('leg.speaking').map(({ isSpeaking }) => isSpeaking)
  for (let spurt = 1; spurt <= 4; spurt++) {
    // What such a phone takes for silence must have lasted for a while.
    engine.say(caller, speech(3, -22, -65))
    engine.say(caller, noiseOf(1, -65).subarray(0, 1600))
    engine.run(35)
    assert.is(changes().length, 2 * spurt, `spurt ${spurt}`)
    engine.run(100)
    assert.is(changes().length, 2 * spurt, `spurt ${spurt}`)
  }
})

test('steady noise is no speech; who is muted, on hold or in a card-payment pause does not speak, and is silent to who asks', async () => {
  const caller = await engine.join(A, ROOM)
  update(A, { speechEvents: true })
  engine.say(caller, noiseOf(8, -45))
  assert.is(engine.of('leg.speaking').length, 0)
  engine.say(caller, noiseOf(4, -30))
  assert.is(voiceOf(A)?.isSpeaking, false, 'noise that has become louder is found out')
  engine.say(caller, noiseOf(3, -70))
  const before = engine.of('leg.speaking').length
  engine.engine.do('leg.update', { legId: A, muted: true })
  engine.say(caller, speech(3, -22))
  assert.is(engine.of('leg.speaking').length, before)
  assert.equal(voiceOf(A), { isSpeaking: false, levelDbov: -127 })
  engine.engine.do('leg.update', { legId: A, muted: false })
  engine.say(caller, speech(1, -22))
  assert.ok(voiceOf(A)!.isSpeaking && voiceOf(A)!.levelDbov > -40)
  const target = { legId: A }
  engine.engine.do('capture.pause', {
    target,
    maxSeconds: 60,
    reason: 'payment',
    maskDtmf: true,
    destinationLegId: null,
  })
  engine.say(caller, speech(2, -22))
  assert.is(voiceOf(A)!.isSpeaking, false)
  assert.ok(voiceOf(A)!.levelDbov < -80)
})

test('the loudest who speaks is the active speaker; another one takes over when it is silent or louder for a while, not with each syllable', async () => {
  const ends = [
    await engine.join(A, { ...ROOM, sound: { speechEvents: true } }),
    await engine.join(B, ROOM),
    await engine.join(C, ROOM),
  ]
  const silent = new Int16Array(LEG_SAMPLES)
  /** Seconds in which each says this, or nothing. */
  const talk = (seconds: number, ...said: (Int16Array | null)[]): void => {
    engine.run(seconds * SECOND, tick => {
      const at = (tick % (seconds * SECOND)) * LEG_SAMPLES
      for (const [i, end] of ends.entries())
        end.speaker.speak(said[i]?.slice(at, at + LEG_SAMPLES) ?? silent, engine.now)
    })
  }
  const [loud, other] = [speech(3, -18), speech(3, -30)]
  const speakers = (): (string | null)[] => engine.of('room.active_speaker').map(({ legId }) => legId)
  talk(1)
  talk(3, loud)
  assert.equal(speakers(), [A])
  talk(2)
  assert.equal(speakers(), [A], 'who has fallen silent stays it')
  talk(3, null, other)
  assert.equal(speakers(), [A, B])
  talk(3, null, other, loud)
  assert.equal(speakers(), [A, B, C], 'the louder one takes over')
  talk(3, other, null, loud)
  assert.equal(speakers(), [A, B, C], 'a softer one does not')
  talk(2)
  engine.engine.do('leg.close', { legId: C })
  talk(1)
  assert.equal(speakers(), [A, B, C, null])
})

test('a leg goes by what was said of itself, else by its room; where nothing is wanted it has nothing', async () => {
  await engine.join(A, { roomId: 'call_x' })
  const caller = await engine.join(B, { roomId: 'call_y', sound: { speechEvents: true, autoGain: true } })
  assert.is(voiceOf(A), null)
  assert.ok(voiceOf(B))
  update(B, { speechEvents: false })
  assert.is(voiceOf(B), null)
  update(B, { speechEvents: null })
  assert.ok(voiceOf(B))
  const spec = { roomId: 'call_z', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 9 }
  engine.engine.do('leg.move', { legId: B, room: spec, mustExist: false, muted: false })
  assert.is(voiceOf(B), null, 'the room was left')
  update(B, { speechEvents: true })
  engine.say(caller, speech(2, -22))
  assert.is(voiceOf(B)?.isSpeaking, true)
  engine.engine.do('leg.move', { legId: B, room: { ...spec, roomId: 'call_w' }, mustExist: false, muted: false })
  assert.is(voiceOf(B)?.isSpeaking, true, 'its own goes with it')
  update(B, { speechEvents: false })
  assert.equal(
    engine.of('leg.speaking').map(({ isSpeaking }) => isSpeaking),
    [true, false],
  )
})

test('what a room has is what the first one brought who brought any, for all who are in it', async () => {
  await engine.join(A)
  await engine.join(B, { sound: { speechEvents: true } })
  assert.ok(voiceOf(A) && voiceOf(B))
  await engine.join(C, { sound: { speechEvents: false } })
  assert.ok(voiceOf(C))
})

test.run()
