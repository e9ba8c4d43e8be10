import { parsePhoneNumberFromString } from 'libphonenumber-js'
import type { Uri } from '../message/uri.ts'
import { telephoneNumber } from './telephone-number.ts'

/**
 * The number of a URI. One that is written as it is dialled in the country of its `phone-context` (`0301234;phone-context=+49`) loses its
 * trunk zero, but not in Italy, where the zero is part of the number. In a file of its own: audio threads need no table of all countries.
 */
export const dialledNumber = (uri: Uri): string | null => telephoneNumber(uri, withoutTrunkZero)

function withoutTrunkZero(number: string): string {
  const read = parsePhoneNumberFromString(number, { extract: false })
  return read?.isPossible() === true ? read.number : number
}
