import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readWav, wavHeader } from '../../../codecs/wav.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import type { BargeIn, ListenSpec } from '../../../media/protocol.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { ScriptedEar } from '../../fakes/scripted-ear.ts'
import { suite } from '../../harness.ts'

const LEG = 'part_a'
/** Delay of an echo: a round trip and two jitter buffers [ticks]. */
const DELAY_TICKS = 8
/** Silence that ends an utterance, with some for the jitter buffer and the detector's own hangover [ticks]. */
const END_OF_SPEECH = 60

const spoken = (name: string): Int16Array => {
  const wav = readWav(readFileSync(new URL(`../../../fixtures/prompts/${name}.wav`, import.meta.url)))
  if ('error' in wav) throw new Error(wav.error)
  return wav.samples[0]!
}
/** "You are muted." */
const VOICE = spoken('muted')

const listen = (bargeIn: Partial<BargeIn> | null): ListenSpec => ({
  listenId: 'l1',
  language: 'en-US',
  endOfSpeechMs: 400,
  maxUtteranceMs: 10_000,
  bargeIn: bargeIn === null ? null : { afterMs: 100, resume: false, backChannels: [], ...bargeIn },
})

const prompts = new Prompts({ sampleRateHz: 8000 })
let dataDir: string
let ear: ScriptedEar
let engine: TestEngine
let caller: FarEnd
let promptFile: string

const test = suite('media/speech/barge-in')

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  promptFile = join(dataDir, 'ramp.wav')
  // No two frames of five seconds are the same, and no sample is silence.
  const samples = Int16Array.from({ length: 40_000 }, (_, i) => 1000 + ((i * 7919) % 20_011))
  const header = wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: samples.byteLength })
  writeFileSync(promptFile, Buffer.concat([header, new Uint8Array(samples.buffer)]))
  ear = new ScriptedEar()
  engine = new TestEngine(dataDir, { prompts, stt: ear })
  caller = await engine.join(LEG)
  engine.run(5)
})

test.after(() => prompts.close())

test.afterEach(async () => {
  ear.close()
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

const play = (append = false, playId = 'p1') =>
  engine.engine.do('leg.play', {
    legId: LEG,
    playId,
    sources: [{ kind: 'file', path: promptFile }],
    loop: false,
    hangupAfter: null,
    append,
  })

/** Samples in which what is stopped fades out, and in again: 5 ms. */
const FADE = 40
const isSilent = (payload: Uint8Array): boolean => payload.every(byte => byte === 0xff)
/** The frames in which something is heard after what was stopped before them has faded out. */
const audible = (): string[] =>
  caller.received.payloads
    .filter(payload => !isSilent(payload.subarray(FADE)))
    .map(payload => Buffer.from(payload).toString('hex'))

test('our audio fades out within 5 ms of the very frame in which voice was declared', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({}) })
  await play()
  let declaredAt = -1
  engine.say(caller, VOICE, 0, () => {
    if (declaredAt < 0 && engine.of('leg.speech_started').length === 1) declaredAt = caller.received.payloads.length
  })
  assert.ok(declaredAt > 0)
  assert.equal(engine.of('leg.speech_started'), [{ legId: LEG, listenId: 'l1', bargedIn: true }])
  const { payloads } = caller.received
  assert.not(isSilent(payloads[declaredAt - 2]!))
  const declared = payloads[declaredAt - 1]!
  assert.not(isSilent(declared.subarray(0, FADE / 2)))
  assert.ok(isSilent(declared.subarray(FADE)))
  assert.ok(payloads.slice(declaredAt).every(isSilent))
  assert.equal(engine.of('play.finished'), [
    { legId: LEG, playId: 'p1', ended: 'interrupted', heardMs: audible().length * 20 },
  ])
})

