/** R of a call without delay and loss, all other parameters at their defaults (ITU-T G.107 §7.7). */
const BEST_RATING = 93.2
/** G.711 with packet loss concealment (ITU-T G.113 Table I.3): equipment impairment and robustness against loss. */
const EQUIPMENT_IMPAIRMENT = 0
const LOSS_ROBUSTNESS = 25.1

/**
 * Transmission rating of the E-model (ITU-T G.107 §7), with every impairment but delay and loss at its default.
 *
 * @param delayMs mouth to ear, one way [ms]
 * @param lossPercent 0..100
 * @param burstRatio 1 for random loss
 * @returns R, at most 93.2; may be negative
 */
export function ratingOf(delayMs: number, lossPercent: number, burstRatio = 1): number {
  return BEST_RATING - delayImpairment(delayMs) - lossImpairment(lossPercent, burstRatio)
}

/** Mean opinion score, 1..4.5, rounded to two decimals (ITU-T G.107 Annex B); the arguments are those of `ratingOf`. */
export function mosOf(delayMs: number, lossPercent: number, burstRatio = 1): number {
  const rating = Math.min(100, Math.max(0, ratingOf(delayMs, lossPercent, burstRatio)))
  const mos = 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6
  return Math.round(Math.min(4.5, Math.max(1, mos)) * 100) / 100
}

/** Idd of ITU-T G.107 §7.4: nothing up to 100 ms. */
function delayImpairment(delayMs: number): number {
  if (!(delayMs > 100)) return 0
  const x = Math.log2(delayMs / 100)
  return 25 * ((1 + x ** 6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
}

/** Ie,eff of ITU-T G.107 §7.5. */
function lossImpairment(lossPercent: number, burstRatio: number): number {
  const loss = Math.min(100, Math.max(0, lossPercent))
  return EQUIPMENT_IMPAIRMENT + ((95 - EQUIPMENT_IMPAIRMENT) * loss) / (loss / burstRatio + LOSS_ROBUSTNESS)
}
