import { clamp16, type Frame } from './audio.ts'

/** Length of a cross-fade: 5 ms at 8 kHz [samples]. */
const FADE = 40
/** Furthest from the delay that the step of the cross-fade may be [samples]. */
const REACH = 40
/** What is compared to find it [samples]. */
const WINDOW = 48

/**
 * For an encoder that is about to delay its stream, and takes over from one that did not: what it gets before the first frame, and in place of it, so
 * that nothing is missing where it begins. The stream steps back by about the delay where that is in phase, and does the rest by its speed.
 *
 * @param frame the first one, of 20 ms at 8 kHz @param delay [samples]
 */
export function lateStart(frame: Frame, delay: number): { ahead: Frame; begun: Frame } {
  const step = stepFor(frame, delay)
  const size = frame.length
  const heard = (n: number): number => {
    const slow = ((delay - step) * Math.min(n, size)) / size
    const share = Math.max(0, Math.min(1, (n - step) / FADE))
    return clamp16(Math.round((1 - share) * at(frame, n - slow) + share * at(frame, n - step - slow)))
  }
  return {
    ahead: frame.map((_, i) => heard(i - size + delay)),
    begun: frame.map((_, i) => heard(i + delay)),
  }
}

/** Where a frame resembles itself after about the delay: the less alike the worse, and the further from it. */
function stepFor(frame: Frame, delay: number): number {
  let best = delay
  let least = Number.POSITIVE_INFINITY
  const last = Math.min(delay + REACH, frame.length - WINDOW)
  for (let step = Math.max(0, delay - REACH); step <= last; step++) {
    const cost = 1 - likeness(frame, step) + Math.abs(delay - step) / (2 * REACH)
    if (cost >= least) continue
    best = step
    least = cost
  }
  return best
}

/** From -1 to 1. */
function likeness(frame: Frame, step: number): number {
  let [product, one, other] = [0, 0, 0]
  for (let i = 0; i < WINDOW; i++) {
    const [here, there] = [frame[i]!, frame[i + step]!]
    product += here * there
    one += here * here
    other += there * there
  }
  return product / Math.sqrt(one * other || 1)
}

/** A sample between those of a frame (Catmull and Rom's cubic); before it, its beginning mirrored in its first sample. */
function at(frame: Frame, place: number): number {
  const whole = Math.floor(place)
  const part = place - whole
  const [a, b, c, d] = [-1, 0, 1, 2].map(i => sampleOf(frame, whole + i)) as [number, number, number, number]
  return b + (part / 2) * (c - a + part * (2 * a - 5 * b + 4 * c - d + part * (3 * (b - c) + d - a)))
}

function sampleOf(frame: Frame, i: number): number {
  if (i < 0) return 2 * frame[0]! - frame[Math.min(-i, frame.length - 1)]!
  return frame[Math.min(i, frame.length - 1)]!
}
