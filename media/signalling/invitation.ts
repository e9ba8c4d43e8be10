import type { HeaderFields, HeaderReader, InviteRequest } from '../../sip/agent-types.ts'
import { EARLY_MEDIA_SUPPORTED } from '../../sip/message/early-media.ts'
import { sentIdentity } from './caller-identity.ts'
import { SDP } from './descriptions.ts'
import type { Line } from './line.ts'
import { transferFields, type Way } from './ways.ts'

/** Maximum length that is passed on; a network carries 128 octets (RFC 7433 §3.3) [characters]. */
const MAX_USER_TO_USER = 500
const SESSION_ID = /^([\da-f]{32})(?:[;\s]|$)/i
/** Session ID of the called party, which is not known yet (RFC 7989 §5). */
const NIL = '0'.repeat(32)

const USER_TO_USER = 'User-to-User'

/** User-to-user information (RFC 7433), from a message. */
export const userToUser = (header: HeaderReader): HeaderFields => userToUserOf(header(USER_TO_USER))

export const userToUserOf = (data: string | null): HeaderFields =>
  data === null || data.length > MAX_USER_TO_USER ? [] : [[USER_TO_USER, data]]

/** The same fields with this user-to-user information, if there is any, in the place of their own. */
export const saying = (data: HeaderFields, fields: HeaderFields): HeaderFields =>
  data.length === 0 ? fields : [...data, ...fields.filter(([name]) => name !== USER_TO_USER)]

/** Header fields that a forwarded call takes over from the caller's INVITE: user-to-user information, and the session ID. */
export function onwardFields(header: HeaderReader): HeaderFields {
  const session = SESSION_ID.exec(header('Session-ID') ?? '')?.[1]?.toLowerCase()
  return [
    ...userToUser(header),
    ...(session === undefined || session === NIL ? [] : [['Session-ID', `${session};remote=${NIL}`] as const]),
  ]
}

/** Parameters of a call to a far end over one way. */
export function invitationOf(
  { target, peer, signature = [] }: Way,
  { description, maxForwards, onward }: { description: Uint8Array } & Pick<Line, 'maxForwards' | 'onward'>,
): InviteRequest {
  const { headers, ...from } = sentIdentity(target)
  // Between networks: nobody else gates it.
  const asked = target.connectionId === undefined ? [] : EARLY_MEDIA_SUPPORTED
  const said = saying(userToUserOf(target.userToUser ?? null), onward)
  return {
    to: target.uri,
    ...from,
    target: peer,
    publicOnly: target.publicOnly,
    maxForwards,
    ...(target.route === undefined ? {} : { route: target.route }),
    ...(target.credentials === null ? {} : { credentials: target.credentials }),
    ...(target.reliable === 'off' ? { withoutReliable: true } : {}),
    headers: [...headers, ...signature, ...transferFields(target), ...asked, ...said],
    body: { type: SDP, bytes: description },
  }
}
