import { isFailure, type Request, type Verification } from '../../../media/protocol.ts'
import { captureOf } from '../../capture-settings/settings.ts'
import { newId } from '../../kernel/ids.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { addressOf } from '../../trunks/address.ts'
import { mayStartIn } from '../../trunks/call-starts.ts'
import { callerOf, type ShownCaller } from '../../trunks/caller-identity.ts'
import { answerOf, claimOf, type InboundDecision, isInHours, routeInbound } from '../../trunks/inbound.ts'
import type { ConnectionRow, InboundRouteRow } from '../../trunks/tables.ts'
import { callProblem } from '../../usage/allowance.ts'
import { isToBeAsked } from '../capture/call-capture.ts'
import { setLeg } from '../legs.ts'
import { insertProgram, programOf } from '../programs/records.ts'
import { insertParty, type NewParty, targetOf } from '../records.ts'
import { onSandboxCall } from '../sandbox.ts'
import type { Of } from '../steps/event-handler.ts'
import { follow, wake } from '../steps/follow.ts'
import type { CallRow, ParticipantRow } from '../tables.ts'
import type { CallCentrePort } from './call-centre-port.ts'
import { takeTrunkCall } from './inbound/replacing-call.ts'
import { type AccountDeps, accountOf, asksForPassword, judge } from './inbound/trunk-callers.ts'
import { connectionsFor, ownersOf, routesBegunBy, routesFor, runningOn } from './inbound-rows.ts'
import { type TakingDeps, takeLater } from './later-calls.ts'
import { elsewhere } from './rooms/sessions.ts'
import { verifyFirst } from './verified-call.ts'

export interface IncomingDeps extends AccountDeps, TakingDeps {
  log: AccountDeps['log'] & TakingDeps['log']
  centre: Pick<CallCentrePort, 'refuses' | 'beginUnanswered' | 'end'>
}

/** An inbound call: an admitted caller gets a call object, everybody else an answer that says why not. */
export async function onIncoming(deps: IncomingDeps, trx: Trx, event: Of<'leg.incoming'>): Promise<void> {
  if (await onSandboxCall(trx, event)) return
  const { passedOn } = event.body
  if (passedOn !== undefined) return place(deps, trx, event, passedOn)
  const account = await accountOf(trx, event.body)
  if (account === undefined) return place(deps, trx, event)
  judge(deps, trx, event, account, (later, proven) => place(deps, later, event, { proven }))
}

/** What was verified about a call before it is accepted. */
interface Judged {
  /** The connection whose password the caller has proven. */
  proven?: string
  /** The verification of its signature. */
  verification?: Verification
  /** Nodes that had its room, and are gone. */
  gone?: string[]
}

type Refusal = Omit<Request<'leg.reject'>, 'legId'>

const NO_PLACE: Refusal = { sipCode: 503, reason: 'capacity' }

