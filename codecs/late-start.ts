import { clamp16, type Frame } from './audio.ts'
import { likeness, sampleAt } from './phase.ts'

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
    return clamp16(Math.round((1 - share) * sampleAt(frame, n - slow) + share * sampleAt(frame, n - step - slow)))
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
    const cost = 1 - likeness(frame, 0, frame, step, WINDOW) + Math.abs(delay - step) / (2 * REACH)
    if (cost >= least) continue
    best = step
    least = cost
  }
  return best
}
