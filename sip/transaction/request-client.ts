import type { ClientEffect, Machine } from './machine.ts'

type RequestClientState = 'trying' | 'proceeding' | 'completed' | 'terminated'
type RequestClientInput = 'provisional' | 'success' | 'failure' | 'transportError' | 'E' | 'F' | 'K'

/** The client transaction of every other method: RFC 3261 §17.1.2.2, figure 6. */
export const REQUEST_CLIENT: Machine<RequestClientState, RequestClientInput, ClientEffect> = {
  initial: 'trying',
  retransmit: { trying: 'E', proceeding: 'E' },
  limit: { trying: 'F', proceeding: 'F', completed: 'K' },
  table: {
    trying: {
      E: { to: 'trying', do: ['retransmit'] },
      F: { to: 'terminated', do: ['timeout'] },
      provisional: { to: 'proceeding', do: ['deliver'] },
      success: { to: 'completed', do: ['deliver'] },
      failure: { to: 'completed', do: ['deliver'] },
      transportError: { to: 'terminated', do: ['unreachable'] },
    },
    proceeding: {
      E: { to: 'proceeding', do: ['retransmit'] },
      F: { to: 'terminated', do: ['timeout'] },
      provisional: { to: 'proceeding', do: ['deliver'] },
      success: { to: 'completed', do: ['deliver'] },
      failure: { to: 'completed', do: ['deliver'] },
      transportError: { to: 'terminated', do: ['unreachable'] },
    },
    completed: {
      K: { to: 'terminated', do: [] },
    },
    terminated: {},
  },
}
