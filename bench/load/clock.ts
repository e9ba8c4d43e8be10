/** Where a thread's `performance.now` is zero, on the system's clock [ms]: each thread begins at its own. */
export const originMs = (): number => Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** A clock that shows what `performance.now` shows in the thread with this origin [ms]. */
export function clockFrom(origin: number): () => number {
  const ahead = originMs() - origin
  return () => performance.now() + ahead
}
