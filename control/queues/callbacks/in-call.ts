import type { BookCallback, CallbackWish } from '../../assistants/actions/callback.ts'
import { type BookingDeps, bookCallback, type SourcedBooking } from '../../callbacks/booking.ts'
import { isProblem, missing, type Problem } from '../../http/errors.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { returnedByQueue } from './of-queue.ts'

/** Books what the flow or the assistant of a running call asks for. */
export const bookInCall =
  (deps: BookingDeps & { store: Store }): BookCallback =>
  (tenant, wish) =>
    deps.store.transaction(async trx => {
      const returned = await returnedBy(deps, trx, tenant, wish)
      if (isProblem(returned)) return returned
      const { phone, callId, note, source } = wish
      const author = source === 'ai' ? 'assistant' : 'flow'
      const asked = { phone, call_id: callId, ...(note === null ? {} : { note }) }
      return bookCallback(deps, trx, tenant, { ...asked, ...returned, source, author })
    })

/** Who returns the callback. A queue, agent or assistant that was deleted since is a problem, since nobody would return it. */
async function returnedBy(
  { settings }: BookingDeps,
  trx: Trx,
  tenant: Tenant,
  { returner, assistantId }: CallbackWish,
): Promise<Partial<SourcedBooking> | Problem> {
  const scoped = forTenant(trx, tenant)
  switch (returner?.type) {
    case 'queue': {
      const queue = await scoped.find('queues', returner.id)
      return queue === undefined ? missing('queue', returner.id) : returnedByQueue(queue)
    }
    case 'user': {
      const user = await scoped.find('users', returner.id)
      return user === undefined ? missing('user', returner.id) : { route: 'agent', agent_id: user.id }
    }
    case 'assistant': {
      const assistant = await scoped.find('assistants', returner.id)
      return assistant === undefined
        ? missing('assistant', returner.id)
        : { route: 'assistant', assistant_id: assistant.id }
    }
    case undefined: {
      const { callbacks } = await settings(trx, tenant)
      const returnsItself = callbacks.default_route === 'assistant' && assistantId !== null
      return returnsItself ? { route: 'assistant', assistant_id: assistantId } : {}
    }
  }
}
