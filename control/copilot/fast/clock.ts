import type { ProfileSettings } from '../schema.ts'
import { figuresOf, lasts, NUDGES, nudgesOf, passTime, RATIO_BACK } from './figures.ts'
import { claim, count, disclosureSlot, onceSlot, slotOf, valueOfSlot } from './slots.ts'
import type { CopilotState } from './state.ts'

/** Time from the reminder of a disclosure until it counts as missed [ms]. */
const GRACE_MS = 30_000
const DEFAULT_SENTIMENT = 0.5
const SENTIMENT_BACK = 0.2

/** Updates what follows from time and figures: nudges, alerts, disclosures that are due. */
export function look(state: CopilotState, profile: ProfileSettings): void {
  passTime(state)
  nudge(state, profile)
  alertByFigures(state, profile)
  remind(state, profile)
}

function nudge(state: CopilotState, profile: ProfileSettings): void {
  const figures = figuresOf(state)
  const now = nudgesOf(figures, profile.coaching, kind => state.holding[`nudge:${kind}`] === true)
  for (const kind of NUDGES) {
    const name = `nudge:${kind}`
    const holds = now.includes(kind)
    const slot = state.slots[name]
    if (holds && state.holding[name] === undefined) {
      state.holding[name] = true
      if (slot !== undefined) slot.person = null
      claim(state, name, { value: 'on', by: 'time', utterances: [] }, { ...figures })
    } else if (!holds && state.holding[name] !== undefined) {
      delete state.holding[name]
      if (slot !== undefined) Object.assign(slot, { claims: [], person: null })
    }
  }
}

/** A condition causes one alert each time it begins to hold. The alert stays when it ends. */
function alertByFigures(state: CopilotState, profile: ProfileSettings): void {
  const figures = figuresOf(state)
  const { coaching } = profile
  for (const { key, kind, threshold } of profile.alerts) {
    const limit = (fallback: number): number => (threshold > 0 ? threshold : fallback)
    const [ratio, most, upset] = [figures.talk_ratio, limit(coaching.talk_ratio_max), limit(DEFAULT_SENTIMENT)]
    const holding =
      kind === 'silence'
        ? lasts(figures.silence_seconds, limit(coaching.silence_seconds_max))
        : kind === 'monologue'
          ? lasts(figures.monologue_seconds, limit(coaching.monologue_seconds_max))
          : kind === 'talk_ratio'
            ? ratio !== null && ratio > most
            : kind === 'sentiment' && state.sentiment <= -upset
    // Hysteresis: a figure must be clearly back within its limit before its alert can come again.
    const isBack =
      kind === 'talk_ratio'
        ? ratio === null || ratio < most - RATIO_BACK
        : kind !== 'sentiment' || state.sentiment > SENTIMENT_BACK - upset
    const name = `alert:${key}`
    if (holding && state.holding[name] === undefined) {
      state.holding[name] = true
      const figure = { ...figures, sentiment: Math.round(state.sentiment * 100) / 100 }
      claim(state, onceSlot('alert', key, `${state.nowMs}ms`), { value: kind, by: 'time', utterances: [] }, { figure })
    } else if (!holding && isBack) delete state.holding[name]
  }
}

function remind(state: CopilotState, profile: ProfileSettings): void {
  for (const { key, within_seconds } of profile.compliance.required_disclosures) {
    const name = disclosureSlot(key)
    const value = valueOfSlot(state.slots[name])
    if (value === 'said' || value === 'missed') continue
    const dueMs = within_seconds * 1000
    const isMissed = state.isOver || state.nowMs >= dueMs + GRACE_MS
    if (isMissed) miss(state, profile, key)
    else if (state.nowMs >= dueMs && value === null) timed(state, name, 'reminded')
  }
}

function timed(state: CopilotState, name: string, value: string): void {
  const slot = slotOf(state, name)
  slot.claims = slot.claims.filter(({ by }) => by !== 'time')
  claim(state, name, { value, by: 'time', utterances: [] })
}

function miss(state: CopilotState, profile: ProfileSettings, key: string): void {
  timed(state, disclosureSlot(key), 'missed')
  const own = profile.alerts.filter(({ kind }) => kind === 'missed_disclosure' || kind === 'compliance')
  const disclosure = profile.compliance.required_disclosures.find(one => one.key === key)
  const tell = (alert: string, more: Record<string, unknown>): void =>
    claim(state, onceSlot('alert', alert, `disclosure.${key}`), { value: 'missed', by: 'time', utterances: [] }, more)
  if (own.length === 0) tell(`disclosure.${key}`, { disclosure: key, label: disclosure?.label ?? key })
  for (const alert of own) {
    if (count(state, alert, `disclosure.${key}`) >= Math.max(1, alert.threshold)) tell(alert.key, { disclosure: key })
  }
}
