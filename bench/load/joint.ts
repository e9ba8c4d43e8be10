import { FRAME_SAMPLES } from './mark-reader.ts'

/** A change of playout speed is cross-faded in the first 10 ms of a frame (`codecs/time-scale.ts`) [samples]. */
const FADED = FRAME_SAMPLES / 2

/**
 * Whether of two frames one after the other a part was left out or said twice by an engine that changes its delay, and all the rest is exactly what
 * somebody said: the second half of each stands somewhere in it, and the first half either goes with that, or is a cross-fade to there, from what
 * would have followed. What is torn, or another's, is not.
 *
 * @param heard signs of two frames, as `signOf` gives them @param said the same of what was said, some frames of it
 */
export function isJoint(heard: Int8Array, said: Int8Array): boolean {
  const before = frameFrom(heard, 0, said, everyPlace(said))
  if (before.places.length === 0) return false
  const follows = before.places.map(place => place + FRAME_SAMPLES)
  const newest = frameFrom(heard, FRAME_SAMPLES, said, follows)
  return newest.places.length > 0 && (newest.isFaded || before.isFaded)
}

const everyPlace = (said: Int8Array): number[] => Array.from({ length: said.length - FRAME_SAMPLES }, (_, at) => at)

/** Where in `said` a frame stands, and whether only its second half does. @param follows from where it may be faded */
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

/** Where both have the same sign, that is it; where not, it is that of either, or in between. */
function isFade(heard: Int8Array, at: number, said: Int8Array, from: number, to: number): boolean {
  for (let i = 0; i < FADED; i++) {
    const sign = heard[at + i]
    if (sign !== 0 && sign !== said[from + i] && sign !== said[to + i]) return false
  }
  return true
}
