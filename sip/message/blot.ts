/**
 * SIP as it may be shown: what proves who somebody is, encrypts audio, or is a key that somebody has pressed, is blotted out, octet by octet,
 * so that lengths stay true. Messages are Latin-1 strings here, a character for each octet.
 */

const BLOT = '*'
const blot = (text: string): string => BLOT.repeat(text.length)
/** All but its line ends. */
const blotLines = (text: string): string => text.replace(/[^\r\n]/g, BLOT)

/** Bodies of these types tell of calls, not of what is said or pressed in them; of all others nothing is shown. */
const PLAIN =
  /^(?:application\/(?:sdp|dialog-info\+xml|simple-message-summary|reginfo\+xml)|message\/sipfrag)\s*(?:;|$)/i

/** Whether there is anything to blot: most messages have nothing, and this is asked of all. */
const SUSPECT = /authori[sz]ation|authentication-info|\ba=(?:crypto|key-mgmt|ice-pwd):|^k=|sips?:[^\s<>@:]*:/im

/** The lines of a header that goes on in lines which begin with white space (RFC 3261 §7.3.1). */
const CREDENTIALS = /^((?:proxy-)?authori[sz]ation[ \t]*:)([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gim
const AUTHENTICATION_INFO = /^(authentication-info[ \t]*:)([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gim
const PROOF = /((?:^|[\s,])(?:response|rspauth)[ \t]*=[ \t]*)("(?:[^"\\]|\\[\s\S])*"?|[^\s,]+)/gi
/** URIs are looked at one by one: nothing that comes over the wire makes this slower than it is long. */
const URI = /sips?:[^\s<>]+/gi
const CRYPTO_KEY = /^(a=crypto:[^\r\n]*?inline:)([^\s|;]+)/gim
/** Of further keys of one line (RFC 4568 §6.1). */
const NEXT_KEY = /(;[ \t]*inline:)([^\s|;]+)/gi
const OTHER_KEY = /^(a=(?:key-mgmt|ice-pwd):|k=)([^\r\n]*)/gim
const CONTENT_TYPE = /^(?:content-type|c)[ \t]*:[ \t]*([^\r\n]*)/im

/** A whole message, blotted. */
export function blotted(message: string): string {
  const end = /\r?\n\r?\n/.exec(message)
  // Of what is no whole message the first line alone is shown.
  if (end === null)
    return message.replace(/(^[^\r\n]*)([\s\S]*)/, (_, line: string, rest: string) => blotHead(line) + blotLines(rest))
  const at = end.index + end[0].length
  const head = message.slice(0, at)
  return blotHead(head) + blotBody(head, message.slice(at))
}

function blotHead(head: string): string {
  if (!SUSPECT.test(head)) return head
  return head
    .replace(CREDENTIALS, (_, name: string, value: string) => name + blotCredentials(value))
    .replace(AUTHENTICATION_INFO, (_, name: string, value: string) => name + blotProofs(value))
    .replace(URI, blotPassword)
}

/** `sip:user:password@host` (RFC 3261 §19.1.1). */
function blotPassword(uri: string): string {
  const at = uri.lastIndexOf('@')
  const user = uri.indexOf(':') + 1
  const password = uri.indexOf(':', user) + 1
  return password === 0 || password > at ? uri : uri.slice(0, password) + blot(uri.slice(password, at)) + uri.slice(at)
}

const blotProofs = (value: string): string =>
  value.replace(PROOF, (_, name: string, proof: string) => name + proof.replace(/[^"]/g, BLOT))

/** Of a digest the answer; of any other scheme, whose credentials may be the secret itself, all that follows its name. */
function blotCredentials(value: string): string {
  const scheme = /^\s*\S+\s?/.exec(value)?.[0] ?? ''
  if (scheme.trim().toLowerCase() === 'digest') return blotProofs(value)
  return scheme + value.slice(scheme.length).replace(/\S/g, BLOT)
}

function blotBody(head: string, body: string): string {
  if (body === '') return body
  const type = CONTENT_TYPE.exec(head)?.[1]?.trim() ?? 'application/sdp'
  // What an INFO carries may be a key that somebody has pressed (a card's, a PIN's), whatever its type says.
  if (/^INFO /.test(head)) return blotFields(body)
  if (!PLAIN.test(type)) return blotLines(body)
  if (!SUSPECT.test(body)) return body
  return body
    .replace(CRYPTO_KEY, (_, before: string, key: string) => before + blot(key))
    .replace(NEXT_KEY, (_, before: string, key: string) => before + blot(key))
    .replace(OTHER_KEY, (_, before: string, key: string) => before + blot(key))
    .replace(URI, blotPassword)
}

/** Names stay, what they say does not: `Signal=*`. */
const blotFields = (body: string): string =>
  body.replace(
    /^(Signal|Duration)([ \t]*=)([^\r\n]*)|[^\r\n]+/gim,
    (all, name?: string, is?: string, value?: string) => (name === undefined ? blot(all) : name + is + blot(value!)),
  )
