import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Prompts } from '../../../media/engine/prompts.ts'
import type { PlaySource } from '../../../media/protocol.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { ScriptedEar } from '../../fakes/scripted-ear.ts'
import { suite } from '../../harness.ts'

const test = suite('media/speech/both-sides')
const CALLER = 'part_caller'
const CALL = 'call_both'
const SECOND = 50

/** Says every text in a second of tone. */
const tts = {
  speak: async () => ({ samples: new Int16Array(8000).fill(3000), engine: 'scripted' }),
  prepare: () => {},
}

let dataDir: string
let engine: TestEngine
let prompts: Prompts

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  prompts = new Prompts({ sampleRateHz: 8000, tts: tts as never })
  engine = new TestEngine(dataDir, { prompts, stt: new ScriptedEar() })
  const capture = { recordingId: null, transcript: { transcriptId: CALL, language: null } }
  await engine.join(CALLER, { roomId: CALL, capture })
})
test.afterEach(async () => {
  await engine.close()
  await prompts.close()
  rmSync(dataDir, { recursive: true })
})

const say = (text: string): PlaySource => ({ kind: 'speech', text, voice: null, language: null })
const play = (...sources: PlaySource[]) =>
  engine.engine.do('leg.play', { legId: CALLER, playId: 'p', sources, loop: false, hangupAfter: null })
const written = () => engine.of('transcript.segment').map(({ speaker, text }) => [speaker, text])

test('what the product says is in the transcript sentence by sentence, with the times at which it was heard', async () => {
  engine.run(SECOND)
  await engine.preload(say('We are open from nine.'), say('Delivery is free of charge.'))
  await play(say('We are open from nine. Delivery is free of charge.'))
  engine.run(SECOND + 5)
  await engine.until(() => engine.of('transcript.segment').length === 1)
  for (let i = 0; i < 3; i++) {
    engine.run(SECOND)
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.equal(written(), [
    ['product', 'We are open from nine.'],
    ['product', 'Delivery is free of charge.'],
  ])
  const [first, second] = engine.of('transcript.segment')
  assert.ok(Math.abs(first!.startMs - 1000) <= 40 && Math.abs(first!.endMs - 2000) <= 40, JSON.stringify(first))
  assert.ok(second!.startMs >= first!.endMs - 20)
})

test('of what was cut short stands what was heard, also when the party hangs up over it', async () => {
  const text = 'We are open from nine to five on every day of the week.'
  await engine.preload(say(text))
  await play(say(text))
  engine.run(SECOND / 2)
  engine.engine.do('leg.close', { legId: CALLER })
  const [[speaker, heard] = []] = written()
  assert.is(speaker, 'product')
  assert.ok(heard !== undefined && text.startsWith(heard) && heard.length > 10 && heard.length < 35, `${heard}`)
})

const ROOM = { kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 10 }
const leaves = {
  'hangs up': () => engine.engine.do('leg.close', { legId: 'part_other' }),
  'is moved': () => {
    const room = { ...ROOM, roomId: 'call_elsewhere' }
    return engine.engine.do('leg.move', { legId: 'part_other', room, mustExist: false, muted: false })
  },
}

for (const [how, leave] of Object.entries(leaves))
  test(`so it is of what is said to another party of the call alone, which ${how}`, async () => {
    const text = 'We are open from nine to five on every day of the week.'
    await engine.join('part_other', { roomId: CALL })
    await engine.preload(say(text), say('Hello.'))
    const playTo = (...sources: PlaySource[]) =>
      engine.engine.do('leg.play', { legId: 'part_other', playId: 'q', sources, loop: false, hangupAfter: null })
    await playTo(say('Hello.'))
    engine.run(SECOND + 5)
    await engine.until(() => written().length === 1)
    await playTo(say(text))
    engine.run(SECOND / 2)
    leave()
    engine.run(5)
    const [first, second] = engine.of('transcript.segment')
    assert.equal([first?.legId, first?.speaker, first?.text], ['part_other', 'product', 'Hello.'])
    assert.equal([second?.legId, second?.speaker], ['part_other', 'product'])
    const heard = second!.text
    assert.ok(text.startsWith(heard) && heard.length > 10 && heard.length < 35, heard)
  })

test('recorded prompts are lines of the transcript, in the words and the language in which they are heard', async () => {
  const goodbye: PlaySource = { kind: 'prompt', name: 'goodbye', language: 'de' }
  const welcome: PlaySource = { kind: 'prompt', name: 'welcome' }
  await engine.preload(welcome, goodbye)
  await play(welcome, goodbye, { kind: 'music' })
  await engine.until(() => {
    engine.run(5)
    return written().length === 2
  })
  assert.equal(written(), [
    ['product', 'Welcome to Tandem.'],
    ['product', 'Auf Wiederhören.'],
  ])
})

test('what is said to all of a room is one line of its transcript, and nothing of a card-payment pause', async () => {
  await engine.join('part_other', { roomId: CALL })
  const toAll = (text: string) => engine.engine.do('room.play', { roomId: CALL, sources: [say(text)], loop: false })
  const target = { roomId: CALL }
  await toAll('We end in five minutes.')
  engine.run(SECOND + 5)
  const line = ['product', 'We end in five minutes.']
  assert.equal(written(), [line])
  const [{ startMs, endMs } = { startMs: 0, endMs: 0 }] = engine.of('transcript.segment')
  assert.ok(endMs - startMs >= 960 && endMs - startMs <= 1040, `${startMs} to ${endMs} ms`)
  await toAll('The card has four digits.')
  engine.run(10)
  engine.engine.do('capture.pause', {
    target,
    maxSeconds: 60,
    reason: 'payment',
    maskDtmf: true,
    destinationLegId: null,
  })
  engine.run(10)
  engine.engine.do('capture.resume', { target })
  engine.run(SECOND)
  await toAll('Thank you all.')
  engine.run(SECOND + 5)
  assert.equal(written(), [line, ['product', 'Thank you all.']])
})

test('what is said in a card-payment pause is in no transcript, nor what it cut in two', async () => {
  const text = 'Please type the number of your card.'
  await engine.preload(say(text))
  await play(say(text), say(text))
  engine.run(10)
  engine.engine.do('capture.pause', {
    target: { roomId: CALL },
    maxSeconds: 60,
    reason: 'payment',
    maskDtmf: true,
    destinationLegId: null,
  })
  engine.run(SECOND + SECOND / 2)
  engine.engine.do('capture.resume', { target: { roomId: CALL } })
  engine.run(SECOND)
  assert.equal(written(), [])
})

test.run()
