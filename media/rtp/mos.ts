/** Signal to noise, and what goes with the signal, of a call with all parameters at their defaults: R₀ and Is of ITU-T G.107 §7.2, §7.3. */
const SIGNAL_TO_NOISE = 94.7688
const SIMULTANEOUS = 1.4136
/** Echo at the talker's end, and at the listener's, by default: TELR and WEPL [dB] (ITU-T G.107 Table 2). */
const TALKER_ECHO_DB = 65
const LISTENER_ECHO_DB = 110
/** Roe: R₀ as far as the talker's own noise goes (§7.4): -1.5 (No - RLR). */
const TALKER_RATING = -1.5 * (-61.1787 - 2)
/**
 * G.711 with packet loss concealment by its Appendix I, like ours (ITU-T G.113 Table I.3): equipment impairment, and robustness
 * against random loss. Without concealment it would be 4.3.
 *
 * The other codecs are rated by the same values, on this scale of narrowband telephony, so that the figures of all legs compare. Linear
 * samples and G.722 are concealed by the same code. G.722 is better than narrowband (Ie,wb 13 of ITU-T G.113 Appendix IV is -22.8
 * here), which this scale cannot show: 0. The ITU-T has published no values for Opus; what its FEC has brought again does not count as
 * lost, and for the concealment of libopus those of G.711 stand.
 */
const EQUIPMENT_IMPAIRMENT = 0
const LOSS_ROBUSTNESS = 25.1

/**
 * Transmission rating of the E-model (ITU-T G.107 §7), with every impairment but delay and loss at its default.
 *
 * @param delayMs mouth to ear, one way [ms]
 * @param lossPercent packets that were not played: lost, or too late, 0..100
 * @param burstRatio 1 for random loss
 * @returns R, at most 93.2; may be negative
 */
export function ratingOf(delayMs: number, lossPercent: number, burstRatio = 1): number {
  const delay = Number.isFinite(delayMs) ? Math.min(MAX_DELAY_MS, Math.max(0, delayMs)) : 0
  const delayed = talkerEcho(delay) + listenerEcho(delay) + absoluteDelay(delay)
  return SIGNAL_TO_NOISE - SIMULTANEOUS - delayed - lossImpairment(lossPercent, burstRatio)
}

/** More makes no audible difference [ms]. */
const MAX_DELAY_MS = 10_000

/** Mean opinion score, 1..4.5, rounded to two decimals (ITU-T G.107 Annex B); the arguments are those of `ratingOf`. */
export function mosOf(delayMs: number, lossPercent: number, burstRatio = 1): number {
  const rating = Math.min(100, Math.max(0, ratingOf(delayMs, lossPercent, burstRatio)))
  const mos = 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6
  return Math.round(Math.min(4.5, Math.max(1, mos)) * 100) / 100
}

/** Idte of §7.4: the later one's own voice returns, the more it disturbs. */
function talkerEcho(delayMs: number): number {
  const growth = 40 * Math.log10((1 + delayMs / 10) / (1 + delayMs / 150))
  const loudness = TALKER_ECHO_DB - growth + 6 * Math.exp(-0.3 * delayMs ** 2)
  const half = (TALKER_RATING - (80 + 2.5 * (loudness - 14))) / 2
  return (half + Math.sqrt(half ** 2 + 100) - 1) * (1 - Math.exp(-delayMs))
}

/** Idle of §7.4, of a round trip of twice the delay. */
function listenerEcho(delayMs: number): number {
  const half = (SIGNAL_TO_NOISE - 10.5 * (LISTENER_ECHO_DB + 7) * (2 * delayMs + 1) ** -0.25) / 2
  return half + Math.sqrt(half ** 2 + 169)
}

/** Idd of §7.4: nothing up to 100 ms. */
function absoluteDelay(delayMs: number): number {
  if (delayMs <= 100) return 0
  const x = Math.log2(delayMs / 100)
  return 25 * ((1 + x ** 6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
}

/** Ie,eff of §7.5. */
function lossImpairment(lossPercent: number, burstRatio: number): number {
  const loss = Math.min(100, Math.max(0, lossPercent))
  const robustness = loss / Math.max(1, burstRatio) + LOSS_ROBUSTNESS
  return EQUIPMENT_IMPAIRMENT + ((95 - EQUIPMENT_IMPAIRMENT) * loss) / robustness
}
