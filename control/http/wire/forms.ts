/**
 * What a text must be, in words, for each pattern and format of the API: an error quotes this instead of the regular expression. A key that ends
 * with a class of characters stands for all patterns that add a count to it, such as `^[0-9]{4,8}$`.
 */
const FORMS: Readonly<Record<string, string>> = {
  'date-time': 'a time with its offset, such as 2026-11-27T10:00:00Z',
  date: 'a date, such as 2026-11-27',
  email: 'an e-mail address',
  '^[0-9]': 'digits',
  '^[A-Z]': 'capital letters',
  '^[0-9*#]': 'characters of 0 to 9, * and #',
  '^[0-9*#A-D]': 'keys of 0 to 9, *, # and A to D',
  '^[A-Za-z0-9-]': 'letters, digits or -',
  '^[A-Za-z0-9_-]': 'letters, digits, _ or -',
  '^[A-Za-z0-9_.-]': 'letters, digits, _, . or -',
  '^[A-Za-z0-9.:_\\[\\]-]': 'letters, digits, ., :, _, - or brackets of an IPv6 address',
  '^[ -~]': 'printable ASCII characters',
  '^[^\\[\\]\\r\\n]': 'characters without brackets and line breaks',
  '^[0-9*#]?$': 'one key of 0 to 9, * and #, or empty',
  '^[0-9]*$': 'digits',
  '^[^\\r\\n]*\\S[^\\r\\n]*$': 'one line that is not blank',
  '^[^\\x00-\\x1f\\x7f]*$': 'text without control characters',
  '^[^\\p{Cc}]*\\S[^\\p{Cc}]*$': 'text without control characters, and not blank',
  '^[A-Za-z][A-Za-z0-9-]*$': 'a letter, followed by letters, digits or -',
  '^[A-Za-z][A-Za-z0-9_]*$': 'a letter, followed by letters, digits or _',
  '^[A-Za-z][A-Za-z0-9_]{0,63}$': 'a letter, followed by at most 63 letters, digits or _',
  '^[A-Za-z0-9+][A-Za-z0-9._+-]{2,63}$': '3 to 64 letters, digits, ., _, + or -, not beginning with ., _ or -',
  '^usr_[A-Za-z0-9]+$': 'the ID of a user, usr_…',
  '^team_[A-Za-z0-9]+$': 'the ID of a team, team_…',
  '\\S': 'text that is not blank',
  '^\\S': 'text that does not begin with a space (write + as %2B in a URL)',
  '^\\+[1-9][0-9]{1,14}$': 'a number in E.164, such as +15005550006',
  '^(\\+[1-9][0-9]{1,14})?$': 'a number in E.164, such as +15005550006, or empty',
  '^(\\+[1-9][0-9]{1,14}|sip:[^\\s<>"]{1,300})$': 'a number in E.164, such as +15005550006, or a SIP URI',
  '^\\+[0-9]{0,15}$': 'the beginning of a number in E.164, such as +49',
  '^[^*\\s]*\\*?$': 'text without spaces, with * only at its end',
  '^https?://[^\\s]+$': 'an http:// or https:// URL',
  '^https?://[^\\s{}/?#]+([/?#][^\\s]*)?$': 'an http:// or https:// URL, without {{…}} in its host',
  '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$': 'a language tag, such as en or en-GB',
  '^(([01][0-9]|2[0-3]):[0-5][0-9])$': 'a time of day, 00:00 to 23:59',
  '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$': 'a time of day, 00:00 to 24:00',
  '^[0-5]?[0-9]( [^ ]+){4}$': 'a cron expression of five fields, the first a single minute, such as 0 7 * * 1',
}

const COUNTED = /^(\^\[.*\])\{(\d+)(?:,(\d+))?\}\$$/

/** For example `must be 4 to 8 digits`; undefined: the table has no words for this pattern. */
export function formOf(pattern: string): string | undefined {
  const [, characters = '', least, most] = COUNTED.exec(pattern) ?? []
  const form = FORMS[characters]
  if (form !== undefined) return `must be ${most === undefined ? least : `${least} to ${most}`} ${form}`
  return FORMS[pattern] === undefined ? undefined : `must be ${FORMS[pattern]}`
}
