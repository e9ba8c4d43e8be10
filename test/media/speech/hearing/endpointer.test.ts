import * as assert from 'uvu/assert'
import type { Voice } from '../../../../codecs/voice-activity.ts'
import { type Endpoint, Endpointer } from '../../../../media/speech/hearing/endpointer.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/hearing/endpointer')

const RULES = { afterMs: 100, endOfSpeechMs: 200, maxUtteranceMs: 1000 }

const VOICES: Record<string, Voice> = { v: 'voice', '?': 'perhaps', '-': 'none' }

/** Feeds frames: `v` with voice, `-` without, `?` uncertain, ` ` missing. @returns what changed at which frame */
function run(endpointer: Endpointer, frames: string): [number, Endpoint][] {
  const changes: [number, Endpoint][] = []
  ;[...frames].forEach((frame, i) => {
    const endpoint = frame === ' ' ? endpointer.leaveOut() : endpointer.frame(VOICES[frame]!)
    if (endpoint !== 'none') changes.push([i, endpoint])
    if (endpoint === 'ended' || endpoint === 'cut') endpointer.reset()
  })
  return changes
}

test('voice of `afterMs` declares speech, and silence of `endOfSpeechMs` ends it', () => {
  assert.equal(run(new Endpointer(RULES), `--vvvvvvvv${'-'.repeat(20)}`), [
    [6, 'started'],
    [19, 'ended'],
  ])
})

test('a click that is shorter than `afterMs` is nothing, and the next voice is counted anew', () => {
  assert.equal(run(new Endpointer(RULES), 'vvvv-vvvv-vvvv----'), [])
  assert.equal(run(new Endpointer(RULES), 'vvvv-vvvvv'), [[9, 'started']])
})

test('what broke off belongs to what is declared within 400 ms, so that a short first word is not lost', () => {
  const declaredAt = (frames: string): number => {
    const endpointer = new Endpointer(RULES)
    for (const frame of frames) endpointer.frame(VOICES[frame]!)
    assert.ok(endpointer.speaking)
    return endpointer.lengthMs
  }
  assert.is(declaredAt('--vv---vvvvv'), 200)
  assert.is(declaredAt(`vv${'-'.repeat(19)}vvvvv`), 520)
  assert.is(declaredAt(`vv${'-'.repeat(20)}vvvvv`), 100)
  assert.is(declaredAt(`${'vv--'.repeat(100)}vvvvv`), 1500)
})

test('what may be voice breaks nothing off and begins nothing', () => {
  assert.equal(run(new Endpointer(RULES), '????vv??vv?v'), [[11, 'started']])
  assert.equal(run(new Endpointer(RULES), 'vv??????vvvv'), [])
  assert.equal(run(new Endpointer(RULES), `vvvvv${'?'.repeat(10)}`), [
    [4, 'started'],
    [14, 'ended'],
  ])
})

test('a pause between two words that is shorter than `endOfSpeechMs` does not end it', () => {
  assert.equal(run(new Endpointer(RULES), `vvvvvv${'-'.repeat(9)}vv${'-'.repeat(10)}`), [
    [4, 'started'],
    [26, 'ended'],
  ])
})

test('what has not come is no silence, and counts as time', () => {
  assert.equal(run(new Endpointer(RULES), `vvvvv----${' '.repeat(20)}-----v${'-'.repeat(10)}`), [
    [4, 'started'],
    [44, 'ended'],
  ])
  assert.equal(run(new Endpointer(RULES), `vv${' '.repeat(30)}vvv`), [[34, 'started']])
  assert.equal(run(new Endpointer(RULES), `vvvvv${' '.repeat(60)}`), [
    [4, 'started'],
    [49, 'cut'],
  ])
  const endpointer = new Endpointer(RULES)
  for (const _ of 'vvvvv') endpointer.frame('voice')
  for (const _ of '     ') endpointer.leaveOut()
  assert.equal([endpointer.lengthMs, endpointer.silenceMs], [200, 100])
})

test('what is longer than `maxUtteranceMs` is cut, and what follows is declared again', () => {
  assert.equal(run(new Endpointer(RULES), 'v'.repeat(56)), [
    [4, 'started'],
    [49, 'cut'],
    [54, 'started'],
  ])
})

test('its lengths are those of what was said', () => {
  const endpointer = new Endpointer(RULES)
  for (const frame of `vvvvvvv${'-'.repeat(10)}`) endpointer.frame(VOICES[frame]!)
  assert.is(endpointer.lengthMs, 340)
  assert.is(endpointer.silenceMs, 200)
})

test.run()
