import { parsePhoneNumberFromString } from 'libphonenumber-js'

/** A number in E.164, of a text in that form or in the local form of `country` (ISO 3166); null when it cannot be one. */
export function readPhone(text: string, country: string | null): string | null {
  const options = { extract: false, ...(country === null ? {} : { defaultCountry: country as 'US' }) }
  const number = parsePhoneNumberFromString(text, options)
  return number?.isPossible() ? number.number : null
}

/** How a number may be written, for messages. */
export const phoneForm = (country: string | null): string =>
  country === null ? 'a number in E.164' : `a number in E.164 or in the local form of ${country}`

/** The country code of a number in E.164, as of its beginning (`1`, `44`); null: there is no such country. */
export const callingCodeOf = (number: string): string | null =>
  parsePhoneNumberFromString(number)?.countryCallingCode ?? null
