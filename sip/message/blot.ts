/**
 * SIP messages in a form that may be shown: credentials, encryption keys and pressed keys are masked octet by octet,
 * so that lengths stay true. Messages are Latin-1 strings here, one character per octet.
 */

const BLOT = '*'
const blot = (text: string): string => BLOT.repeat(text.length)
/** Everything but line ends. */
const blotLines = (text: string): string => text.replace(/[^\r\n]/g, BLOT)

/** Bodies of these types describe calls, not what is said or pressed in them; all others are masked. */
const PLAIN =
  /^(?:application\/(?:sdp|dialog-info\+xml|simple-message-summary|reginfo\+xml)|message\/sipfrag)\s*(?:;|$)/i

/** Whether there is anything to mask: usually not, and every message is checked. */
const SUSPECT = /authori[sz]ation|authentication-info|\ba=(?:crypto|key-mgmt|ice-pwd):|^k=|sips?:[^\s<>@:]*:/im

/** Names of fields that hold secrets, other than those of SIP itself: `X-Api-Token`, `Cookie`, `X-Auth`. */
const SECRET =
  /token|secret|passw|passphrase|credential|cookie|authori[sz]|api[-_]?key|(?<![a-z])(?:auth|key|pin|pwd|pass)(?![a-z])/i
/** Whether there is such a field: usually not. */
const SUSPECT_FIELD = new RegExp(`^[^\\s:]*(?:${SECRET.source})`, 'im')
const FIELD = /^([^\s:]+)([ \t]*:)([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gm
const OWN_CREDENTIALS = /^(?:proxy-)?authori[sz]ation$/i

/** The lines of a header that continues in lines beginning with white space (RFC 3261 §7.3.1). */
const CREDENTIALS = /^((?:proxy-)?authori[sz]ation[ \t]*:)([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gim
const AUTHENTICATION_INFO = /^(authentication-info[ \t]*:)([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gim
const PROOF = /((?:^|[\s,])(?:response|rspauth)[ \t]*=[ \t]*)("(?:[^"\\]|\\[\s\S])*"?|[^\s,]+)/gi
/** URIs are processed one by one, so that the time stays linear in the length of any input. */
const URI = /sips?:[^\s<>]+/gi
const CRYPTO_KEY = /^(a=crypto:[^\r\n]*?inline:)([^\s|;]+)/gim
/** Further keys in one line (RFC 4568 §6.1). */
const NEXT_KEY = /(;[ \t]*inline:)([^\s|;]+)/gi
const OTHER_KEY = /^(a=(?:key-mgmt|ice-pwd):|k=)([^\r\n]*)/gim
const CONTENT_TYPE = /^(?:content-type|c)[ \t]*:[ \t]*([^\r\n]*)/im

/** A whole message, masked. */
export function blotted(message: string): string {
  const end = /\r?\n\r?\n/.exec(message)
  // Of an incomplete message only the first line is shown.
  if (end === null)
    return message.replace(/(^[^\r\n]*)([\s\S]*)/, (_, line: string, rest: string) => blotHead(line) + blotLines(rest))
  const at = end.index + end[0].length
  const head = message.slice(0, at)
  return blotHead(head) + blotBody(head, message.slice(at))
}

function blotHead(all: string): string {
  const head = SUSPECT_FIELD.test(all) ? all.replace(FIELD, blotField) : all
  if (!SUSPECT.test(head)) return head
  return head
    .replace(CREDENTIALS, (_, name: string, value: string) => name + blotCredentials(value))
    .replace(AUTHENTICATION_INFO, (_, name: string, value: string) => name + blotProofs(value))
    .replace(URI, blotPassword)
}

/** Of a field that is a secret by its name, everything. What SIP calls credentials is masked in part. */
function blotField(field: string, name: string, colon: string, value: string): string {
  return SECRET.test(name) && !OWN_CREDENTIALS.test(name) ? name + colon + value.replace(/\S/g, BLOT) : field
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

/** For a digest its answer; for any other scheme, whose credentials may be the secret itself, everything after its name. */
function blotCredentials(value: string): string {
  const scheme = /^\s*\S+\s?/.exec(value)?.[0] ?? ''
  if (scheme.trim().toLowerCase() === 'digest') return blotProofs(value)
  return scheme + value.slice(scheme.length).replace(/\S/g, BLOT)
}

function blotBody(head: string, body: string): string {
  if (body === '') return body
  const type = CONTENT_TYPE.exec(head)?.[1]?.trim() ?? 'application/sdp'
  // An INFO may contain a pressed key (of a card, a PIN), whatever its type says.
  if (/^INFO /.test(head)) return blotFields(body)
  if (!PLAIN.test(type)) return blotLines(body)
  if (!SUSPECT.test(body)) return body
  return body
    .replace(CRYPTO_KEY, (_, before: string, key: string) => before + blot(key))
    .replace(NEXT_KEY, (_, before: string, key: string) => before + blot(key))
    .replace(OTHER_KEY, (_, before: string, key: string) => before + blot(key))
    .replace(URI, blotPassword)
}

/** Keeps names and masks values: `Signal=*`. */
const blotFields = (body: string): string =>
  body.replace(
    /^(Signal|Duration)([ \t]*=)([^\r\n]*)|[^\r\n]+/gim,
    (all, name?: string, is?: string, value?: string) => (name === undefined ? blot(all) : name + is + blot(value!)),
  )
