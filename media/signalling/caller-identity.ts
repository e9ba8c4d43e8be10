import type { HeaderFields, InviteRequest, Party, UaEvent } from '../../sip/agent-types.ts'
import { ANONYMOUS, identityFields } from '../../sip/identity/sent.ts'
import { cutTo } from '../../sip/message/cut.ts'
import type { ClaimedIdentity, DialTarget } from '../protocol.ts'
import { partyOf } from './line.ts'

/** Maximum length of a name from outside [characters]. */
const MAX_NAME = 100
const CONTROLS = /\p{Cc}+/gu

/** The caller's identity in an INVITE besides From, in the channel's terms; undefined: none. */
export function claimedIdentity({
  from,
  identity,
}: Extract<UaEvent, { kind: 'incoming' }>): ClaimedIdentity | undefined {
  const { asserted, privacy, redirects } = identity
  const displayName = nameOf(from)
  if (displayName === null && asserted.length + privacy.length + redirects.length === 0) return undefined
  return {
    displayName,
    asserted: asserted.map(party => ({ ...partyOf(party.uri), displayName: nameOf(party) })),
    privacy,
    redirects: redirects.map(({ uri, ...redirect }) => ({ party: partyOf(uri), ...redirect })),
  }
}

function nameOf({ displayName }: Party): string | null {
  const name = cutTo((displayName ?? '').replace(CONTROLS, ' ').trim(), MAX_NAME)
  return name === '' ? null : name
}

/** From, and the other headers that identify the caller to a far end. */
export function sentIdentity({ uri, from, identity }: DialTarget): Pick<InviteRequest, 'displayName' | 'from'> & {
  headers: HeaderFields
} {
  if (identity === undefined) return { from: from.uri, headers: [] }
  const headers = identityFields(identity, uri)
  return identity.isPrivate ? { from: ANONYMOUS, displayName: 'Anonymous', headers } : { from: from.uri, headers }
}
