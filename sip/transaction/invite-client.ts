import type { ClientEffect, Machine } from './machine.ts'

type InviteClientState = 'calling' | 'proceeding' | 'accepted' | 'completed' | 'terminated'
type InviteClientInput = 'provisional' | 'success' | 'failure' | 'transportError' | 'A' | 'B' | 'D' | 'M'

/** The INVITE client transaction: RFC 3261 §17.1.1.2, figure 5, as amended by RFC 6026 §8.4. */
export const INVITE_CLIENT: Machine<InviteClientState, InviteClientInput, ClientEffect> = {
  initial: 'calling',
  retransmit: { calling: 'A' },
  limit: { calling: 'B', accepted: 'M', completed: 'D' },
  table: {
    calling: {
      A: { to: 'calling', do: ['retransmit'] },
      B: { to: 'terminated', do: ['timeout'] },
      provisional: { to: 'proceeding', do: ['deliver'] },
      success: { to: 'accepted', do: ['deliver'] },
      failure: { to: 'completed', do: ['ack', 'deliver'] },
      transportError: { to: 'terminated', do: ['unreachable'] },
    },
    proceeding: {
      provisional: { to: 'proceeding', do: ['deliver'] },
      success: { to: 'accepted', do: ['deliver'] },
      failure: { to: 'completed', do: ['ack', 'deliver'] },
    },
    accepted: {
      success: { to: 'accepted', do: ['deliver'] },
      M: { to: 'terminated', do: [] },
    },
    completed: {
      failure: { to: 'completed', do: ['ack'] },
      transportError: { to: 'terminated', do: [] },
      D: { to: 'terminated', do: [] },
    },
    terminated: {},
  },
}
