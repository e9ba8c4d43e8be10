import * as assert from 'uvu/assert'
import { type Clip, Player } from '../../../media/engine/player.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/player')

const FRAME = 160

/** Samples `first`, `first + 1` and so on, each of which identifies its position. */
const ramp = (first: number, length: number): Clip => ({
  samples: Int16Array.from({ length }, (_, i) => first + i),
  length,
})
const silence = (length: number): Clip => ({ samples: new Int16Array(0), length })
const play = (clips: Clip[], loop = false): Player => new Player(clips, { loop, frameSamples: FRAME })

function heard(player: Player, frames: number): number[] {
  const out: number[] = []
  for (let i = 0; i < frames; i++) out.push(...(player.pull() ?? []))
  return out
}
const all = (clip: Clip): number[] => [...clip.samples, ...new Array(clip.length - clip.samples.length).fill(0)]

test('a clip is played sample by sample, the last frame is filled up with silence, then null', () => {
  const clip = ramp(1, 410)
  const player = play([clip])
  assert.equal(heard(player, 3), [...all(clip), ...new Array(70).fill(0)])
  assert.ok(player.ended)
  assert.is(player.pull(), null)
  assert.is(player.pull(), null)
})

test('a clip of whole frames ends without a frame of silence', () => {
  const player = play([ramp(1, 320)])
  heard(player, 2)
  assert.is(player.pull(), null)
})

test('between two clips there is no gap, even in the middle of a frame', () => {
  const clips = [ramp(1, 165), ramp(1000, 7), ramp(2000, 300)]
  assert.equal(heard(play(clips), 3).slice(0, 472), clips.flatMap(all))
})

test('a silence that was asked for is exactly as long as asked', () => {
  const clips = [ramp(1, 100), silence(333), ramp(1000, 47)]
  assert.equal(heard(play(clips), 3), clips.flatMap(all))
})

test('a loop goes round without a gap', () => {
  const clips = [ramp(1, 100), ramp(1000, 31)]
  const round = clips.flatMap(all)
  const expected = Array.from({ length: 50 * FRAME }, (_, i) => round[i % round.length])
  assert.equal(heard(play(clips, true), 50), expected)
})

test('a clip shorter than a frame loops within the frame', () => {
  assert.equal(heard(play([ramp(7, 1)], true), 1), new Array(FRAME).fill(7))
})

test('music that is not pulled for a while goes on where it stood', () => {
  const music = ramp(0, 5 * FRAME)
  const player = play([music], true)
  const first = heard(player, 3)
  assert.equal([...first, ...heard(player, 2)], all(music))
})

test('a loop over nothing ends at once, and empty clips are passed over', () => {
  assert.is(play([], true).pull(), null)
  assert.is(play([silence(0), silence(0)], true).pull(), null)
  const player = play([silence(0), ramp(1, 160), silence(0)])
  assert.equal(heard(player, 1), all(ramp(1, 160)))
  assert.is(player.pull(), null)
})

test('stop ends it at once', () => {
  const player = play([ramp(1, 1000)], true)
  player.pull()
  player.stop()
  player.stop()
  assert.ok(player.ended)
  assert.is(player.pull(), null)
})

test('the frame is borrowed: always the same one', () => {
  const player = play([ramp(1, 1000)])
  assert.is(player.pull(), player.pull())
})

test('two who play the same clip do not disturb each other', () => {
  const music = ramp(0, 1000)
  const [one, two] = [play([music]), play([music])]
  heard(one, 2)
  assert.equal(heard(two, 1), all(music).slice(0, FRAME))
  assert.equal(heard(one, 1), all(music).slice(2 * FRAME, 3 * FRAME))
})

test.run()
