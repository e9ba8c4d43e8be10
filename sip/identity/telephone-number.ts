import { type Uri, uriParam, userOf } from '../message/uri.ts'

/** RFC 3966 §5.1.1 `visual-separator`. */
const SEPARATORS = /[-.()]/g
const GLOBAL = /^\+[0-9]+$/
const LOCAL = /^[0-9A-Da-d*#]+$/

/**
 * The number of a `tel:` URI, or of a `sip:` URI with a number as its user part: without visual separators and parameters, with the `+` and
 * digits of a `phone-context` prepended (RFC 3966 §5.1.5). Null: it has no number. `inCountry`: reads what begins with a trunk zero behind
 * that.
 */
export function telephoneNumber(uri: Uri, inCountry = (number: string): string => number): string | null {
  const [user = '', ...params] = (userOf(uri) ?? '').split(';')
  const bare = user.replace(SEPARATORS, '')
  if (GLOBAL.test(bare)) return bare
  if (!LOCAL.test(bare)) return null
  const context = (uri.scheme === 'tel' ? uriParam(uri, 'phone-context') : contextOf(params)) ?? ''
  const prefix = context.replace(SEPARATORS, '')
  if (!GLOBAL.test(prefix) || !/^[0-9]+$/.test(bare)) return bare
  return bare.startsWith('0') ? inCountry(prefix + bare) : prefix + bare
}

/** Parameters of a telephone number are in the user part of a `sip:` URI (RFC 3261 §19.1.6). */
const contextOf = (params: readonly string[]): string | null =>
  params.find(param => /^phone-context=/i.test(param))?.slice('phone-context='.length) ?? null

/** A number in the form of PASSporTs (RFC 8225 §5.2.1): its digits, `*` and `#`; null: it has none. */
export function canonicalNumber(number: string): string | null {
  const canonical = number.replace(SEPARATORS, '').replace(/^\+/, '')
  return /^[0-9*#]{1,30}$/.test(canonical) ? canonical : null
}
