import { parsePhoneNumberFromString } from 'libphonenumber-js'

export const E164 = /^\+[1-9][0-9]{1,14}$/

/** A number in E.164, from that form or from the local form of `country` (ISO 3166); null if it is no valid number. */
export function readPhone(text: string, country: string | null): string | null {
  const number = parsePhoneNumberFromString(text, optionsFor(country))
  return number?.isPossible() ? number.number : null
}

/** The accepted forms of a number, for messages. */
export const phoneForm = (country: string | null): string =>
  country === null ? 'a number in E.164' : `a number in E.164 or in the local form of ${country}`

/** The country code of an E.164 number (`1`, `44`); null: unknown. */
export const callingCodeOf = (number: string): string | null =>
  parsePhoneNumberFromString(number)?.countryCallingCode ?? null

/** The country of an E.164 number (ISO 3166); null: unknown. */
export const countryOf = (number: string): string | null => parsePhoneNumberFromString(number)?.country ?? null

/** Digits that may be a number as people dial it. Fewer are an extension, a service number or a call for help. */
export const DIALLED = /^[0-9]{7,17}$/

/** The number (E.164) that a person in `country` dials by these digits: an international one, or a national one; null: none. */
export function dialledPhone(digits: string, country: string | null): string | null {
  if (!DIALLED.test(digits)) return null
  const read = country === null ? undefined : parsePhoneNumberFromString(digits, optionsFor(country))
  // 00 where that is no prefix of the country's own: ITU-T E.164 asks for it, and phone books have it.
  if (/^00[1-9]/.test(digits) && read?.isValid() !== true) return `+${digits.slice(2)}`
  if (read?.isPossible() !== true) return null
  // Without the zero of its country it is a number of the caller's town.
  const isLocal = !digits.startsWith('0') && read.formatNational().startsWith('0') && read.number.endsWith(digits)
  return isLocal ? null : read.number
}

const optionsFor = (country: string | null) => ({
  extract: false,
  ...(country === null ? {} : { defaultCountry: country as 'US' }),
})
