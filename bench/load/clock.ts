import { clockOriginMs } from '../../media/kernel/clock-origin.ts'

/** A clock that agrees with `performance.now` of another thread, whose `clockOriginMs` is given. */
export function clockFrom(originMs: number): () => number {
  const ahead = clockOriginMs() - originMs
  return () => performance.now() + ahead
}
