import * as assert from 'uvu/assert'
import { CutOff } from '../../codecs/detectors/cut-off.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/cut-off')

const EMPTY = new Int16Array(160)
const NOISE = Int16Array.from({ length: 160 }, (_, i) => i % 5)

/** Feeds frames: `v` with voice, `-` with noise, `0` empty, ` ` missing. @returns whether it was cut off then */
function isCutOff(frames: string, cutOff = new CutOff()): boolean {
  for (const frame of frames) {
    if (frame === ' ') cutOff.miss()
    else cutOff.hear(frame === '0' ? EMPTY : NOISE, frame === 'v')
  }
  return cutOff.isCutOff
}

const seconds = (frame: string, length: number): string => frame.repeat(length * 50)

test('who breaks off in a voice was cut off, and who sends some silence first fell silent', () => {
  assert.ok(isCutOff('vvv '))
  assert.ok(isCutOff('vvv-----  '))
  assert.not(isCutOff('vvv------  '))
})

test('who has sent silence for longer sends it always, so that what is missing was cut off', () => {
  assert.ok(isCutOff(`${seconds('-', 0.6)}vvv${seconds('-', 0.2)} `))
  assert.not(isCutOff(`${seconds('-', 0.5)}vvv${seconds('-', 0.2)} `))
  assert.not(isCutOff(`${seconds('0', 2)}vvv${seconds('-', 0.2)} `), 'before its first packet nothing is known')
})

test('a stall is no longer than 1.5 s, and who sends nothing for longer behind silence does so when he falls silent', () => {
  assert.ok(isCutOff(`vvv${seconds(' ', 1.5)}`))
  assert.not(isCutOff(`vvv${seconds(' ', 1.5)} `))
  const cutOff = new CutOff()
  isCutOff(`vvv${seconds('-', 0.2)}${seconds(' ', 2)}`, cutOff)
  assert.not(isCutOff(`${seconds('-', 2)} `, cutOff))
  assert.ok(isCutOff(`vvv `, cutOff))
})

test.run()
