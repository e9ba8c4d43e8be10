import type { Machine, ServerEffect } from './machine.ts'

export type InviteServerState = 'proceeding' | 'accepted' | 'completed' | 'confirmed' | 'terminated'
/** `request` is the INVITE again; `provisional`, `success` and `failure` are our responses, sent by whoever feeds them. */
export type InviteServerInput = 'request' | 'ack' | 'provisional' | 'success' | 'failure' | 'G' | 'H' | 'I' | 'L'

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
      // The user agent core sends the 2xx again by itself, so a repeated INVITE is only absorbed.
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
