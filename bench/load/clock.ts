import { clockOriginMs } from '../../media/kernel/clock-origin.ts'

/** A clock that shows what `performance.now` shows in the thread with this `clockOriginMs`. */
export function clockFrom(originMs: number): () => number {
  const ahead = clockOriginMs() - originMs
  return () => performance.now() + ahead
}
