import { type BookingDeps, bookCallback } from '../callbacks/booking.ts'
import type { Callback } from '../callbacks/schema-callback.ts'
import { type Problem, problem } from '../http/errors.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { returnedByQueue } from '../queues/callbacks/of-queue.ts'

interface Wish {
  tenant: Tenant
  userId: string
  /** The party that the agent talks with. */
  callId: string
  note: string
}

/** Books a callback to the other party of an agent's call, with the agent as the author of its note. */
export async function bookForAgent(
  deps: BookingDeps,
  trx: Trx,
  { tenant, userId, callId, note }: Wish,
): Promise<Callback | Problem> {
  const scoped = forTenant(trx, tenant)
  const call = await scoped.find('calls', callId)
  const user = await scoped.find('users', userId)
  if (call === undefined || user === undefined) return problem('resource_missing', 'The call is gone.')
  const queue = call.queue_id === null ? undefined : await scoped.find('queues', call.queue_id)
  return bookCallback(deps, trx, tenant, {
    phone: call.direction === 'inbound' ? call.from_address : call.to_address,
    call_id: call.id,
    ...(queue === undefined ? {} : returnedByQueue(queue)),
    ...(note === '' ? {} : { note }),
    source: 'manual',
    author: user.name === '' ? user.email : user.name,
  })
}
