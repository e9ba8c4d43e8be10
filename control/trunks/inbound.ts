import { type EndedReason, type Events, isInNetworks, type SipParty } from '../../media/protocol.ts'
import { remembered } from '../kernel/remembered.ts'
import { nextOpen, type OpeningHours } from '../organisation/business-hours.ts'
import { callerOf } from './caller-identity.ts'
import { inboundAuthOf } from './inbound-auth.ts'
import type { AnswerMode, ConnectionRow, InboundRouteRow } from './tables.ts'

/** What identifies the connection of a call. */
export type Caller = Pick<Events['leg.incoming'], 'source' | 'connectionId'> & {
  /** The connection whose password the caller has proven. */
  proven?: string
}

/** The decision about an inbound call. */
export type InboundDecision =
  | { accept: { connection: ConnectionRow; route: InboundRouteRow } }
  | { reject: { sipCode: number; reason: EndedReason; retryAfterS?: number } }

const reject = (sipCode: number, reason: EndedReason): InboundDecision => ({ reject: { sipCode, reason } })

const RETRY_AFTER_S = 5

/**
 * Decides about an inbound call. It finds the connections that allow its source (none: 403), then the matching routes of their organisations (none: 404, or
 * 484 if more digits would match), takes the best of these, and checks that its connection has room for one more call (else 503). The best route has the
 * highest `priority`; among equals the most specific wins, then the oldest. Between organisations `priority` does not count, or one could take another's
 * calls: there the most specific source wins, then the owner of the number (`owners`, first one first), and without an owner the most specific route.
 */
export function routeInbound(
  incoming: Incoming,
  connections: readonly ConnectionRow[],
  routes: readonly InboundRouteRow[],
  runningCalls: (connectionId: string) => number,
  owners: readonly string[] = [],
): InboundDecision {
  const open = openTo(incoming, connections)
  if (open.length === 0) return reject(403, 'rejected')
  /** How specifically each organisation names the source. */
  const claims = new Map<string, number>()
  for (const { connection, claim } of open) {
    const { organisation_id: id } = connection
    claims.set(id, Math.max(claim, claims.get(id) ?? 0))
  }
  const narrowest = Math.max(...claims.values())
  const owner = owners.find(id => claims.get(id) === narrowest)
  const allowed = owner === undefined ? routes : routes.filter(route => route.organisation_id === owner)
  const best = bestOf(allowed.flatMap(route => candidateOf(route, { open, claims }, incoming)))
  if (best === undefined) {
    const mayBe = allowed.some(route => open.some(({ connection }) => isBegun(route, incoming, connection)))
    return reject(mayBe ? 484 : 404, 'not_found')
  }
  const { connection, route } = best
  if (connection.max_calls !== null && runningCalls(connection.id) >= connection.max_calls) {
    return { reject: { sipCode: 503, reason: 'capacity', retryAfterS: RETRY_AFTER_S } }
  }
  return { accept: { connection, route } }
}

type Incoming = Pick<Events['leg.incoming'], 'to' | 'from' | 'identity'> & Caller

interface Open {
  connection: ConnectionRow
  claim: number
}

/** The connections that allow the source, the most specific first: of one organisation's, it decides how the calls are accepted. */
const openTo = (caller: Caller, connections: readonly ConnectionRow[]): Open[] =>
  connections
    .flatMap(connection => {
      const claim = connection.enabled === 1 ? claimOf(connection, caller) : null
      return claim === null ? [] : [{ connection, claim }]
    })
    .sort((a, b) => b.claim - a.claim || (a.connection.id < b.connection.id ? -1 : 1))

interface Candidate {
  route: InboundRouteRow
  connection: ConnectionRow
  score: number
  /** Of its organisation. */
  claim: number
}

/** A route with the connection over which it would get the call, if it matches. */
function candidateOf(
  route: InboundRouteRow,
  { open, claims }: { open: readonly Open[]; claims: ReadonlyMap<string, number> },
  incoming: Incoming,
): Candidate[] {
  const { match_connection_id: only } = route
  const found = open.find(({ connection: one }) => sameTenant(one, route) && (only === null || only === one.id))
  if (found === undefined) return []
  const { connection } = found
  const score = scoreOf(route, { to: incoming.to, from: callerOf(incoming, connection).from })
  return score === null ? [] : [{ route, connection, score, claim: claims.get(route.organisation_id) ?? 0 }]
}

/** Of each organisation the best route, and of these the one whose organisation names the source most specifically. */
function bestOf(candidates: Candidate[]): Candidate | undefined {
  const older = (a: Candidate, b: Candidate): number => (a.route.id < b.route.id ? -1 : 1)
  candidates.sort((a, b) => b.route.priority - a.route.priority || b.score - a.score || older(a, b))
  const seen = new Set<string>()
  const bestOfEach = candidates.filter(({ route: { organisation_id: id } }) => !seen.has(id) && seen.add(id))
  return bestOfEach.sort((a, b) => b.claim - a.claim || b.score - a.score || older(a, b))[0]
}