test('comfort noise is no voice, however loud: it interrupts nothing', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({}) })
  engine.say(caller, VOICE, END_OF_SPEECH)
  await ear.understand('Hello.')
  await engine.preload({ kind: 'prompt', name: 'announcement' })
  const sources = [{ kind: 'prompt' as const, name: 'announcement' }]
  await engine.engine.do('leg.play', { legId: LEG, playId: 'p1', sources, loop: true, hangupAfter: null })
  for (const level of [50, 40, 30, 20]) {
    engine.run(1, () => caller.speaker.rest(level, engine.now))
    engine.run(99)
    assert.is(engine.of('leg.speech_started').length, 1, `at -${level} dBov`)
  }
  assert.equal(engine.of('play.finished'), [])
})

test('voice of less than `afterMs` is no barge-in', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ afterMs: 2000 }) })
  await play()
  engine.say(caller, VOICE.subarray(0, 8000), 20)
  assert.equal(engine.of('leg.speech_started'), [])
  assert.not(isSilent(caller.received.payloads.at(-1)!))
})

test('the echo of what we play is no voice, and a voice above it is', async () => {
  await engine.preload({ kind: 'prompt', name: 'announcement' })
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({}) })
  const sources = [{ kind: 'prompt' as const, name: 'announcement' }]
  await engine.engine.do('leg.play', { legId: LEG, playId: 'p1', sources, loop: true, hangupAfter: null })
  const echo = (): Int16Array => {
    const from = caller.received.payloads.length - DELAY_TICKS
    return caller.received.heard(from, from + 1).map(sample => sample / 15)
  }
  engine.run(DELAY_TICKS)
  engine.run(400, () => caller.speaker.speak(echo(), engine.now))
  assert.equal(engine.of('leg.speech_started'), [])
  let at = 0
  engine.run(45, () => {
    const said = VOICE.subarray(at, at + 160)
    at += 160
    caller.speaker.speak(
      echo().map((sample, i) => sample + (said[i] ?? 0)),
      engine.now,
    )
  })
  assert.is(engine.of('leg.speech_started').length, 1)
})

test('a back-channel is a false alarm: the play goes on where it stopped, to the sample', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ resume: true, backChannels: ['mm-hm'] }) })
  await play()
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 1)
  assert.ok(isSilent(caller.received.payloads.at(-1)!))
  assert.equal(engine.of('play.finished'), [])
  await ear.understand('Mm-hm.')
  engine.run(300)
  const utterance = engine.of('leg.utterance')[0]?.utterance
  assert.ok(utterance?.resumed && utterance.bargedIn)
  assert.equal(engine.of('play.finished'), [{ legId: LEG, playId: 'p1', ended: 'played', heardMs: 5000 }])
  const interrupted = audible()
  caller.received.payloads.length = 0
  await play()
  engine.run(300)
  assert.is(interrupted.length, 250)
  const changed = audible().filter((frame, n) => frame !== interrupted[n])
  assert.is(changed.length, 1, 'the one that fades in')
  const tails = (frames: string[]): string[] => frames.map(frame => frame.slice(2 * FADE))
  assert.equal(tails(interrupted), tails(audible()), 'every frame was heard once, none was lost or cut')
})

test('no words is a false alarm too, and so is a transcription that failed', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ resume: true }) })
  for (const text of ['', ' … ', null]) {
    await play()
    engine.say(caller, VOICE, END_OF_SPEECH)
    await ear.understand(text)
    engine.run(2)
    assert.ok(engine.of('leg.utterance').at(-1)?.utterance.resumed)
    assert.not(isSilent(caller.received.payloads.at(-1)!))
    engine.engine.do('leg.stop_play', { legId: LEG })
  }
  assert.is(engine.engine.stats().counters.utterances_failed_total, 1)
})

