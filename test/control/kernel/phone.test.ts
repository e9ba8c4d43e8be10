import * as assert from 'uvu/assert'
import { dialledPhone } from '../../../control/kernel/phone.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/phone')

/** What people dial, where, and the number that it is. */
const DIALLED: [string, string | null, string | null][] = [
  ['0301234567', 'DE', '+49301234567'],
  ['0301234', 'DE', '+49301234'],
  ['00493012345', 'DE', '+493012345'],
  ['00390669123456', 'DE', '+390669123456'],
  ['02079460000', 'GB', '+442079460000'],
  ['0669123456', 'IT', '+390669123456'],
  ['912345678', 'ES', '+34912345678'],
  ['22222222', 'DK', '+4522222222'],
  ['2125551234', 'US', '+12125551234'],
  ['12125551234', 'US', '+12125551234'],
  ['84951234567', 'RU', '+74951234567'],
  // International prefixes other than 00, and 00 where it is none.
  ['01149301234567', 'US', '+49301234567'],
  ['0049301234567', 'US', '+49301234567'],
  ['0049301234', 'US', '+49301234'],
  ['001149301234567', 'AU', '+49301234567'],
  ['0049301234567', 'AU', '+49301234567'],
  ['00493012345', null, '+493012345'],
  // Numbers of the caller's own town, short ones, calls for help, and nothing that is known.
  ['301234', 'DE', null],
  ['30123456', 'DE', null],
  ['116117', 'IT', null],
  ['5551234', 'US', null],
  ['112', 'DE', null],
  ['000', 'AU', null],
  ['00112', 'DE', null],
  ['0301234567', null, null],
  ['reception', 'DE', null],
  ['*21*0301234567#', 'DE', null],
]

for (const [digits, country, number] of DIALLED) {
  test(`${digits} in ${country ?? 'no country'} is ${number ?? 'no number'}`, () => {
    assert.is(dialledPhone(digits, country), number)
  })
}

test.run()
