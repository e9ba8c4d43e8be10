import type { ProfileSettings } from '../schema.ts'
import type { CopilotState, Party } from './state.ts'

/** Figures cover the last two minutes [ms]. */
const WINDOW_MS = 120_000
/** Minimum speech for the talk ratio, and for the rate of speech [ms]. */
const MIN_TALK_MS = 20_000
const MIN_SPEECH_MS = 15_000
const MIN_WORDS = 20
/** Hysteresis: how far a figure must come back before its nudge ends. */
export const RATIO_BACK = 0.08
const WPM_BACK = 12
/** Fewer words of the customer, such as "mhm" or "I see", do not end a monologue. */
const MIN_TURN_WORDS = 3
/** A monologue ends if nobody speaks for this long [ms]. */
const BREAK_MS = 4000

interface Figures {
  /** The agent's share of talk time; null: too little was said. */
  talk_ratio: number | null
  monologue_seconds: number
  silence_seconds: number
  /** The agent's words per minute of own speech; null: too little was said. */
  words_per_minute: number | null
}

export const isTurn = (party: Party, words: number): boolean => party === 'customer' && words >= MIN_TURN_WORDS

export function figuresOf(state: CopilotState): Figures {
  const { spans, nowMs, voiceMs, monologueMs } = state
  const talk = (party: Party): number =>
    spans.filter(span => span.party === party).reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs), 0)
  const [agent, customer] = [talk('agent'), talk('customer')]
  const words = spans.filter(span => span.party === 'agent').reduce((sum, span) => sum + span.words, 0)
  const isSpeaking = spans.some(({ isFinal }) => !isFinal)
  return {
    talk_ratio: agent + customer < MIN_TALK_MS ? null : round(agent / (agent + customer), 100),
    monologue_seconds: monologueMs === null ? 0 : round((lastAgentMs(state) - monologueMs) / 1000, 10),
    silence_seconds: isSpeaking ? 0 : round(Math.max(0, nowMs - voiceMs) / 1000, 10),
    words_per_minute: agent < MIN_SPEECH_MS || words < MIN_WORDS ? null : Math.round((words * 60_000) / agent),
  }
}

const round = (value: number, by: number): number => Math.round(value * by) / by

function lastAgentMs({ spans, nowMs }: CopilotState): number {
  const agents = spans.filter(({ party }) => party === 'agent')
  if (agents.some(({ isFinal }) => !isFinal)) return nowMs
  return Math.max(0, ...agents.map(({ toMs }) => toMs))
}

/** Removes what is older than the window, and ends the monologue of an agent who has stopped. */
export function passTime(state: CopilotState): void {
  const from = state.nowMs - WINDOW_MS
  state.spans = state.spans.filter(({ toMs, isFinal }) => !isFinal || toMs >= from)
  const isSpeaking = state.spans.some(({ party, isFinal }) => party === 'agent' && !isFinal)
  if (state.monologueMs !== null && !isSpeaking && state.nowMs - lastAgentMs(state) > BREAK_MS) state.monologueMs = null
}

/** Whether something has lasted at least this long. With a limit of 0 it must at least have begun. */
export const lasts = (seconds: number, most: number): boolean => seconds > 0 && seconds >= most

export const NUDGES = ['talk_ratio', 'monologue', 'silence', 'too_fast', 'too_slow'] as const
type Nudge = (typeof NUDGES)[number]

/** Which nudges hold now. `held`: whether a nudge held before; it then holds until it is clearly over. */
export function nudgesOf(
  figures: Figures,
  { talk_ratio_max, monologue_seconds_max, silence_seconds_max, wpm_max, wpm_min }: ProfileSettings['coaching'],
  held: (nudge: Nudge) => boolean,
): Nudge[] {
  const { talk_ratio: ratio, monologue_seconds, silence_seconds, words_per_minute: wpm } = figures
  const holds: Record<Nudge, boolean> = {
    talk_ratio: ratio !== null && ratio > talk_ratio_max - (held('talk_ratio') ? RATIO_BACK : 0),
    monologue: lasts(monologue_seconds, monologue_seconds_max),
    silence: lasts(silence_seconds, silence_seconds_max),
    too_fast: wpm !== null && wpm > wpm_max - (held('too_fast') ? WPM_BACK : 0),
    too_slow: wpm !== null && wpm < wpm_min + (held('too_slow') ? WPM_BACK : 0),
  }
  return NUDGES.filter(nudge => holds[nudge])
}