/**
 * How specifically a connection names the source of a call, in bits of its network; null: it does not allow it. A registrar's calls are recognised by
 * the contact that only it was given, or by its address. A caller who has proven a password belongs to that connection alone.
 */
export function claimOf(connection: ConnectionRow, { source, connectionId, proven }: Caller): number | null {
  const allBits = source.host.includes(':') ? 128 : 32
  if (connectionId !== undefined) return connection.id === connectionId ? allBits : null
  const auth = inboundAuthOf(connection)
  if (proven === undefined ? auth !== 'ip' : proven !== connection.id) return null
  return auth === 'digest' ? allBits : networkClaim(connection, source, allBits)
}

/** As `claimOf`, by the source address only. */
function networkClaim(connection: ConnectionRow, source: Caller['source'], allBits: number): number | null {
  if (connection.kind === 'registration' && connection.host === source.host) return allBits
  const bits = narrowest(JSON.stringify([connection.allowed_ips, source.host, allBits]))
  return bits < 0 ? null : bits
}

/** Prefix length of the narrowest network in a list that contains an address; -1: none does. Cached, since the same trunks call again and again. */
const narrowest = remembered(1000, asked => {
  const [blocks, host, allBits] = JSON.parse(asked) as [string, string, number]
  const networks = (JSON.parse(blocks) as string[]).filter(block => isInNetworks(host, [block]))
  return Math.max(-1, ...networks.map(block => Number(block.split('/')[1] ?? allBits)))
})

/** Opening hours, with their own time zone. */
export type RouteHours = OpeningHours & { timezone: string }

/** The answer modes that a target allows; the first is the default. */
export function answersOf(target: InboundRouteRow['target']): readonly AnswerMode[] {
  if (target === 'user') return ['when_answered', 'early_media', 'at_once']
  // Waiting callers hear music and their position, and press keys. Few networks carry that before an answer, and none for long.
  if (target === 'queue') return ['at_once', 'early_media', 'when_answered']
  return target === 'announcement' ? ['at_once', 'early_media'] : ['at_once']
}

/** When the calls of a route are answered. */
export const answerOf = ({ answer, target }: Pick<InboundRouteRow, 'answer' | 'target'>): AnswerMode =>
  answer ?? answersOf(target)[0]!

/** Whether a route leads calls at this time. */
export function isInHours({ hours: json }: Pick<InboundRouteRow, 'hours'>, at: Date): boolean {
  if (json === null) return true
  const hours: RouteHours = JSON.parse(json)
  return nextOpen({ hours, timezone: hours.timezone }, at)?.getTime() === at.getTime()
}

const sameTenant = (a: ConnectionRow, b: InboundRouteRow): boolean =>
  a.organisation_id === b.organisation_id && a.livemode === b.livemode

/** How specific a matching route is; null: it does not match. `to` counts before `from`, `from` before the connection. */
export function scoreOf(
  route: InboundRouteRow,
  { to, from }: Pick<Events['leg.incoming'], 'to' | 'from'>,
): number | null {
  const toScore = matchScore(route.match_to, to)
  const fromScore = matchScore(route.match_from, from)
  if (toScore === null || fromScore === null) return null
  return toScore * 1e6 + fromScore * 1e3 + (route.match_connection_id === null ? 0 : 1)
}

/**
 * Whether a number that matches no route is a prefix of this route's number. Networks with overlap dialling send each new digit in a
 * new INVITE, as long as the answer is 484 (RFC 3578 §3).
 */
function isBegun(
  route: InboundRouteRow,
  incoming: Pick<Events['leg.incoming'], 'to' | 'from' | 'identity'>,
  connection: ConnectionRow,
): boolean {
  const { match_to: pattern, match_connection_id: only } = route
  const { user } = incoming.to
  if (!sameTenant(connection, route) || (only !== null && only !== connection.id)) return false
  if (pattern === null || !/^\+?\d+$/.test(user) || !/^\+?\d+\*?$/.test(pattern)) return false
  return pattern.startsWith(user) && matchScore(route.match_from, callerOf(incoming, connection).from) !== null
}

/** The forms in which a pattern may name a party. */
export const namesOf = ({ user, host }: Pick<SipParty, 'user' | 'host'>): string[] => [
  user,
  `${user}@${host}`,
  `sip:${user}@${host}`,
]

const EXACT = 900

/** 0: no pattern; 1 to 899: by the length of a prefix (`972*`); 900: exact; null: no match. */
function matchScore(pattern: string | null, party: SipParty): number | null {
  if (pattern === null) return 0
  const names = namesOf(party)
  if (pattern.endsWith('*')) {
    const prefix = pattern.slice(0, -1)
    return names.some(name => name.startsWith(prefix)) ? Math.min(prefix.length + 1, EXACT - 1) : null
  }
  return names.includes(pattern) ? EXACT : null
}
