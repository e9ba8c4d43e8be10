import type { SourcedBooking } from '../../callbacks/booking.ts'
import { settingsOf } from '../settings/store.ts'
import type { QueueRow } from '../tables.ts'

/** Who returns a queue's callbacks, and how urgent they are (specification, "Queue": `callbacks`), in the form of a booking. */
export function returnedByQueue(
  queue: QueueRow,
): Pick<SourcedBooking, 'queue_id' | 'route' | 'priority' | 'agent_id' | 'assistant_id'> {
  const { route, agent_id, assistant_id, priority } = settingsOf(queue).callbacks
  return {
    queue_id: queue.id,
    route,
    priority,
    ...(route === 'agent' && agent_id !== null && { agent_id }),
    ...(route === 'assistant' && assistant_id !== null && { assistant_id }),
  }
}
