import type { Machine, ServerEffect } from './machine.ts'

type RequestServerState = 'trying' | 'proceeding' | 'completed' | 'terminated'
type RequestServerInput = 'request' | 'provisional' | 'success' | 'failure' | 'J'

/** The server transaction of every other method: RFC 3261 §17.2.2, figure 8. */
export const REQUEST_SERVER: Machine<RequestServerState, RequestServerInput, ServerEffect> = {
  initial: 'trying',
  retransmit: {},
  limit: { completed: 'J' },
  table: {
    trying: {
      request: { to: 'trying', do: [] },
      provisional: { to: 'proceeding', do: [] },
      success: { to: 'completed', do: [] },
      failure: { to: 'completed', do: [] },
    },
    proceeding: {
      request: { to: 'proceeding', do: ['retransmit'] },
      provisional: { to: 'proceeding', do: [] },
      success: { to: 'completed', do: [] },
      failure: { to: 'completed', do: [] },
    },
    completed: {
      request: { to: 'completed', do: ['retransmit'] },
      J: { to: 'terminated', do: [] },
    },
    terminated: {},
  },
}
