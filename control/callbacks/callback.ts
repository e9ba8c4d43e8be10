import { conflict, invalid, needed, type Problem } from '../http/errors.ts'
import { afterOpenMinutes, type BusinessHours, nextOpen } from '../organisation/business-hours.ts'
import type { CallbackRow, CallbackStatus } from './tables.ts'

const MAX_AHEAD_MS = 90 * 24 * 60 * 60 * 1000
/** A callback not returned within this time after it was due expires [ms]. */
const MAX_OVERDUE_MS = 7 * 24 * 60 * 60 * 1000

type Trigger = 'complete' | 'cancel' | 'expire'

/** Transitions without dialling; an absent trigger is a conflict. */
const NEXT: Record<CallbackStatus, Partial<Record<Trigger, CallbackStatus>>> = {
  pending: { complete: 'completed', cancel: 'cancelled', expire: 'expired' },
  offered: { complete: 'completed', cancel: 'cancelled', expire: 'expired' },
  dialing: {},
  connected: {},
  completed: {},
  failed: {},
  cancelled: {},
  expired: {},
}

const ON_CALL: CallbackStatus[] = ['dialing', 'connected']
/** Statuses in which nobody is being called, so that a callback can be cancelled or expire. */
export const WAITING: CallbackStatus[] = ['pending', 'offered']

/** Closes one for which nobody is on a call. The call of an offer that was not taken never is. */
export const closing = ({ status }: CallbackRow) => ({
  open_phone: null,
  ...(status === 'offered' && { call_id: null }),
})

/** An offer that a change takes back: it is due later, or for somebody else. The agent's phone stops, as for one that is closed. */
export function takenBack(row: CallbackRow, changed: Partial<CallbackRow>, at: string): Partial<CallbackRow> {
  const { due_at, ...whose } = { ...row, ...changed }
  const isOthers = (['route', 'agent_id', 'assistant_id', 'queue_id'] as const).some(name => whose[name] !== row[name])
  if (row.status !== 'offered' || (due_at <= at && !isOthers)) return {}
  return { status: 'pending', offered_to: null, call_id: null }
}

/** The status after the trigger, or why it is refused. */
export function nextStatus(status: CallbackStatus, trigger: Trigger): CallbackStatus | Problem {
  const next = NEXT[status][trigger]
  if (next !== undefined) return next
  if (ON_CALL.includes(status)) return conflict('callback_on_call', 'The callback is on a call.')
  return conflict('callback_closed', `The callback is ${status}.`)
}

/** 409 for any change of a closed callback. */
export const closedProblem = ({ status }: CallbackRow): Problem | null =>
  WAITING.includes(status) || ON_CALL.includes(status)
    ? null
    : conflict('callback_closed', `The callback is ${status}.`)

/** Why a callback that waits cannot have so few attempts: it would have one more. */
export const attemptsProblem = ({ status, attempts }: CallbackRow, max = attempts + 1): Problem | null =>
  WAITING.includes(status) && max <= attempts
    ? invalid('max_attempts', `${attempts} attempts were made already.`)
    : null

interface Plan {
  due_at: string
  window_end: string | null
  sla_at: string | null
}

/** Plans when a callback is due: in business hours, not in the past, at most 90 days ahead, and before its window ends. */
export function planCallback(
  asked: { due_at: string | null; window_end: string | null },
  office: { hours: BusinessHours; slaMinutes: number; now: Date },
): Plan | Problem {
  const { hours, slaMinutes, now } = office
  const wanted = asked.due_at === null ? now : new Date(asked.due_at)
  if (wanted.getTime() > now.getTime() + MAX_AHEAD_MS) return invalid('due_at', 'due_at is more than 90 days ahead.')
  const due = nextOpen(hours, wanted < now ? now : wanted)
  if (due === null) return invalid('due_at', 'There are no business hours from then on.')
  if (asked.window_end !== null && Date.parse(asked.window_end) <= due.getTime()) {
    const message = `window_end is not after the earliest time to call in business hours, ${due.toISOString()}.`
    return invalid('window_end', message)
  }
  return {
    due_at: due.toISOString(),
    window_end: asked.window_end === null ? null : new Date(asked.window_end).toISOString(),
    sla_at: afterOpenMinutes(hours, due, slaMinutes)?.toISOString() ?? null,
  }
}

export type Returner = Pick<CallbackRow, 'route' | 'agent_id' | 'assistant_id'>

const NAMED = [
  ['agent', 'agent_id'],
  ['assistant', 'assistant_id'],
] as const

/** Why nobody could return a callback of this route, or somebody is named who would not, or null. */
export function routeProblem(returner: Returner): Problem | null {
  for (const [route, param] of NAMED) {
    const isRoute = returner.route === route
    if (isRoute && returner[param] === null) return needed(param, `Route ${route} needs ${param}.`)
    if (!isRoute && returner[param] !== null) return invalid(param, `${param} is for route ${route} only.`)
  }
  return null
}

/** The notes with one more, with its time and author. */
export const withNote = (notes: string, note: { text: string | undefined; at: string; author: string }): string =>
  note.text === undefined ? notes : `${notes}${notes === '' ? '' : '\n'}[${note.at}, ${note.author}] ${note.text}`

/** Callbacks that were due before this time have expired. */
export const overdueBefore = (now: Date): string => new Date(now.getTime() - MAX_OVERDUE_MS).toISOString()