test('voice that lasts for seconds without words is noise: what it silenced goes on, and is not silenced by it again', async () => {
  ear.guesses = true
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ resume: true }) })
  await play()
  // Somebody's radio, without a pause.
  const radio = Int16Array.from({ length: 8 * 7000 }, (_, i) => VOICE[400 + (i % (VOICE.length - 800))]!)
  engine.say(caller, new Int16Array(0), 50)
  for (let at = 0; ear.heard.length === 0 && at < 8000 * 5; at += 160) engine.say(caller, radio.subarray(at, at + 160))
  assert.is(ear.heard.length, 1)
  assert.ok(isSilent(caller.received.payloads.at(-1)!))
  await ear.understand('')
  await engine.until(() => engine.of('leg.utterance').length === 1)
  assert.ok(engine.of('leg.utterance')[0]!.utterance.resumed)
  engine.say(caller, radio)
  assert.is(engine.of('leg.speech_started').length, 1)
  assert.is(engine.of('play.finished')[0]?.ended, 'played')
  assert.is(engine.engine.stats().counters.utterances_noise_total, 1)
})

test('who speaks for long is heard to the end, as soon as there are words in it', async () => {
  ear.guesses = true
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ resume: true }) })
  const long = Int16Array.from({ length: 6 * VOICE.length }, (_, i) => VOICE[i % (VOICE.length - 1600)]!)
  for (let at = 0, asked = 0; at < long.length; at += 160) {
    engine.say(caller, long.subarray(at, at + 160))
    if (ear.heard.length > asked++) await ear.understand('You are muted.')
    asked = ear.heard.length
  }
  engine.say(caller, new Int16Array(0), END_OF_SPEECH)
  assert.ok(ear.heard.at(-1)!.length > 5 * VOICE.length - 5 * 1600)
  assert.is(engine.of('leg.speech_started').length, 1)
})

test('words end what was silenced, and what waited behind it', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ resume: true, backChannels: ['yes'] }) })
  await play()
  await play(true, 'p2')
  engine.say(caller, VOICE, END_OF_SPEECH)
  await ear.understand('Yes, but I have a question.')
  engine.run(5)
  const heardMs = audible().length * 20
  assert.ok(heardMs > 0 && heardMs < 2000)
  assert.equal(engine.of('play.finished'), [
    { legId: LEG, playId: 'p1', ended: 'interrupted', heardMs },
    { legId: LEG, playId: 'p2', ended: 'interrupted', heardMs: 0 },
  ])
  const utterance = engine.of('leg.utterance')[0]?.utterance
  assert.is(utterance?.resumed, false)
  assert.is(utterance?.text, 'Yes, but I have a question.')
  assert.ok(
    engine.events.findIndex(e => e.name === 'play.finished') < engine.events.findIndex(e => e.name === 'leg.utterance'),
  )
})

test('who speaks again before the first words were understood decides by the second', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ resume: true }) })
  await play()
  engine.say(caller, VOICE, END_OF_SPEECH)
  engine.say(caller, VOICE, 5)
  await ear.understand('')
  engine.run(2)
  assert.not(engine.of('leg.utterance')[0]!.utterance.resumed, 'somebody speaks')
  assert.ok(isSilent(caller.received.payloads.at(-1)!))
  engine.run(END_OF_SPEECH, () => caller.speaker.speak(new Int16Array(160), engine.now))
  await ear.understand('')
  assert.ok(engine.of('leg.utterance')[1]!.utterance.resumed)
  engine.run(2)
  assert.not(isSilent(caller.received.payloads.at(-1)!))
})

test('without barge-in it plays on, and is still listened to', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen(null) })
  await play()
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.not(isSilent(caller.received.payloads.at(-1)!))
  assert.equal(engine.of('leg.speech_started'), [{ legId: LEG, listenId: 'l1', bargedIn: false }])
  await ear.understand('Hello.')
  assert.is(engine.of('leg.utterance')[0]?.utterance.text, 'Hello.')
})

test('what was silenced goes on when nobody listens any more', async () => {
  engine.engine.do('leg.listen', { legId: LEG, listen: listen({ resume: true }) })
  await play()
  engine.say(caller, VOICE, 5)
  assert.ok(isSilent(caller.received.payloads.at(-1)!))
  engine.engine.do('leg.stop_listen', { legId: LEG })
  engine.run(3)
  assert.not(isSilent(caller.received.payloads.at(-1)!))
  assert.equal(ear.heard, [])
})

test.run()
