import type { AgentCore, Session } from '../agent-core.ts'
import type { NamedDialog, Peer } from '../agent-types.ts'
import type { SipRequest } from '../message/message.ts'
import { isToken, paramValue, validParams } from '../message/params.ts'

const MAX_REPLACES = 1000

/** A value of Replaces; null if it is invalid. */
export function parseReplaces(value: string): NamedDialog | null {
  const semi = value.indexOf(';')
  if (semi < 0 || value.length > MAX_REPLACES) return null
  const [callId, params] = [value.slice(0, semi).trim(), value.slice(semi).trim()]
  const [toTag, fromTag] = [paramValue(params, 'to-tag'), paramValue(params, 'from-tag')]
  if (!/^[^\s;,<>"]+$/.test(callId) || !validParams(params)) return null
  if (toTag === null || fromTag === null || !isToken(toTag) || !isToken(fromTag)) return null
  return { callId, toTag, fromTag, earlyOnly: paramValue(params, 'early-only') !== null }
}

/** The dialog that an INVITE with Replaces is to replace; a status: why it cannot (RFC 3891 §3). */
type Replaced = { session: Session } | { status: number }

/** Null: the INVITE replaces nothing. */
export function replacedBy(core: AgentCore, request: SipRequest, { proxy }: Peer): Replaced | null {
  const values = request.headers.list('replaces')
  if (values.length === 0) return null
  // Nobody can take a place in a call and join it at once (RFC 3911 §4).
  const isClear = values.length === 1 && request.headers.get('join') === null
  const named = isClear ? parseReplaces(values[0]!) : null
  if (named === null) return { status: 400 }
  const session = core.findNamed(named)
  // An early dialog may only be replaced if we have placed the call: nobody may take over a caller of ours, unless that caller wants it.
  const isCaller = session?.role === 'uas' && session.phase === 'inviting'
  if (session === null || (isCaller && proxy?.joins !== true)) return { status: 481 }
  if (session.phase === 'over') return { status: 603 }
  if (named.earlyOnly && session.phase !== 'inviting') return { status: 486 }
  return { session }
}
