import type { Context } from '../../http/context.ts'
import type { Route } from '../../http/route.ts'
import { otherNode } from '../../http/wire/other-nodes.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import { isOutage } from '../../kernel/store/outage.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'

/**
 * Only the node whose media process has a running call can control it. Any other node answers with the name of the right one, and does
 * nothing by halves.
 */

type Place = (db: Db, tenant: Tenant, params: Record<string, string>) => Promise<string | null | undefined>

/** The node of a call that has not ended. */
const ofCall: Place = async (db, tenant, { id = '' }) => {
  const call = await forTenant(db, tenant).find('calls', id)
  return call === undefined || call.ended_at !== null ? null : call.node_id
}

/** The node of somebody who is in a conference room. */
const ofParticipant: Place = async (db, tenant, { participant_id = '' }) => {
  const participant = await forTenant(db, tenant).find('participants', participant_id)
  return participant === undefined || participant.left_at !== null ? null : participant.node_id
}

const OF_PARTICIPANT = '/conference_rooms/:id/participants/:participant_id'

function placeOf({ method, path }: Route): Place | null {
  if (method === 'GET') return null
  if (/^\/calls\/:id(\/|$)/.test(path)) return ofCall
  return path === OF_PARTICIPANT ? ofParticipant : null
}

/** Wraps these operations: each refuses what belongs to another node's call. */
export function atItsNode(store: Store, routes: readonly Route[]): Route[] {
  const ours = nodeOf(store.db)
  return routes.map(route => {
    const place = placeOf(route)
    if (place === null) return route
    const handler: Route['handler'] = async (context: Context, input) => {
      // Without the store, the operation knows this node's calls, or fails for the same reason.
      const node = await place(store.db, context, input.params as Record<string, string>).catch((error: unknown) => {
        if (route.withoutStore === true && isOutage(error)) return null
        throw error
      })
      return node == null || node === ours ? route.handler(context, input) : otherNode(node)
    }
    return { ...route, errors: [...new Set([...(route.errors ?? []), 409])].sort(), handler }
  })
}
