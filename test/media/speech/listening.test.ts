import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readWav } from '../../../codecs/wav.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import type { ListenSpec, Request } from '../../../media/protocol.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { ScriptedEar } from '../../fakes/scripted-ear.ts'
import { STALLS } from '../../fakes/stalls.ts'
import { suite } from '../../harness.ts'
import { seeded } from '../engine/party.ts'

const CALLER = 'part_a'
const AGENT = 'part_bb'
const ROOM = { roomId: 'call_room' }
/** Silence that ends an utterance, with some for the jitter buffer and the detector's own hangover [ticks]. */
const END_OF_SPEECH = 60

const wav = readWav(readFileSync(new URL('../../../fixtures/prompts/muted.wav', import.meta.url)))
if ('error' in wav) throw new Error(wav.error)
/** "You are muted." */
const VOICE = wav.samples[0]!

const LISTEN: ListenSpec = {
  listenId: 'l1',
  language: null,
  endOfSpeechMs: 400,
  maxUtteranceMs: 10_000,
  bargeIn: null,
}
const PAUSE = { target: ROOM, maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: null }

const prompts = new Prompts({ sampleRateHz: 8000 })
let dataDir: string
let ear: ScriptedEar
let engine: TestEngine
let caller: FarEnd

const test = suite('media/speech/listening')

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  ear = new ScriptedEar()
  engine = new TestEngine(dataDir, { prompts, stt: ear })
  caller = await engine.join(CALLER)
  engine.run(5)
})

test.after(() => prompts.close())

test.afterEach(async () => {
  ear.close()
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

const collect = (changes: Partial<Request<'leg.collect'>> = {}) =>
  engine.engine.do('leg.collect', {
    legId: CALLER,
    collectId: 'c1',
    prompts: [],
    maxDigits: 4,
    terminators: '#',
    firstDigitTimeoutMs: 3000,
    interDigitTimeoutMs: 1000,
    sensitive: false,
    speech: LISTEN,
    ...changes,
  })

function pressKey(code: number): void {
  caller.speaker.press(code, 'start', 160, engine.now)
  engine.run(1)
  caller.speaker.press(code, 'end', 320, engine.now)
  engine.run(1)
}

test('what a leg says is understood for its organisation, in its call', () => {
  collect()
  engine.say(caller, VOICE, 30)
  assert.equal(ear.owners[0], { legId: CALLER, callId: 'call_room', affinity: 'org_test:live' })
})

test('what a party says is an utterance, with the times of its first and last voice', async () => {
  assert.equal(engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN }), {})
  assert.is(ear.prepared, 1)
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 1)
  const seconds = ear.heard[0]!.length / 8000
  assert.ok(Math.abs(seconds - VOICE.length / 8000) < 0.5, `${seconds} s`)
  await ear.understand(' You are muted. ')
  const { listenId, utterance } = engine.of('leg.utterance')[0]!
  assert.is(listenId, 'l1')
  assert.is(utterance.text, 'You are muted.')
  assert.is(utterance.endpointMs, 400)
  assert.is(utterance.engine, 'scripted')
  const length = Date.parse(utterance.endedAt) - Date.parse(utterance.startedAt)
  assert.ok(length > 500 && length < 1200, `${length} ms`)
  engine.engine.do('leg.stop_listen', { legId: CALLER })
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 1)
  assert.is(engine.of('leg.speech_started').length, 1)
})

test('comfort noise is no voice, however loud: it begins no utterance and holds none open, and the voice behind it is heard', async () => {
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  for (const [before, level] of [50, 40, 30].entries()) {
    engine.say(caller, VOICE)
    engine.run(1, () => caller.speaker.rest(level, engine.now))
    engine.run(END_OF_SPEECH - 1)
    assert.is(ear.heard.length, before + 1, `at -${level} dBov`)
    engine.run(100, tick => {
      if (tick % 20 === 0) caller.speaker.rest(level - 10 * (tick % 40 === 0 ? 1 : 0), engine.now)
    })
    assert.is(engine.of('leg.speech_started').length, before + 1, `at -${level} dBov`)
  }
})

const random = seeded(5)
/** What a microphone hears in a quiet room. */
const QUIET = Int16Array.from({ length: 8000 }, () => ((random() >>> 16) % 25) - 12)

