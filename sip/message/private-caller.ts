/**
 * Messages of a call whose caller has requested privacy (RFC 3323, RFC 3325), in a form that may be shown: what names the caller is masked
 * octet by octet. Messages are Latin-1 strings here, one character per octet.
 */

/** The whole value of a header, with continuation lines (RFC 3261 §7.3.1). */
const VALUE = String.raw`[ \t]*:(?:[^\r\n]|\r?\n[ \t])*?`
const PRIVACY = new RegExp(String.raw`^privacy${VALUE}\b(?:id|user|header)\b`, 'im')
const PRIVATE_PARTY = new RegExp(
  String.raw`^remote-party-id${VALUE};[ \t]*privacy[ \t]*=[ \t]*"?(?:full|uri|name)`,
  'im',
)

/** An INVITE as it came in. */
export const wantsPrivacy = (invite: string): boolean => PRIVACY.test(invite) || PRIVATE_PARTY.test(invite)

/** Headers that name the caller, or who has its signature, page or picture, in messages of either side. */
const NAMING =
  'p-asserted-identity|p-preferred-identity|remote-party-id|identity|y|referred-by|b|reply-to|call-info|organization|subject|s'
const headers = (names: string): RegExp =>
  new RegExp(`^((?:${names})[ \\t]*:)([^\\r\\n]*(?:\\r?\\n[ \\t][^\\r\\n]*)*)`, 'gim')
/** Headers in messages from the caller, and from us. A response has the same From as its request. */
const OF_CALLERS = { request: headers(`from|f|contact|m|${NAMING}`), response: headers(`to|t|contact|m|${NAMING}`) }
const OF_OURS = { request: headers(`to|t|${NAMING}`), response: headers(`from|f|${NAMING}`) }
const USER_OF_TARGET = /^([A-Z]+ sips?:)([^\s@]*)(?=@)/
const USER_OF_ORIGIN = /^(o=)(\S+)/m
const TAG = /(;[ \t]*tag[ \t]*=[ \t]*[^\s;,>]+)/i

/** A message of a dialog that such a caller has begun with us. */
export function withoutCaller(message: string, isSent: boolean): string {
  const end = /\r?\n\r?\n/.exec(message)?.index ?? message.length
  const kind = message.startsWith('SIP/') ? 'response' : 'request'
  const head = message
    .slice(0, end)
    .replace((isSent ? OF_OURS : OF_CALLERS)[kind], (_, name: string, value: string) => name + withoutParty(value))
  const body = message.slice(end)
  if (!isSent) return head + body.replace(USER_OF_ORIGIN, (_, field: string, user: string) => field + blot(user))
  return head.replace(USER_OF_TARGET, (_, before: string, user: string) => before + blot(user)) + body
}

/** Keeps the tags, by which a dialog is identified. */
const withoutParty = (value: string): string =>
  value
    .split(TAG)
    .map((part, index) => (index % 2 === 1 ? part : blot(part)))
    .join('')

const blot = (text: string): string => text.replace(/[^\s<>"]/g, '*')
