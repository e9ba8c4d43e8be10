import type { HeaderFields } from './agent-types.ts'
import { parseDeltaSeconds } from './message/headers.ts'
import type { Headers } from './message/message.ts'
import { paramValue } from './message/params.ts'

/** Session timers (RFC 4028). The minimum interval [s]. */
export const MIN_SESSION_EXPIRES_S = 90
const MAX_SESSION_EXPIRES_S = 86_400

/** Whether the sender of a request refreshes the session, or the side that answers it. */
type Refresher = 'uac' | 'uas'

export interface SessionTimer {
  intervalS: number
  /** Whether we are the refresher. */
  weRefresh: boolean
}

interface SessionExpires {
  intervalS: number
  refresher: Refresher | null
}

function sessionExpires(headers: Headers): SessionExpires | null {
  const value = headers.get('session-expires')
  const intervalS = value === null ? null : parseDeltaSeconds(value)
  if (value === null || intervalS === null) return null
  const semi = value.indexOf(';')
  const refresher = semi < 0 ? null : paramValue(value.slice(semi), 'refresher')?.toLowerCase()
  return { intervalS, refresher: refresher === 'uac' || refresher === 'uas' ? refresher : null }
}

/** The Min-SE of a message, at least 90 [s]. */
export function minSe(headers: Headers): number {
  return Math.max(MIN_SESSION_EXPIRES_S, parseDeltaSeconds(headers.get('min-se') ?? '') ?? 0)
}

export type TimerAnswer =
  | { kind: 'none' }
  /** Answer 422 with Min-SE (RFC 4028 §6). */
  | { kind: 'too_small' }
  | { kind: 'agreed'; timer: SessionTimer; headers: HeaderFields }

/**
 * The interval that a request asks for, and the headers of our 2xx (RFC 4028 §9). If it only declares support, we ask for `wantedS`
 * and refresh ourselves; null: we do not ask.
 */
export function answerSessionTimer(request: Headers, minimumS: number, wantedS: number | null): TimerAnswer {
  const peerSupports = request.hasToken('supported', 'timer')
  const ownWish: SessionExpires | null =
    peerSupports && wantedS !== null ? { intervalS: Math.max(wantedS, minSe(request)), refresher: 'uas' } : null
  const asked = sessionExpires(request) ?? ownWish
  if (asked === null) return { kind: 'none' }
  if (asked.intervalS < minimumS) {
    // A caller without support would not understand a 422: a proxy asked, and the value is raised for it, as it would have done (RFC 4028, erratum 1687).
    if (peerSupports) return { kind: 'too_small' }
  }
  const intervalS = Math.min(Math.max(asked.intervalS, minimumS), MAX_SESSION_EXPIRES_S)
  const refresher: Refresher = peerSupports ? (asked.refresher ?? 'uac') : 'uas'
  const headers: [string, string][] = [['Session-Expires', `${intervalS};refresher=${refresher}`]]
  if (peerSupports) headers.push(['Require', 'timer'])
  return { kind: 'agreed', timer: { intervalS, weRefresh: refresher === 'uas' }, headers }
}

/** The interval agreed in a 2xx to our request; null: no timer (RFC 4028 §7.2). */
export function agreedSessionTimer(response: Headers): SessionTimer | null {
  const agreed = sessionExpires(response)
  if (agreed === null) return null
  const intervalS = Math.min(Math.max(agreed.intervalS, MIN_SESSION_EXPIRES_S), MAX_SESSION_EXPIRES_S)
  return { intervalS, weRefresh: agreed.refresher !== 'uas' }
}

/** The headers of a request that asks for a timer, or renews the running one. */
export function askSessionTimer(intervalS: number, minimumS: number, refresher: Refresher | null): HeaderFields {
  const asked = Math.max(intervalS, minimumS, MIN_SESSION_EXPIRES_S)
  return [
    ['Session-Expires', `${asked}${refresher ? `;refresher=${refresher}` : ''}`],
    ['Min-SE', String(Math.max(minimumS, MIN_SESSION_EXPIRES_S))],
  ]
}

/** When the refresher sends its request, after the last refresh [ms] (RFC 4028 §7.2). */
export const refreshAfterMs = (timer: SessionTimer): number => timer.intervalS * 500

/** When a side without a refresh hangs up, after the last refresh [ms] (RFC 4028 §10). */
export function expireAfterMs(timer: SessionTimer): number {
  return (timer.intervalS - Math.min(32, Math.floor(timer.intervalS / 3))) * 1000
}
