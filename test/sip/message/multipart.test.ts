import * as assert from 'uvu/assert'
import { Headers } from '../../../sip/message/message.ts'
import { isDescription, partsOf } from '../../../sip/message/multipart.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/message/multipart')

function partsIn(type: string, lines: string[]) {
  const headers = new Headers()
  headers.push('content-type', type)
  return partsOf(headers, Buffer.from(lines.join('\r\n'), 'latin1'))
}
const textsIn = (type: string, lines: string[]): [string | null, string][] =>
  partsIn(type, lines).map(({ type: own, bytes }) => [own, Buffer.from(bytes).toString('latin1')])

test('a description beside the signalling of the telephone network is taken out octet by octet (RFC 2046 §5.1.1, RFC 3204)', () => {
  const sdp = 'v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n'
  const found = textsIn('multipart/mixed;boundary="unique-boundary-1"', [
    'a preamble',
    '--unique-boundary-1',
    'Content-Type: application/sdp',
    '',
    sdp,
    '--unique-boundary-1 ',
    'Content-Type: application/isup; version=itu-t92+;',
    ' base=itu-t92+',
    'Content-Disposition: signal; handling=optional',
    '',
    '\x01\x00\r\n--unique-boundary-1x\r\n\xff',
    '--unique-boundary-1--',
    'an epilogue',
  ])
  assert.equal(found, [
    ['application/sdp', sdp],
    ['application/isup; version=itu-t92+; base=itu-t92+', '\x01\x00\r\n--unique-boundary-1x\r\n\xff'],
  ])
})

test('parts of parts count, as far as they nest three deep; a body without end has what is whole in it', () => {
  const inner = ['--b', 'c: application/sdp', '', 'x', '--b--']
  assert.equal(
    textsIn('multipart/mixed; boundary=a', [
      '--a',
      'Content-Type: multipart/alternative;boundary=b',
      '',
      ...inner,
      '--a--',
    ]),
    [['application/sdp', 'x']],
  )
  assert.equal(textsIn('multipart/mixed; boundary=a', ['--a', 'c: application/sdp', '', 'x']), [])
  const nested = (depth: number): string[] =>
    depth === 0
      ? ['c: application/sdp', '', 'x']
      : [`c: multipart/mixed;boundary=n${depth}`, '', `--n${depth}`, ...nested(depth - 1), `--n${depth}--`]
  for (const [depth, count] of [
    [2, 1],
    [3, 0],
  ] as const) {
    assert.is(textsIn('multipart/mixed; boundary=a', ['--a', ...nested(depth), '--a--']).length, count, String(depth))
  }
})

test('of many parts twenty are read, and none of a body without a boundary', () => {
  const many = Array.from({ length: 500 }, () => ['--a', '', 'x']).flat()
  assert.is(partsIn('multipart/mixed; boundary=a', [...many, '--a--']).length, 20)
  assert.is(partsIn('multipart/mixed', [...many, '--a--']).length, 0)
})

test('what is encoded, or for an early session (RFC 3959), is no description of the session', () => {
  const part = (...head: string[]): boolean =>
    partsIn('multipart/mixed;boundary=a', ['--a', 'Content-Type: application/sdp', ...head, '', 'v=0', '--a--']).some(
      isDescription,
    )
  assert.ok(part())
  assert.ok(part('Content-Disposition: session;handling=required', 'Content-Transfer-Encoding: binary'))
  assert.not.ok(part('Content-Disposition: early-session'))
  assert.not.ok(part('Content-Transfer-Encoding: base64'))
  assert.not.ok(part('Content-Encoding: gzip'))
})

test.run()
