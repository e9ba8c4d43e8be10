import * as assert from 'uvu/assert'
import { canonicalJson, parseIdentityHeader, passportParts, readPassport } from '../../../sip/identity/passport.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/identity/passport')

/** RFC 8225, Appendix A. */
const EXAMPLE = {
  x5u: 'https://cert.example.org/passport.cer',
  claims: { orig: { tn: '12155551212' }, iat: 1471375418, dest: { uri: ['sip:alice@example.com'] } },
  header: 'eyJhbGciOiJFUzI1NiIsInR5cCI6InBhc3Nwb3J0IiwieDV1IjoiaHR0cHM6Ly9jZXJ0LmV4YW1wbGUub3JnL3Bhc3Nwb3J0LmNlciJ9',
  payload:
    'eyJkZXN0Ijp7InVyaSI6WyJzaXA6YWxpY2VAZXhhbXBsZS5jb20iXX0sImlhdCI6MTQ3MTM3NTQxOCwib3JpZyI6eyJ0biI6IjEyMTU1NTUxMjEyIn19',
  signature: 'VLBCIVDCaeK6M4hLJb6SHQvacAQVvoiiEOWQ_iUkqk79UD81fHQ0E1b3_GluIkba7UWYRM47ZbNFdOJquE35cw',
}
const FULL = `${EXAMPLE.header}.${EXAMPLE.payload}.${EXAMPLE.signature}`

test('header and claims are written as RFC 8225 Appendix A has them, byte by byte', () => {
  const { header, payload } = passportParts({ x5u: EXAMPLE.x5u, ppt: null, claims: EXAMPLE.claims })
  assert.is(Buffer.from(header).toString('base64url'), EXAMPLE.header)
  assert.is(Buffer.from(payload).toString('base64url'), EXAMPLE.payload)
})

test('the full form is read (RFC 8224 §4)', () => {
  const header = parseIdentityHeader(`${FULL};info=<${EXAMPLE.x5u}>;alg=ES256;ppt="shaken"`)
  assert.equal([header?.info, header?.alg, header?.ppt], [EXAMPLE.x5u, 'ES256', 'shaken'])
  assert.equal(readPassport(header!.full!), {
    header: { alg: 'ES256', x5u: EXAMPLE.x5u, ppt: null },
    orig: '12155551212',
    dest: ['sip:alice@example.com'],
    iat: 1471375418,
    attest: null,
    origId: null,
    div: null,
    isOfKeys: false,
  })
})

test('the compact form has a signature alone (RFC 8225 §7)', () => {
  const header = parseIdentityHeader(`..${EXAMPLE.signature};info=<${EXAMPLE.x5u}>`)
  assert.equal([header?.full, header?.signature, header?.ppt], [null, EXAMPLE.signature, null])
})

test('what is no Identity header is none', () => {
  const tail = `;info=<${EXAMPLE.x5u}>`
  for (const value of [
    '',
    tail,
    `a.b${tail}`,
    `a.b.c.d${tail}`,
    `a.!.c${tail}`,
    `..${tail}`,
    `a..c${tail}`,
    FULL,
    `${FULL};info=${EXAMPLE.x5u}`,
    `${FULL};info=<${EXAMPLE.x5u}>alg=ES256`,
    `${'a'.repeat(9000)}.b.c${tail}`,
  ]) {
    assert.is(parseIdentityHeader(value), null, value)
  }
})

test('claims that are none are refused, whatever they are', () => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = { alg: 'ES256', typ: 'passport', x5u: 'https://x' }
  const good = { orig: { tn: '1' }, dest: { tn: ['2'] }, iat: 1 }
  const read = (header: unknown, claims: unknown) => readPassport({ header: part(header), payload: part(claims) })
  assert.is(read(head, good)?.orig, '1')
  for (const claims of [
    null,
    [],
    'text',
    { ...good, iat: '1' },
    { ...good, orig: '{"tn":"1"}' },
    { ...good, orig: { tn: ['1', '3'] } },
    { ...good, dest: { tn: [] } },
    { ...good, dest: { tn: [7] } },
  ]) {
    assert.is(read(head, claims), null, JSON.stringify(claims))
  }
  for (const header of [{}, { ...head, typ: 'JWT' }, { ...head, x5u: 1 }, { ...head, ppt: 5 }]) {
    assert.is(read(header, good), null)
  }
  assert.is(readPassport({ header: 'e30', payload: 'bm8ganNvbg' }), null)
  assert.is(read(head, { ...good, attest: 'D' })?.attest, null)
})

test('keys stand in lexical order at every depth, without white space (RFC 8225 §9)', () => {
  assert.is(
    canonicalJson({ b: [{ d: 1, c: 'x y' }], a: { f: null, e: true } }),
    '{"a":{"e":true,"f":null},"b":[{"c":"x y","d":1}]}',
  )
})

test.run()
