import type { Commands } from '../../media/protocol.ts'

/** What a caller hears while somebody is being rung for it. */
export const ringback = (legId: string): Commands['leg.play']['request'] => ({
  legId,
  playId: 'calling',
  sources: [{ kind: 'tone', name: 'ringback' }],
  loop: true,
  hangupAfter: null,
})
