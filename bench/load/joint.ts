import { FRAME_SAMPLES } from './mark-reader.ts'

/** A change of playout speed is cross-faded in the first 10 ms of a frame (`codecs/time-scale.ts`) [samples]. */
const FADED = FRAME_SAMPLES / 2

/**
 * Whether an engine that changes its playout delay has left out or repeated a part of these two successive frames, and they are otherwise exactly
 * what somebody said: the second half of each frame occurs in `said`, and its first half either belongs to that, or is a cross-fade to it from what
 * would have followed. False for frames that are torn or somebody else's.
 *
 * @param heard signs of two frames, by `signOf` @param said signs of the last frames that were said
 */
export function isJoint(heard: Int8Array, said: Int8Array): boolean {
  const before = frameFrom(heard, 0, said, everyPlace(said))
  if (before.places.length === 0) return false
  const follows = before.places.map(place => place + FRAME_SAMPLES)
  const newest = frameFrom(heard, FRAME_SAMPLES, said, follows)
  return newest.places.length > 0 && (newest.isFaded || before.isFaded)
}

const everyPlace = (said: Int8Array): number[] => Array.from({ length: said.length - FRAME_SAMPLES }, (_, at) => at)

/** Where in `said` a frame occurs, and whether its first half is a cross-fade. @param follows places from which it may be faded */
function frameFrom(
  heard: Int8Array,
  at: number,
  said: Int8Array,
  follows: readonly number[],
): { places: number[]; isFaded: boolean } {
  const places = everyPlace(said).filter(place => isEqual(heard, at + FADED, said, place + FADED))
  const whole = places.filter(place => isEqual(heard, at, said, place))
  if (whole.length > 0) return { places: whole, isFaded: false }
  return { places: places.filter(place => follows.some(from => isFade(heard, at, said, from, place))), isFaded: true }
}

function isEqual(heard: Int8Array, at: number, said: Int8Array, place: number): boolean {
  for (let i = 0; i < FADED; i++) if (heard[at + i] !== said[place + i]) return false
  return true
}

/** Whether the first half may be a cross-fade: where both sources have the same sign, so has it, unless it is too quiet to have any. */
function isFade(heard: Int8Array, at: number, said: Int8Array, from: number, to: number): boolean {
  for (let i = 0; i < FADED; i++) {
    const sign = heard[at + i]
    if (sign !== 0 && sign !== said[from + i] && sign !== said[to + i]) return false
  }
  return true
}