test('a turn is not over while nothing comes from who was cut off in a word, or from who sends silence, too: the rest belongs to it', async () => {
  const halves = { 'in a word': VOICE.length >> 1, 'in a short pause': VOICE.length + 1600 }
  const twice = Int16Array.from([...VOICE, ...QUIET.subarray(0, 1920), ...VOICE])
  for (const [where, half] of Object.entries(halves)) {
    for (const [name, stall] of Object.entries(STALLS)) {
      engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
      engine.say(caller, QUIET)
      engine.say(caller, twice.subarray(0, half))
      const begun = ear.heard.length
      stall(engine, caller, 50)
      engine.say(caller, twice.subarray(half))
      assert.is(ear.heard.length, begun, `${where}: ${name}`)
      engine.say(caller, QUIET)
      assert.is(ear.heard.length, begun + 1, `${where}: ${name}`)
      assert.ok(ear.heard.at(-1)!.length > twice.length + 4000, `${where}: ${name}`)
      await ear.understand('You are muted.')
    }
  }
  assert.is(engine.of('leg.speech_started').length, ear.heard.length)
})

/** After how many ticks in which nothing comes the turn is over. */
function ticksToEnd(): number {
  const begun = ear.heard.length
  for (let tick = 1; tick < 200; tick++) {
    engine.run(1)
    if (ear.heard.length > begun) return tick
  }
  return Number.POSITIVE_INFINITY
}

test('a phone that sends nothing in silence, and does not say so, is at its end as soon as any other', () => {
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  for (let turn = 0; turn < 4; turn++) {
    engine.say(caller, VOICE)
    // What such a phone takes for silence must have lasted for a while.
    engine.say(caller, QUIET.subarray(0, 1600))
    const ticks = ticksToEnd()
    assert.ok(ticks <= 20, `${ticks} ticks`)
    // It has not sent this, and nothing was lost.
    engine.run(150)
  }
})

test('a turn in which nothing comes for longer than a network stands still is over', () => {
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.say(caller, VOICE.subarray(0, VOICE.length >> 1))
  const ticks = ticksToEnd()
  assert.ok(ticks > 75 && ticks < 110, `${ticks} ticks`)
})

/** VOICE twice, with a pause in between that is too short for the end of it [samples of silence: 300 ms]. */
const TWICE = Int16Array.from([...VOICE, ...new Int16Array(2400), ...VOICE])

test('an engine that guesses is asked in the silence already, and not again when that was the end', async () => {
  ear.guesses = true
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.say(caller, VOICE, 0)
  for (let ticks = 0; ear.heard.length === 0 && ticks < END_OF_SPEECH; ticks++) engine.say(caller, new Int16Array(160))
  assert.equal(engine.of('leg.utterance'), [])
  await ear.understand('You are muted.')
  assert.equal(engine.of('leg.utterance'), [])
  for (let ticks = 0; engine.of('leg.utterance').length === 0 && ticks < END_OF_SPEECH; ticks++) {
    engine.say(caller, new Int16Array(160))
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.is(engine.of('leg.utterance')[0]?.utterance.text, 'You are muted.')
  assert.ok(engine.of('leg.utterance')[0]!.utterance.transcribeMs <= 20)
  assert.is(ear.heard.length, 1)
})

test('who goes on after a pause is heard to the end: what was guessed is forgotten', async () => {
  ear.guesses = true
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.say(caller, TWICE, 60)
  assert.is(ear.heard.length, 2)
  assert.ok(ear.heard[1]!.length > 1.8 * ear.heard[0]!.length)
  await ear.understand('You are muted.')
  await ear.understand('You are muted. You are muted.')
  await engine.until(() => engine.of('leg.utterance').length === 1)
  assert.is(engine.of('leg.utterance')[0]?.utterance.text, 'You are muted. You are muted.')
})

test('an engine that is too busy to guess is asked at the end', async () => {
  ear.guesses = true
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 1)
  await ear.understand(null)
  await engine.until(() => ear.heard.length === 2)
  assert.equal(ear.heard[1], ear.heard[0])
  await ear.understand('You are muted.')
  await engine.until(() => engine.of('leg.utterance').length === 1)
  assert.is(engine.engine.stats().counters.utterances_failed_total, 0)
})

test('an engine that follows gets the audio while it is said, and no more than what was said', async () => {
  ear.follows = true
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.say(caller, VOICE, 0)
  const whileSaid = ear.followed.length
  assert.ok(whileSaid > 3, ear.followed.join(' '))
  engine.say(caller, new Int16Array(0), END_OF_SPEECH)
  assert.is(ear.followed.at(-1), 'end')
  const given = ear.followed.slice(0, -1).reduce((sum, part) => sum + Number(part), 0)
  assert.is(given, ear.heard[0]!.length)
})

test('a card-payment pause in the middle of an utterance has the engine forget what it was given of it', async () => {
  ear.follows = true
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.say(caller, VOICE, 0)
  engine.engine.do('capture.pause', PAUSE)
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.followed.at(-1), 'drop')
  assert.equal(ear.heard, [])
})

