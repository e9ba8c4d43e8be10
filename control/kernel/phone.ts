import { parsePhoneNumberFromString } from 'libphonenumber-js'

/** A number in E.164, from that form or from the local form of `country` (ISO 3166); null if it is no valid number. */
export function readPhone(text: string, country: string | null): string | null {
  const options = { extract: false, ...(country === null ? {} : { defaultCountry: country as 'US' }) }
  const number = parsePhoneNumberFromString(text, options)
  return number?.isPossible() ? number.number : null
}

/** The accepted forms of a number, for messages. */
export const phoneForm = (country: string | null): string =>
  country === null ? 'a number in E.164' : `a number in E.164 or in the local form of ${country}`

/** The country code of an E.164 number (`1`, `44`); null: unknown. */
export const callingCodeOf = (number: string): string | null =>
  parsePhoneNumberFromString(number)?.countryCallingCode ?? null
