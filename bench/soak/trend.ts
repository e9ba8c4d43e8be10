/** A regression line. */
export interface Trend {
  /** Per unit of x. */
  slope: number
  /** Standard error of the slope. */
  error: number
}

/** The line of least squares; null: there are fewer than three points, or all have the same x. */
export function trendOf(points: readonly { x: number; y: number }[]): Trend | null {
  const n = points.length
  if (n < 3) return null
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / n
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / n
  const spread = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
  if (spread === 0) return null
  const slope = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread
  const rest = points.reduce((sum, { x, y }) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  return { slope, error: Math.sqrt(rest / (n - 2) / spread) }
}

/** Whether a value grows: by more than two standard errors, and by more than `least` within `span`. */
export const grows = ({ slope, error }: Trend, span: number, least: number): boolean =>
  slope - 2 * error > 0 && slope * span > least

/** The median; NaN: there are no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
