import type { Machine, ServerEffect } from './machine.ts'

type InviteServerState = 'proceeding' | 'accepted' | 'completed' | 'confirmed' | 'terminated'
/** `request` is a retransmitted INVITE; `provisional`, `success` and `failure` are our responses, fed in by the caller. */
type InviteServerInput = 'request' | 'ack' | 'provisional' | 'success' | 'failure' | 'G' | 'H' | 'I' | 'L'

/** The INVITE server transaction: RFC 3261 §17.2.1, figure 7, as amended by RFC 6026 §8.5. */
export const INVITE_SERVER: Machine<InviteServerState, InviteServerInput, ServerEffect> = {
  initial: 'proceeding',
  retransmit: { completed: 'G' },
  limit: { accepted: 'L', completed: 'H', confirmed: 'I' },
  table: {
    proceeding: {
      request: { to: 'proceeding', do: ['retransmit'] },
      provisional: { to: 'proceeding', do: [] },
      success: { to: 'accepted', do: [] },
      failure: { to: 'completed', do: [] },
    },
    accepted: {
      // The user agent core retransmits the 2xx itself, so a repeated INVITE is only absorbed.
      request: { to: 'accepted', do: [] },
      success: { to: 'accepted', do: [] },
      L: { to: 'terminated', do: [] },
    },
    completed: {
      request: { to: 'completed', do: ['retransmit'] },
      ack: { to: 'confirmed', do: [] },
      G: { to: 'completed', do: ['retransmit'] },
      H: { to: 'terminated', do: [] },
    },
    confirmed: {
      request: { to: 'confirmed', do: [] },
      ack: { to: 'confirmed', do: [] },
      I: { to: 'terminated', do: [] },
    },
    terminated: {},
  },
}
