import * as assert from 'uvu/assert'
import { dialledNumber } from '../../../sip/identity/dialled-number.ts'
import { identityFields, type SentIdentity } from '../../../sip/identity/sent.ts'
import { canonicalNumber, telephoneNumber } from '../../../sip/identity/telephone-number.ts'
import { parseUri, type Uri } from '../../../sip/message/uri.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/identity/sent')

const CALLER: SentIdentity = {
  form: 'from',
  caller: 'sip:+15550100100@gw',
  isPrivate: false,
  redirects: [],
  redirectForm: 'none',
}
const TARGET = 'sip:+15550100200@gw'
const fields = (more: Partial<SentIdentity>): string[] =>
  identityFields({ ...CALLER, ...more }, TARGET).map(([name, value]) => `${name}: ${value}`)

test('who calls is told in the header that the far end reads', () => {
  assert.equal(fields({}), [])
  assert.equal(fields({ form: 'asserted' }), ['P-Asserted-Identity: <sip:+15550100100@gw>'])
  assert.equal(fields({ form: 'preferred' }), ['P-Preferred-Identity: <sip:+15550100100@gw>'])
  assert.equal(fields({ form: 'remote_party_id' }), [
    'Remote-Party-ID: <sip:+15550100100@gw>;party=calling;screen=yes;privacy=off',
  ])
  assert.equal(fields({ form: 'asserted', caller: 'sip:jürgen@gw' }), ['P-Asserted-Identity: <sip:j%C3%BCrgen@gw>'])
})

test('an anonymous call asks for Privacy: id, and names nobody where no header but From would', () => {
  assert.equal(fields({ isPrivate: true }), ['Privacy: id'])
  assert.equal(fields({ form: 'asserted', isPrivate: true }), [
    'P-Asserted-Identity: <sip:+15550100100@gw>',
    'Privacy: id',
  ])
  assert.match(fields({ form: 'remote_party_id', isPrivate: true }).join(), /;privacy=full/)
  assert.equal(fields({ form: 'asserted', caller: null, isPrivate: true }), ['Privacy: id'])
})

const REDIRECTS: SentIdentity['redirects'] = [
  { uri: 'sip:+15550002@gw', reason: 'no-answer', count: 1, isPrivate: true },
  { uri: 'sip:+15550001@gw', reason: 'unconditional', count: 2, isPrivate: false },
]

test('whom the call was for stands in Diversion, the latest first', () => {
  assert.equal(fields({ redirectForm: 'diversion', redirects: REDIRECTS }), [
    'Diversion: <sip:+15550002@gw>;reason="no-answer";counter=1;privacy=full',
    'Diversion: <sip:+15550001@gw>;reason=unconditional;counter=2;privacy=off',
  ])
  assert.equal(fields({ redirectForm: 'none', redirects: REDIRECTS }), [])
})

test('or in History-Info, from the first target to the present one (RFC 7044 §9)', () => {
  assert.equal(fields({ redirectForm: 'history_info', redirects: REDIRECTS }), [
    'History-Info: <sip:+15550001@gw>;index=1, ' +
      '<sip:+15550002@gw;cause=302?Privacy=history>;index=1.1;mp=1, ' +
      `<${TARGET};cause=408>;index=1.1.1;mp=1.1`,
  ])
  assert.equal(fields({ redirectForm: 'history_info' }), [])
})

test('a telephone number is read out of tel: URIs, user=phone and a phone-context (RFC 3966)', () => {
  const number = (uri: string): string | null => telephoneNumber(parseUri(uri) as Uri)
  assert.is(number('tel:+1-201-555-0123'), '+12015550123')
  assert.is(number('tel:(201)555-0123;phone-context=+1'), '+12015550123')
  assert.is(number('tel:7042;phone-context=example.com'), '7042')
  assert.is(number('sip:+1-201-555-0123;npdi;rn=+12019990000@gw;user=phone'), '+12015550123')
  assert.is(number('sip:5550123;phone-context=+1201@gw;user=phone'), '+12015550123')
  // As it is dialled in its country, with the trunk zero; that of Italy is part of the number.
  const dialled = (uri: string): string | null => dialledNumber(parseUri(uri) as Uri)
  assert.is(dialled('tel:0301234;phone-context=+49'), '+49301234')
  assert.is(dialled('sip:030-1234567;phone-context=+49@gw;user=phone'), '+49301234567')
  assert.is(dialled('tel:06-69123456;phone-context=+39'), '+390669123456')
  assert.is(dialled('tel:0123456;phone-context=+990'), '+9900123456')
  assert.is(dialled('tel:01;phone-context=+49'), '+4901')
  assert.is(number('sip:alice@gw'), null)
  assert.is(canonicalNumber('+44 20'), null)
  assert.is(canonicalNumber('+44-(20)7183.8750'), '442071838750')
})

test.run()