async function place(deps: IncomingDeps, trx: Trx, event: Of<'leg.incoming'>, judged: Judged = {}): Promise<void> {
  const { log, centre } = deps
  const { body, at } = event
  const { proven, verification = null } = judged
  const caller = { ...body, ...(proven === undefined ? {} : { proven }) }
  const near = await connectionsFor(trx, caller)
  const connections = near.filter(connection => claimOf(connection, caller) !== null)
  if (body.replaces !== undefined && connections.length > 0) return takeTrunkCall(trx, body, connections)
  const decision = await routed(trx, event, caller, connections)
  const { legId, sipCallId } = body
  const told = { legId, sipCallId, from: body.from.uri, source: body.source.host }
  const refuse = (why: string, reply: Refusal, about: { callId?: string; [field: string]: unknown }): void =>
    follow(trx, about.callId ?? legId, async ({ media }) => {
      log.info({ ...told, ...reply, ...about }, `incoming call refused${why}`)
      await media.request('leg.reject', { legId, ...reply })
    })
  if ('reject' in decision) {
    const { reject } = decision
    if (proven === undefined && (await asksForPassword(trx, body, near, reject.sipCode))) return
    return refuse('', reject, {})
  }
  const { connection, route } = decision.accept
  const { gone = [] } = judged
  const other = await elsewhere(trx, route, at, gone)
  if (other !== undefined) {
    return takeLater(deps, trx, event, async media => {
      const passed = await media.request('leg.pass_on', { legId, node: other.sip, proven: proven ?? null })
      log.info({ legId, sipCallId, routeId: route.id, passed }, 'another node has the conference room of a call')
      if (!isFailure(passed) || passed.failure !== 'conflict') return null
      return later => place(deps, later, event, { ...judged, gone: [...gone, other.id] })
    })
  }
  // A call with a verified signature was counted before the verification.
  if (verification === null && !(await mayStartIn(trx, connection, Date.parse(at)))) {
    return refuse(': too many in a second', { ...NO_PLACE, retryAfterS: 1 }, { connectionId: connection.id })
  }
  if (connection.verify_calls !== 'off' && verification === null) {
    return verifyFirst(deps, trx, event, connection, (later, signed) =>
      place(deps, later, event, { ...judged, verification: signed }),
    )
  }
  const party = partyOf(body, callerOf(body, connection, verification), connection, route)
  const tenant = tenantOf(route)
  if ((await callProblem(trx, tenant, at)) !== null) {
    return refuse(': its organisation may have no more', { ...NO_PLACE, sipCode: 480 }, { connectionId: connection.id })
  }
  const led = programOf(route.target, route.target_id)
  const { participant, call } = await insertParty(trx, tenant, { program: led ?? {}, ...party }, at)
  const { callId, queueId = null } = party
  if (queueId !== null && (await centre.refuses(trx, tenant, { callId, legId, queueId, at }))) {
    const busy: Refusal = { sipCode: 486, reason: 'busy' }
    return refuse(': its queue is shut', busy, { callId, routeId: route.id })
  }
  if (led !== null) await insertProgram(trx, tenant, party, led, at)
  afterCommit(trx, () => log.info({ callId, legId, sipCallId, routeId: route.id }, 'incoming call'))
  await begin({ centre }, trx, tenant, { call, participant }, route)
}

/** Where a call goes, by the routes of those whose connections allow it. */
async function routed(
  trx: Trx,
  { body, at }: Of<'leg.incoming'>,
  caller: Parameters<typeof routeInbound>[0],
  connections: readonly ConnectionRow[],
): Promise<InboundDecision> {
  const organisationIds = [...new Set(connections.map(connection => connection.organisation_id))]
  const routes = await routesFor(trx, body, organisationIds)
  const running = await runningOn(trx, connections)
  const owners = organisationIds.length < 2 ? [] : await ownersOf(trx, body)
  const decide = (among: readonly InboundRouteRow[]): InboundDecision => {
    const inHours = among.filter(route => isInHours(route, new Date(at)))
    return routeInbound(caller, connections, inHours, id => running.get(id) ?? 0, owners)
  }
  const first = decide(routes)
  const isNobodys = 'reject' in first && first.reject.sipCode === 404
  return isNobodys ? decide(await routesBegunBy(trx, body, organisationIds)) : first
}

/** A call is answered at once, as for a recording announcement, or led on as if it were answered, and rings until somebody is there. */
export async function begin(
  { centre }: { centre: Pick<CallCentrePort, 'beginUnanswered'> },
  trx: Trx,
  tenant: Tenant,
  { call, participant }: { call: CallRow; participant: ParticipantRow },
  route: Pick<InboundRouteRow, 'answer' | 'target' | 'target_id'>,
): Promise<void> {
  const { target, target_id: targetId } = route
  const [callId, legId, at, unanswered] = [call.id, participant.id, call.created, answerOf(route)]
  if (unanswered === 'at_once' || isToBeAsked(call)) return wake(trx, participant)
  if (target === 'announcement') return setLeg(trx, tenant, legId, { step: 'announcing', unanswered })
  await setLeg(trx, tenant, legId, { unanswered })
  if ((target === 'user' || target === 'queue') && targetId !== null) {
    await centre.beginUnanswered(trx, tenant, { callId, legId, at, target, targetId })
  }
}

const partyOf = (
  { legId, to }: Of<'leg.incoming'>['body'],
  { from, ...caller }: ShownCaller,
  connection: ConnectionRow,
  route: InboundRouteRow,
): NewParty => ({
  callId: newId('call'),
  legId,
  direction: 'inbound',
  to: addressOf(to),
  from: addressOf(from),
  ...caller,
  ...targetOf(route.target, route.target_id),
  connectionId: connection.id,
  capture: { route: captureOf(route.capture) },
  metadata: {},
  role: 'member',
  muted: false,
})
