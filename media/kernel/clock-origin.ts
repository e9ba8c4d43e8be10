/** Where `performance.now` of this thread is zero, on the clock that all threads of a machine share [ms]. */
export function clockOriginMs(): number {
  // What comes between the two clocks makes the difference smaller, never larger: half a millisecond when a thread reads them first, or a turn of
  // another thread.
  const readings = Array.from({ length: 5 }, () => Number(process.hrtime.bigint()) / 1e6 - performance.now())
  return Math.max(...readings)
}
