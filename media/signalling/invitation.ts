import type { InviteRequest } from '../../sip/agent-types.ts'
import { EARLY_MEDIA_SUPPORTED } from '../../sip/message/early-media.ts'
import { sentIdentity } from './caller-identity.ts'
import { SDP } from './descriptions.ts'
import { transferFields, type Way } from './ways.ts'

/** Parameters of a call to a far end over one way. */
export function invitationOf(
  { target, peer, signature = [] }: Way,
  { description, maxForwards }: { description: Uint8Array; maxForwards: number },
): InviteRequest {
  const { headers, ...from } = sentIdentity(target)
  // Between networks: nobody else gates it.
  const asked = target.connectionId === undefined ? [] : EARLY_MEDIA_SUPPORTED
  return {
    to: target.uri,
    ...from,
    target: peer,
    publicOnly: target.publicOnly,
    maxForwards,
    ...(target.route === undefined ? {} : { route: target.route }),
    ...(target.credentials === null ? {} : { credentials: target.credentials }),
    ...(target.reliable === 'off' ? { withoutReliable: true } : {}),
    headers: [...headers, ...signature, ...transferFields(target), ...asked],
    body: { type: SDP, bytes: description },
  }
}
