import { parseNameAddr } from '../message/headers.ts'
import { type Headers, toText } from '../message/message.ts'
import { paramValue, unquote } from '../message/params.ts'
import { type Redirect, readRedirects } from './redirects.ts'

/** A party named in a header. */
interface Named {
  uri: string
  displayName: string | null
}

/** An INVITE's statements about its caller besides From, unverified. */
export interface ReceivedIdentity {
  /** P-Asserted-Identity (RFC 3325 §9.1), else a screened Remote-Party-ID, else P-Preferred-Identity. */
  asserted: Named[]
  /** Privacy (RFC 3323 §4.2), in lower case. */
  privacy: string[]
  /** Whom the call was for before, the latest first. */
  redirects: Redirect[]
  /** Identity header fields (RFC 8224 §4). */
  signatures: string[]
}

/** One of `sip:` and one of `tel:` (RFC 3325 §9.1). */
const MAX_IDENTITIES = 2
const MAX_PRIVACY = 8
/** A call has one or two, and one more for each redirection (RFC 8946). */
const MAX_SIGNATURES = 8
const PRIVACY = /^[a-z]{1,20}$/

/** Reads them; never throws, and skips malformed ones. */
export function readIdentity(headers: Headers): ReceivedIdentity {
  const remote = remoteParty(headers)
  const own = partiesOf(headers, 'p-asserted-identity')
  const asserted = own.length > 0 ? own : remote.parties
  const asked = headers.all('privacy').flatMap(value => value.toLowerCase().split(/[;,]/))
  const privacy = [...new Set([...asked.map(value => value.trim()), ...remote.privacy])]
  return {
    asserted: asserted.length > 0 ? asserted : partiesOf(headers, 'p-preferred-identity'),
    privacy: privacy.filter(value => PRIVACY.test(value)).slice(0, MAX_PRIVACY),
    redirects: readRedirects(headers),
    signatures: headers.list('identity').slice(0, MAX_SIGNATURES),
  }
}

const partiesOf = (headers: Headers, name: string): Named[] =>
  headers
    .list(name)
    .flatMap(value => partyOf(value) ?? [])
    .slice(0, MAX_IDENTITIES)

function partyOf(value: string): Named | null {
  const address = parseNameAddr(value)
  if (address === null) return null
  const { uri, displayName } = address
  return { uri: toText(uri), displayName: displayName === null ? null : toText(displayName) }
}

/** Remote-Party-ID never became an RFC, but many switches support nothing else. */
function remoteParty(headers: Headers): { parties: Named[]; privacy: string[] } {
  for (const value of headers.list('remote-party-id')) {
    const params = parseNameAddr(value)?.params
    const said = (name: string): string => unquote(paramValue(params ?? '', name) ?? '').toLowerCase()
    if (params === undefined || (said('party') || 'calling') !== 'calling') continue
    const isPrivate = /^(full|uri|name)\b/.test(said('privacy'))
    const party = said('screen') === 'no' ? null : partyOf(value)
    return { parties: party === null ? [] : [party], privacy: isPrivate ? ['id'] : [] }
  }
  return { parties: [], privacy: [] }
}
