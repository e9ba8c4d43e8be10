const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Times of a delivery's attempts: each delay [ms] counts from the end of the previous attempt. */
const LIVE_DELAYS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
const TEST_DELAYS = [0, MINUTE, HOUR]

/** A delay is up to this share longer or shorter, so that deliveries that failed together are not repeated together. */
const JITTER = 0.2

/** Maximum delay that an endpoint can request: the longest of the schedule. */
const MAX_RETRY_AFTER_MS = DAY

/** Failures for this long without a success disable an endpoint. */
export const DISABLE_AFTER_MS = 5 * DAY

/**
 * Delay until the next attempt [ms], after `made` attempts of the schedule have failed; null: that was the last one. `random`: 0 to 1.
 * `retryAfterMs`: what the endpoint requested, which can only lengthen it.
 */
export function retryDelayMs(
  livemode: boolean,
  made: number,
  random: number,
  retryAfterMs: number | null,
): number | null {
  const delay = (livemode ? LIVE_DELAYS : TEST_DELAYS)[made]
  if (delay === undefined) return null
  const jittered = Math.round(delay * (1 - JITTER + 2 * JITTER * random))
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS))
}

/** `Retry-After` in seconds or as a date (RFC 9110 §10.2.3), as [ms] from `now`; null: none, or unreadable. */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null
  const text = header.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  const at = /^[A-Z][a-z]/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime())
}