test('a language that no engine understands is a failure of the kind invalid', async () => {
  const listen = { ...LISTEN, language: 'he' }
  for (const answer of [
    engine.engine.do('leg.listen', { legId: CALLER, listen }),
    await collect({ speech: listen }),
    engine.engine.do('transcript.start', { transcriptId: 'call_t', target: ROOM, language: 'he' }),
  ]) {
    assert.is((answer as { failure: string }).failure, 'invalid')
  }
})

test('who is muted or on hold is not listened to', async () => {
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.engine.do('leg.update', { legId: CALLER, muted: true })
  engine.say(caller, VOICE, END_OF_SPEECH)
  engine.engine.do('leg.update', { legId: CALLER, muted: false })
  await engine.engine.do('leg.hold', { legId: CALLER, held: true, sources: [] })
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.equal(engine.of('leg.speech_started'), [])
})

test('a party that speaks faster than it is understood loses words, counted, and each speech has its end', async () => {
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  for (let i = 0; i < 6; i++) engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 4)
  for (let i = 0; i < 4; i++) await ear.understand(`word ${i}`)
  assert.equal(
    engine.of('leg.utterance').map(({ utterance }) => utterance.text),
    ['word 0', 'word 1', 'word 2', 'word 3', '', ''],
  )
  assert.is(engine.engine.stats().counters.utterances_dropped_total, 2)
})

test('in a card-payment pause nothing is listened to, and what is being said when it begins is dropped', async () => {
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.engine.do('transcript.start', { transcriptId: 'call_t', target: ROOM, language: null })
  engine.say(caller, VOICE.subarray(0, 6000))
  assert.is(engine.of('leg.speech_started').length, 1)
  engine.engine.do('capture.pause', PAUSE)
  await engine.until(() => engine.of('leg.utterance').length === 1)
  assert.is(engine.of('leg.utterance')[0]?.utterance.text, '')
  engine.say(caller, VOICE, END_OF_SPEECH)
  engine.say(caller, VOICE, 0)
  engine.engine.do('capture.resume', { target: ROOM })
  engine.run(30, () => caller.speaker.speak(new Int16Array(160), engine.now))
  assert.equal(ear.heard, [])
  assert.is(engine.of('leg.speech_started').length, 1)
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 1)
  assert.ok(ear.heard[0]!.length <= VOICE.length + 4000, 'nothing of before is in it')
})

test('words end a collection, and a key still does', async () => {
  await collect()
  engine.say(caller, VOICE, END_OF_SPEECH)
  await ear.understand('Billing.')
  const [first] = engine.of('leg.collected')
  assert.is(first?.ended, 'speech')
  assert.is(first?.digits, '')
  assert.is(first?.utterance?.text, 'Billing.')
  assert.equal(engine.of('leg.utterance'), [])
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 1, 'it listens no longer')
  await collect({ collectId: 'c2', maxDigits: 1 })
  pressKey(3)
  assert.equal(engine.of('leg.collected')[1], {
    legId: CALLER,
    collectId: 'c2',
    digits: '3',
    ended: 'length',
    utterance: null,
  })
})

test('no time-out cuts in while somebody answers; no words begin it again', async () => {
  await collect({ firstDigitTimeoutMs: 500 })
  engine.say(caller, VOICE, END_OF_SPEECH)
  engine.run(100)
  assert.equal(engine.of('leg.collected'), [])
  await ear.understand('')
  engine.run(24)
  assert.equal(engine.of('leg.collected'), [])
  engine.run(3)
  assert.is(engine.of('leg.collected')[0]?.ended, 'timeout')
})

test('the prompts of a collection fall silent at a word, and with `playThrough` do not at a key', async () => {
  await engine.preload({ kind: 'music' })
  const prompts = [{ kind: 'music' as const }]
  await collect({ prompts, speech: { ...LISTEN, bargeIn: { afterMs: 100, resume: false, backChannels: [] } } })
  engine.run(20)
  const isSilent = (): boolean => caller.received.payloads.at(-1)!.every(byte => byte === 0xff)
  assert.not(isSilent())
  engine.say(caller, VOICE, 5)
  assert.ok(isSilent())
  await collect({ prompts, speech: null, playThrough: true })
  engine.run(20)
  pressKey(1)
  engine.run(5)
  assert.not(isSilent())
})

test('a question that is answered by keys alone hears no words, though the one before it, which was not over, did', async () => {
  collect()
  engine.say(caller, VOICE.subarray(0, 4000))
  collect({ collectId: 'c2', speech: null })
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 0)
  pressKey(7)
  engine.run(60)
  assert.equal(
    engine.of('leg.collected').map(({ collectId, digits }) => [collectId, digits]),
    [['c2', '7']],
  )
})

