/** ISO/IEC 7812-1 Annex B: the check digit of card numbers. */
export function isLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    const doubled = i % 2 === 0 ? digit : digit * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** 13 to 19 digits with a valid check digit; a repeated single digit is a placeholder. */
export const isCardNumber = (digits: string): boolean =>
  digits.length >= 13 && digits.length <= 19 && !/^(\d)\1+$/.test(digits) && isLuhn(digits)

/** Prefixes of card issuers with the length of their numbers, to find a number inside a longer run. */
const ISSUED =
  /^(4(\d{12}|\d{15}|\d{18})|(5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|35\d{14}|6\d{15,18}|(5[06-9])\d{14})$/
export const isIssuedCard = (digits: string): boolean => ISSUED.test(digits) && isCardNumber(digits)

/** Nine digits of an Israeli identity number: weights 1 and 2 in turn from the left, the sum of the cross sums divisible by ten. */
export const isIsraeliId = (digits: string): boolean => /^(?!0{9})\d{9}$/.test(digits) && isLuhn(digits)

/** A number that the Social Security Administration may have issued: no area 000, 666 or 9xx, no group 00, no serial 0000. */
export const isSocialSecurityNumber = (digits: string): boolean =>
  /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits)
