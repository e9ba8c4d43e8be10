import { captureOf } from '../../capture-settings/settings.ts'
import { newId } from '../../kernel/ids.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { addressOf, claimOf, isInHours, routeInbound } from '../../trunks/inbound.ts'
import type { ConnectionRow, InboundRouteRow } from '../../trunks/tables.ts'
import { insertProgram, type ProgramTarget } from '../programs/records.ts'
import { insertParty, type NewParty, tenantOf } from '../records.ts'
import { onSandboxCall } from '../sandbox.ts'
import type { CallCentrePort, Conducting } from './call-centre-port.ts'
import type { FollowUp, Of } from './event-handler.ts'
import { connectionsFor, ownersOf, routesFor, runningOn } from './inbound-rows.ts'

export interface IncomingDeps {
  log: { info(fields: object, message: string): void }
  conducting: Pick<Conducting, 'drive' | 'driveWaiting'>
  centre: Pick<CallCentrePort, 'refuses'>
}

/** Somebody calls: who is let in gets a call of its own, everybody else an answer that says why not. */
export async function onIncoming(
  { log, conducting, centre }: IncomingDeps,
  trx: Trx,
  { body, at }: Of<'leg.incoming'>,
): Promise<FollowUp> {
  const sandbox = await onSandboxCall(trx, { body, at })
  if (sandbox !== null) return sandbox
  const connections = (await connectionsFor(trx, body)).filter(connection => claimOf(connection, body) !== null)
  const organisationIds = [...new Set(connections.map(connection => connection.organisation_id))]
  const routes = await routesFor(trx, body, organisationIds)
  const running = await runningOn(trx, connections)
  const inHours = routes.filter(route => isInHours(route, new Date(at)))
  const owners = organisationIds.length < 2 ? [] : await ownersOf(trx, body)
  const decision = routeInbound(body, connections, inHours, id => running.get(id) ?? 0, owners)
  const { legId, source, sipCallId } = body
  if ('reject' in decision) {
    const { reject } = decision
    return async (media: MediaPort) => {
      log.info({ legId, sipCallId, source: source.host, ...reject }, 'incoming call refused')
      await media.request('leg.reject', { legId, ...reject })
    }
  }
  const { connection, route } = decision.accept
  const party = partyOf(body, connection, route)
  const tenant = tenantOf(route)
  const led = programOf(route)
  await insertParty(trx, tenant, { ...party, program: led ?? {} }, at)
  const { callId, queueId = null } = party
  if (queueId !== null && (await centre.refuses(trx, tenant, { callId, legId, queueId, at }))) {
    return async media => {
      log.info({ callId, legId, sipCallId, routeId: route.id }, 'incoming call refused: its queue is shut')
      await media.request('leg.reject', { legId, sipCode: 486, reason: 'busy', retryAfterS: null })
    }
  }
  if (led !== null) await insertProgram(trx, tenant, party, led, at)
  return media => {
    log.info({ callId: party.callId, legId, sipCallId, routeId: route.id }, 'incoming call')
    return conducting.drive(legId, media)
  }
}

/** What leads the calls of a route, when it is a program. */
export const programOf = ({ target, target_id: id }: InboundRouteRow): ProgramTarget | null => {
  if (id === null) return null
  return target === 'flow' ? { flowId: id } : target === 'assistant' ? { assistantId: id } : null
}

const partyOf = (
  { legId, to, from }: Of<'leg.incoming'>['body'],
  connection: ConnectionRow,
  route: InboundRouteRow,
): NewParty => ({
  callId: newId('call'),
  legId,
  direction: 'inbound',
  to: addressOf(to),
  from: addressOf(from),
  target: route.target,
  roomId: route.target === 'room' ? route.target_id : null,
  queueId: route.target === 'queue' ? route.target_id : null,
  userId: route.target === 'user' ? route.target_id : null,
  connectionId: connection.id,
  capture: { route: captureOf(route.capture) },
  metadata: {},
  role: 'member',
  muted: false,
})
