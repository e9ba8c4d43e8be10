import * as assert from 'uvu/assert'
import { type ReceivedIdentity, readIdentity } from '../../../sip/identity/received.ts'
import { type SipRequest, toByteString } from '../../../sip/message/message.ts'
import { parseMessage } from '../../../sip/message/parse.ts'
import { suite } from '../../harness.ts'
import { message } from '../pipe.ts'

const test = suite('sip/identity/received')

function read(...fields: string[]): ReceivedIdentity {
  const bytes = message(
    'INVITE sip:bob@192.0.2.2 SIP/2.0',
    'Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1',
    'From: <sip:anonymous@anonymous.invalid>;tag=1',
    'To: <sip:bob@192.0.2.2>',
    'Call-ID: 1',
    'CSeq: 1 INVITE',
    ...fields.map(toByteString),
    'Content-Length: 0',
  )
  const parsed = parseMessage(bytes)
  if (!('kind' in parsed)) throw new Error('it is no message')
  return readIdentity((parsed as SipRequest).headers)
}

const uris = ({ asserted }: ReceivedIdentity): string[] => asserted.map(({ uri }) => uri)

test('P-Asserted-Identity may name a caller by an address and a number (RFC 3325 §10.1)', () => {
  const { asserted } = read(
    'P-Asserted-Identity: "Cullen Jennings" <sip:fluffy@cisco.com>',
    'P-Asserted-Identity: tel:+14085264000',
  )
  assert.equal(asserted, [
    { uri: 'sip:fluffy@cisco.com', displayName: 'Cullen Jennings' },
    { uri: 'tel:+14085264000', displayName: null },
  ])
  assert.equal(uris(read('p-asserted-identity: <sip:a@b>, <tel:+1>')), ['sip:a@b', 'tel:+1'])
})

test('Privacy is a list of words, in any case, once each (RFC 3323 §4.2)', () => {
  assert.equal(read('Privacy: Header;user', 'Privacy: id, user').privacy, ['header', 'user', 'id'])
  assert.equal(read('Privacy: none').privacy, ['none'])
  assert.equal(read('Privacy: <script>').privacy, [])
})

test('what is asserted counts before Remote-Party-ID, and that before what is preferred', () => {
  const rpid = 'Remote-Party-ID: "Ann" <sip:+1555@pbx>;party=calling;screen=yes;privacy=off'
  const ppi = 'P-Preferred-Identity: <sip:wish@pbx>'
  assert.equal(uris(read(ppi, rpid, 'P-Asserted-Identity: <sip:sure@pbx>')), ['sip:sure@pbx'])
  assert.equal(uris(read(ppi, rpid)), ['sip:+1555@pbx'])
  assert.equal(uris(read(ppi)), ['sip:wish@pbx'])
})

test('Remote-Party-ID of the called party, or that was not screened, names no caller; its privacy counts', () => {
  assert.equal(uris(read('Remote-Party-ID: <sip:1@pbx>;party=called')), [])
  const hidden = read('Remote-Party-ID: <sip:1@pbx>;screen=no;privacy=full')
  assert.equal([uris(hidden), hidden.privacy], [[], ['id']])
})

test('Diversion tells whom the call was for, the latest first, how often and why (RFC 5806 §4.1)', () => {
  const { redirects } = read(
    'Diversion: <sip:+19195551002@gw>;reason=user-busy;counter=3;privacy="full"',
    'Diversion: "Ann, at work" <tel:+19195551001>;reason="no-answer", <sip:x@gw?Subject=1>;reason=strange;counter=-2',
  )
  assert.equal(redirects, [
    { uri: 'sip:+19195551002@gw', reason: 'user-busy', count: 3, isPrivate: true },
    { uri: 'tel:+19195551001', reason: 'no-answer', count: 1, isPrivate: false },
    { uri: 'sip:x@gw', reason: 'unknown', count: 1, isPrivate: false },
  ])
})

test('History-Info tells the same by indices: targets that others were made from for a cause (RFC 7044, RFC 7544)', () => {
  const { redirects } = read(
    'History-Info: <sip:+15550001@gw?Reason=SIP%3Bcause%3D486>;index=1, <sip:+15550002@gw;cause=302?Privacy=history>;index=1.1;mp=1',
    'History-Info: <sip:+15550003@gw;cause=408>;index=1.1.1;mp=1.1',
    'History-Info: <sip:+15550003@10.0.0.1>;index=1.1.1.1;rc=1.1.1',
  )
  assert.equal(redirects, [
    { uri: 'sip:+15550002@gw;cause=302', reason: 'no-answer', count: 1, isPrivate: true },
    { uri: 'sip:+15550001@gw', reason: 'unconditional', count: 1, isPrivate: false },
  ])
  const older = read(
    'History-Info: <sip:+15550001@gw?Reason=SIP%3Bcause%3D486%3Btext%3D%22Busy%22>;index=1',
    'History-Info: <sip:+15550002@gw>;index=1.1',
  )
  assert.equal(older.redirects, [{ uri: 'sip:+15550001@gw', reason: 'user-busy', count: 1, isPrivate: false }])
})

test('privacy of the headers, the session or the history hides all of History-Info, and nobody of Diversion, which says so itself', () => {
  const hidden = (privacy: string, ...history: string[]) => {
    const { redirects } = read(`Privacy: ${privacy}`, ...history)
    return redirects.map(({ isPrivate }) => isPrivate)
  }
  const history = 'History-Info: <sip:+15550001@gw>;index=1, <sip:+15550002@gw;cause=302>;index=1.1;mp=1'
  for (const value of ['header', 'session', 'history', 'id;header']) assert.equal(hidden(value, history), [true], value)
  for (const value of ['id', 'user', 'none']) assert.equal(hidden(value, history), [false], value)
  assert.equal(hidden('header', 'Diversion: <sip:+15550001@gw>;reason=no-answer'), [false])
})

test('what is malformed is left out, and of too much only so much is read', () => {
  assert.equal(uris(read('P-Asserted-Identity: <sip:a', 'P-Asserted-Identity: <sip:b@c>')), ['sip:b@c'])
  const many = Array.from({ length: 50 }, (_, n) => `Diversion: <sip:${n}@gw>;counter=${n}999`)
  const { redirects } = read(...many, ...many.map((_, n) => `Identity: a.b.c${n};info=<https://x/y>`))
  assert.is(redirects.length, 10)
  assert.ok(redirects.every(({ count }) => count <= 100))
  assert.ok(read('Identity: a..b;info=<https://x/?a,b>;alg=ES256;ppt=shaken').signatures.length === 1)
})

test.run()
