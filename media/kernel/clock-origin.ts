/** When `performance.now` of this thread was zero, on the clock that all threads of a machine share [ms]. */
export function clockOriginMs(): number {
  // A delay between the two readings makes the difference smaller, never larger: half a millisecond at the first reading, or a turn of
  // another thread. So the largest of several is right.
  const readings = Array.from({ length: 5 }, () => Number(process.hrtime.bigint()) / 1e6 - performance.now())
  return Math.max(...readings)
}
