import { newId } from '../ids.ts'
import { insertProgram, type ProgramTarget } from '../live/records.ts'
import type { MediaPort } from '../media-events.ts'
import type { Trx } from '../store.ts'
import type { CallCentrePort } from './call-centre-port.ts'
import type { FollowUp, Of } from './event-handler.ts'
import { addressOf, isInHours, routeInbound } from './inbound.ts'
import { insertParty, type NewParty, tenantOf } from './records.ts'
import { onSandboxCall } from './sandbox.ts'
import type { Seating } from './seat.ts'
import type { ConnectionRow, InboundRouteRow } from './tables.ts'

const NONE: ReadonlyMap<string, number> = new Map()

export interface IncomingDeps {
  log: { info(fields: object, message: string): void }
  seating: Seating
  centre: Pick<CallCentrePort, 'refuses'>
}

/** Somebody calls: who is let in gets a call of its own, everybody else an answer that says why not. */
export async function onIncoming(
  { log, seating, centre }: IncomingDeps,
  trx: Trx,
  { body, at }: Of<'leg.incoming'>,
): Promise<FollowUp> {
  const sandbox = await onSandboxCall(trx, { body, at })
  if (sandbox !== null) return sandbox
  // Inbound traffic is live: the telephone network knows no test mode.
  const connections = await trx.selectFrom('connections').selectAll().where('livemode', '=', 1).execute()
  const routes = await trx.selectFrom('inbound_routes').selectAll().where('livemode', '=', 1).execute()
  const isLimited = connections.some(({ max_calls }) => max_calls !== null)
  const running = isLimited ? await runningByConnection(trx) : NONE
  const inHours = routes.filter(route => isInHours(route, new Date(at)))
  const decision = routeInbound(body, connections, inHours, id => running.get(id) ?? 0)
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
  await insertParty(trx, tenant, party, at)
  const { callId, queueId = null } = party
  if (queueId !== null && (await centre.refuses(trx, tenant, { callId, legId, queueId, at }))) {
    return async media => {
      log.info({ callId, legId, sipCallId, routeId: route.id }, 'incoming call refused: its queue is shut')
      await media.request('leg.reject', { legId, sipCode: 486, reason: 'busy', retryAfterS: null })
    }
  }
  const led = programOf(route)
  if (led !== null) await insertProgram(trx, tenant, party, led, at)
  return media => {
    log.info({ callId: party.callId, legId, sipCallId, routeId: route.id }, 'incoming call')
    return seating.drive(legId, media)
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
  record: false,
  metadata: {},
  role: 'member',
  muted: false,
})

async function runningByConnection(trx: Trx): Promise<Map<string, number>> {
  const counts = await trx
    .selectFrom('calls')
    .select(({ fn }) => ['connection_id', fn.countAll<number>().as('count')])
    .where('ended_at', 'is', null)
    .where('connection_id', 'is not', null)
    .groupBy('connection_id')
    .execute()
  return new Map(counts.map(({ connection_id, count }) => [connection_id ?? '', Number(count)]))
}
