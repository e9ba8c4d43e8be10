import * as assert from 'uvu/assert'
import { isIsraeliId, isLuhn, isSocialSecurityNumber } from '../../../control/organisation/redaction/numbers.ts'
import { makeRedactor } from '../../../control/organisation/redaction/redactor.ts'
import { redactionProblem } from '../../../control/organisation/redaction/settings.ts'
import { suite } from '../../harness.ts'

const test = suite('control/organisation/redaction')

const all = makeRedactor({ card_numbers: true, identity_numbers: ['il_id', 'us_ssn'], patterns: [] })
const cards = makeRedactor({ card_numbers: true, identity_numbers: [], patterns: [] })

test('the check digit is that of ISO/IEC 7812-1 Annex B', () => {
  // Test numbers that card networks publish.
  for (const digits of [
    '4111111111111111',
    '5555555555554444',
    '378282246310005',
    '6011111111111117',
    '30569309025904',
  ]) {
    assert.ok(isLuhn(digits), digits)
    assert.not.ok(isLuhn(`${digits.slice(0, -1)}${(Number(digits.at(-1)) + 1) % 10}`), digits)
  }
})

test('a word that every object of JavaScript knows is a word like others', () => {
  assert.is(all('The constructor has four keys.'), 'The constructor has four keys.')
})

test('a card number is taken out however it is written or said, with what follows it', () => {
  for (const said of [
    'My card is 4111111111111111.',
    'My card is 4111 1111 1111 1111.',
    'My card is 4111-1111-1111-1111.',
    'My card is 4111, 1111, uh, 1111, 1111.',
    'My card is four one one one, one one one one, one one one one, one one one one.',
    'My card is four triple one, double one double one, 1111 and 1111.',
    'My card is 4111 1111 1111 1111 12 27 123.',
    'My card is ٤١١١ ١١١١ ١١١١ ١١١١.',
  ]) {
    assert.is(cards(said), 'My card is [card number].', said)
  }
  assert.is(cards('הכרטיס הוא ארבע אחת אחת אחת 1111 1111 אחת אחת אחת אחת תודה'), 'הכרטיס הוא [card number] תודה')
})

test('a card number that is said in pairs is taken out, and what else is said so stays', () => {
  for (const said of [
    'It is forty-one eleven, eleven eleven, eleven eleven, eleven eleven.',
    'It is forty one eleven eleven eleven 1111 one one one one.',
    'It is fifty-five fifty five, fifty five fifty-five, fifty-five fifty-five, forty-four forty-four.',
    'It is thirty-seven eighty-two eighty-two twenty-four sixty-three ten oh oh five.',
  ]) {
    assert.is(cards(said), 'It is [card number].', said)
  }
  const pairs = 'ארבעים ואחת אחת עשרה אחת עשרה אחת עשרה אחת עשרה אחת עשרה אחת עשרה אחת עשרה'
  assert.is(cards(`הכרטיס הוא ${pairs} תודה`), 'הכרטיס הוא [card number] תודה')
  assert.equal(cards.all(['It is forty-one eleven eleven eleven', 'eleven eleven eleven eleven', 'thanks']), [
    'It is [card number]',
    '[card number]',
    'thanks',
  ])
  for (const said of [
    'It costs forty-nine ninety-nine.',
    'We met in nineteen eighty-four, at ten thirty.',
    'Twenty-five people, and thirty of them at nine.',
    'Call me at seventy-nine forty-six ten eighteen.',
  ]) {
    assert.is(cards(said), said)
    if (!said.startsWith('Call')) assert.not(cards.soFar([said]).isHeld, said)
  }
})

test('a number that only looks like one stays', () => {
  for (const said of [
    'My order is 4111111111111112.',
    'Call me at +1 415 555 0100.',
    'I paid 20 on the 1st, 30 on the 2nd.',
    'It is call_01k90000000000000000000001.',
    'Zero zero zero zero zero zero zero zero zero zero zero zero zero zero zero zero.',
    'There were 3 people, and 2 of them left at 9.',
  ]) {
    assert.is(cards(said), said)
  }
})

test('a number said in pieces is taken out of every piece', () => {
  assert.equal(cards.all(['Sure, it is 4111 1111', '1111', '1111 is the end.', 'Thank you.']), [
    'Sure, it is [card number]',
    '[card number]',
    '[card number] is the end.',
    'Thank you.',
  ])
  assert.equal(cards.all(['It is 4111 1111 for now.', '1111 1111']), ['It is 4111 1111 for now.', '1111 1111'])
})

test('the code of a card is taken out after its name', () => {
  assert.is(cards('The CVV is 123.'), 'The CVV is [card number].')
  for (const words of [
    'the three digits on the back',
    'The last 3 digits',
    'the code on the back of my card',
    'Card code',
  ]) {
    assert.is(cards(`${words} are one two three.`), `${words} are [card number].`)
  }
  for (const other of [
    'She sat on the back seat of bus 123.',
    'The code is 123.',
    'I was on the front line for 1000 days.',
  ]) {
    assert.is(cards(other), other)
  }
  assert.equal(cards.all(['The security code?', 'one two three']), ['The security code?', '[card number]'])
  assert.is(cards('The room is 123.'), 'The room is 123.')
})

test('identity numbers are those that their issuers may have given out', () => {
  assert.ok(isIsraeliId('123456782'))
  assert.not.ok(isIsraeliId('123456789'))
  assert.not.ok(isIsraeliId('000000000'))
  assert.ok(isSocialSecurityNumber('219099999'))
  for (const never of ['000121234', '666121234', '900121234', '219009999', '219090000']) {
    assert.not.ok(isSocialSecurityNumber(never), never)
  }
  assert.is(all('ID 12345678-2, please.'), 'ID [identity number], please.')
  assert.is(all('My social is 219-09-9999.'), 'My social is [identity number].')
  assert.is(cards('My social is 219-09-9999.'), 'My social is 219-09-9999.', 'where nobody asked for it, it stays')
})

test("a customer's own pattern is found in linear time; one that RE2 does not know, or that fits nothing, is refused", () => {
  const own = makeRedactor({
    card_numbers: false,
    identity_numbers: [],
    patterns: [
      { name: 'policy', pattern: '(?i)pol-[0-9]{6}' },
      { name: 'slow', pattern: '(a+)+$' },
    ],
  })
  assert.is(own('It is POL-123456, not pol-12.'), 'It is [policy], not pol-12.')
  assert.is(own(`${'a'.repeat(20_000)}b`).length, 20_001)
  const fault = (pattern: string) => redactionProblem({ patterns: [{ name: 'x', pattern }] })
  assert.match(fault('(?=a)')?.message ?? '', 'RE2')
  assert.match(fault('a*')?.message ?? '', 'an empty text')
  assert.is(fault('a+'), null)
})

test.run()
