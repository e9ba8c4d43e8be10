import { clamp16, type Frame } from './audio.ts'

/** How alike two stretches of samples are, from -1 to 1. */
export function likeness(one: Frame, from: number, other: Frame, otherFrom: number, length: number): number {
  let [product, energy, otherEnergy] = [0, 0, 0]
  for (let i = 0; i < length; i++) {
    const [a, b] = [one[from + i]!, other[otherFrom + i]!]
    product += a * b
    energy += a * a
    otherEnergy += b * b
  }
  return product / Math.sqrt(energy * otherEnergy || 1)
}

/** A sample between those of a frame (Catmull and Rom's cubic); before it, its beginning mirrored in its first sample. */
export function sampleAt(frame: Frame, place: number): number {
  const whole = Math.floor(place)
  const part = place - whole
  const [a, b, c, d] = [-1, 0, 1, 2].map(i => sampleOf(frame, whole + i)) as [number, number, number, number]
  return b + (part / 2) * (c - a + part * (2 * a - 5 * b + 4 * c - d + part * (3 * (b - c) + d - a)))
}

function sampleOf(frame: Frame, i: number): number {
  if (i < 0) return 2 * frame[0]! - frame[Math.min(-i, frame.length - 1)]!
  return frame[Math.min(i, frame.length - 1)]!
}

/** Length of a cross-fade: 5 ms at 8 kHz [samples]. */
const FADE = 40
/** By how much a frame may be behind what it follows, or ahead of it, to be met in phase [samples]. */
const BEHIND = 40
const AHEAD = 30
/** Samples in which what it follows is made slower or faster by one. */
const SPREAD = 3
/** A larger step is worth it only if the joint is more alike by this [1/samples]. */
const COST = 1 / 160

/**
 * Lets a frame go on from what would have come in its place, where the two may be out of step: that goes on at another speed until it is in phase with
 * the frame, and then fades into it.
 *
 * @param from where the frame begins to be heard @param before as long as the frame
 */
export function joinInPhase(frame: Frame, before: Frame, from: number): void {
  let [best, alike, least] = [0, 0, Number.POSITIVE_INFINITY]
  for (let step = -BEHIND; step <= AHEAD; step++) {
    const at = metAt(step, from)
    if (at + step < 0 || at + Math.max(step, 0) + FADE > frame.length) continue
    const like = likeness(frame, at, before, at + step, FADE)
    const cost = 1 - like + COST * Math.abs(step)
    if (cost < least) [best, alike, least] = [step, like, cost]
  }
  const at = metAt(best, from)
  // The same power where they are not alike.
  const unlike = 2 * (1 - Math.max(0, alike))
  for (let i = 0; i < at + FADE; i++) {
    const share = Math.max(0, (i - at + 0.5) / FADE)
    const past = sampleAt(before, i + best * (at === 0 ? 1 : Math.min(1, i / at)))
    const sum = past + share * (frame[i]! - past)
    frame[i] = clamp16(Math.round(sum / Math.sqrt(1 - unlike * share * (1 - share))))
  }
}

/** Where a frame is met that is so far behind. */
const metAt = (step: number, from: number): number => Math.max(from, SPREAD * Math.abs(step))