test('a transcript of a room tells who said what and when, its last words before its end', async () => {
  const agent = await engine.join(AGENT)
  const startedAt = engine.now
  engine.engine.do('transcript.start', { transcriptId: 'call_t', target: ROOM, language: 'en' })
  engine.run(50)
  engine.say(caller, VOICE, END_OF_SPEECH)
  await ear.understand('First.')
  const secondAt = engine.now - startedAt
  engine.say(agent, VOICE, 2)
  engine.engine.do('transcript.stop', { transcriptId: 'call_t' })
  await ear.understand('Second.')
  await engine.until(() => engine.of('transcript.ready').length === 1)
  const segments = engine.of('transcript.segment')
  assert.equal(
    segments.map(({ legId, text }) => ({ legId, text })),
    [
      { legId: CALLER, text: 'First.' },
      { legId: AGENT, text: 'Second.' },
    ],
  )
  for (const [i, from] of [1000, secondAt].entries()) {
    const { startMs, endMs } = segments[i]!
    assert.ok(Math.abs(startMs - from) < 250 && endMs > startMs + 500 && endMs < startMs + 1200, `${startMs} ${endMs}`)
  }
  assert.equal(engine.of('transcript.ready'), [{ transcriptId: 'call_t', durationMs: engine.now - startedAt }])
  assert.is(engine.events.at(-1)?.name, 'transcript.ready')
})

test('a transcript begins where the recording did, and ends with its leg', async () => {
  engine.engine.do('recording.start', { recordingId: 'call_t', target: { legId: CALLER } })
  engine.run(100)
  engine.engine.do('transcript.start', { transcriptId: 'call_t', target: { legId: CALLER }, language: null })
  engine.say(caller, VOICE)
  engine.engine.do('leg.close', { legId: CALLER })
  await ear.understand('Goodbye.')
  await engine.until(() => engine.of('transcript.ready').length === 1)
  const [segment] = engine.of('transcript.segment')
  assert.is(segment?.text, 'Goodbye.')
  assert.ok(segment!.startMs > 1950 && segment!.startMs < 2300, `${segment!.startMs}`)
})

test('what is both listened to and written down is understood once', async () => {
  engine.engine.do('leg.listen', { legId: CALLER, listen: LISTEN })
  engine.engine.do('transcript.start', { transcriptId: 'call_t', target: ROOM, language: null })
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.is(ear.heard.length, 1)
  await ear.understand('Once.')
  assert.is(engine.of('leg.utterance').length, 1)
  assert.is(engine.of('transcript.segment').length, 1)
})

test('a live transcript tells that somebody begins, what was said so far, and what was said in the end, of the same utterance', async () => {
  ear.guesses = true
  const live = { transcriptId: 'cops_t', target: ROOM, language: null, live: true }
  engine.engine.do('transcript.start', live)
  engine.say(caller, VOICE, 15)
  assert.equal(
    engine.of('transcript.words').map(({ text, isFinal }) => [text, isFinal]),
    [['', false]],
  )
  assert.equal(ear.manners, ['skim', 'glance'])
  await ear.understand('You are mute')
  await ear.understand('You are muted')
  engine.run(END_OF_SPEECH)
  await engine.until(() => engine.of('transcript.words').length === 4)
  const words = engine.of('transcript.words')
  assert.equal(
    words.map(({ text, isFinal }) => [text, isFinal]),
    [
      ['', false],
      ['You are', false],
      ['You are muted', false],
      ['You are muted', true],
    ],
  )
  assert.is(new Set(words.map(({ utteranceId }) => utteranceId)).size, 1)
  assert.is(words[0]?.legId, CALLER)
  const last = words.at(-1)
  assert.ok(last!.endedAgoMs >= 700 && last!.beganAgoMs > last!.endedAgoMs + 500, JSON.stringify(last))
  assert.equal(engine.of('transcript.segment'), [])
})

test('what a card-payment pause cuts is taken back in a live transcript, and nothing of the pause is told', async () => {
  engine.engine.do('transcript.start', { transcriptId: 'cops_t', target: ROOM, language: null, live: true })
  engine.say(caller, VOICE)
  engine.engine.do('capture.pause', PAUSE)
  engine.say(caller, VOICE, END_OF_SPEECH)
  assert.equal(
    engine.of('transcript.words').map(({ text, isFinal }) => [text, isFinal]),
    [
      ['', false],
      [null, true],
    ],
  )
  assert.is(ear.heard.length, 0)
})

test('what is said to a secret collection is in no transcript', async () => {
  engine.engine.do('transcript.start', { transcriptId: 'call_t', target: ROOM, language: null })
  await collect({ sensitive: true })
  engine.say(caller, VOICE, END_OF_SPEECH)
  await ear.understand('One two three four.')
  assert.is(engine.of('leg.collected')[0]?.utterance?.text, 'One two three four.')
  assert.equal(engine.of('transcript.segment'), [])
})

test.run()
