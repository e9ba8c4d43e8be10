import fc from 'fast-check'
import { OutgoingRequestMessage } from 'sip.js/lib/core/messages/outgoing-request-message.js'
import { constructOutgoingResponse } from 'sip.js/lib/core/messages/outgoing-response.js'
import { URI } from 'sip.js/lib/grammar/uri.js'
import * as assert from 'uvu/assert'
import { formatResponse } from '../../sip/message/format.ts'
import type { InviteRequest, Watch } from '../../sip/user-agent.ts'
import { anyCharacter } from '../any-character.ts'
import { suite } from '../harness.ts'
import { Party, Pipe } from './pipe.ts'
import { agree, ourParts, sipJsReads, theirUri, weRead } from './second-opinion.ts'

const test = suite('sip/second-opinion')
const BOB = { transport: 'udp', host: '192.0.2.2', port: 5060 } as const
const SEED = { seed: 20261122, includeErrorInReport: true }
/** What the runs of a property may take of a processor, also those that look for the smallest message that fails [ms]. */
const MAX_CPU_MS = 8000

/** The check of a property, which fails once that is used up: by the clock it would be what others leave of the machine. */
function inTime<Values extends unknown[]>(check: (...values: Values) => void): (...values: Values) => void {
  const begun = process.cpuUsage()
  return (...values) => {
    const { user, system } = process.cpuUsage(begun)
    assert.ok(user + system < 1000 * MAX_CPU_MS, `its runs take more than ${MAX_CPU_MS} ms of a processor`)
    check(...values)
  }
}

const letters = (alphabet: string, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength })
const ALPHANUM = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const token = letters(`${ALPHANUM}-.!%*_+\`'~`, 12)
const host = fc.oneof(
  fc.ipV4(),
  fc.constantFrom('[2001:db8::1]', '[::1]', '[fe80::a:b]'),
  fc.constantFrom('example.com', 'a.b-c.example.org', 'x1.test'),
)
/** A user part as it is written in a URI: some characters plain, the rest escaped. */
const user = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).map(text => encodeURIComponent(text)),
  letters('0123456789', 12).map(digits => `+${digits}`),
  fc.constantFrom('büro', 'שלום'),
)
const port = fc.option(fc.integer({ min: 1, max: 65_535 }))
const uri = fc
  .tuple(fc.constantFrom('sip', 'sips'), fc.option(user), host, port)
  .map(
    ([scheme, who, at, where]) => `${scheme}:${who === null ? '' : `${who}@`}${at}${where === null ? '' : `:${where}`}`,
  )
const printable = fc.string({ unit: 'grapheme', maxLength: 40 })
/** Anything that a caller of our user agent may put into a name or a value, including line ends and control characters. */
const anything = fc.oneof(printable, fc.string({ unit: anyCharacter, maxLength: 40 }))
const body = fc.option(printable.map(text => ({ type: 'application/sdp', bytes: Buffer.from(text) })))
/** Names begin with `X-`, since sip.js does not parse the values of those. It reads `_` in a name as `-`. */
const headers = fc.array(
  fc.tuple(
    token.map(name => `X-${name.replaceAll('_', '')}`),
    anything,
  ),
  { maxLength: 4 },
)

/** Two of our user agents, and all messages between them so far. */
function pair(): { pipe: Pipe; alice: Party; bob: Party; judge: () => void } {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1', { sessionExpiresS: 1800 })
  const bob = new Party(pipe, BOB.host, { registrarRealm: 'tandem "x"' })
  const judge = (): void => {
    for (const { text } of [...alice.sent, ...bob.sent]) agree(Buffer.from(text, 'latin1'))
  }
  return { pipe, alice, bob, judge }
}

test('a call with any names, addresses, headers and bodies is, message by message, what sip.js reads in it', () => {
  fc.assert(
    fc.property(
      uri,
      uri,
      anything,
      headers,
      body,
      body,
      inTime((to, from, displayName, extra, offer, info) => {
        const { pipe, alice, bob, judge } = pair()
        bob.onEvent = event => {
          const answer = { type: 'application/sdp', bytes: Buffer.from('answer') }
          if (event.kind === 'incoming') bob.do(bob.agent.accept(event.sessionId, answer, pipe.now))
          if (event.kind === 'reinvite') bob.do(bob.agent.acceptReinvite(event.sessionId, answer, pipe.now))
        }
        const call: InviteRequest = { to, from, displayName, headers: extra, target: BOB }
        const { sessionId, actions } = alice.agent.invite(offer === null ? call : { ...call, body: offer }, 0)
        alice.do(actions)
        pipe.run(20)
        if (offer === null)
          alice.do(alice.agent.acknowledge(sessionId, { type: 'application/sdp', bytes: Buffer.from('a') }, 20))
        pipe.run(40)
        alice.do(alice.agent.info(sessionId, 'application/dtmf-relay', info?.bytes ?? Buffer.from('Signal=5'), 40))
        alice.do(alice.agent.reinvite(sessionId, { type: 'application/sdp', bytes: Buffer.from('hold') }, 40))
        pipe.run(60)
        alice.do(alice.agent.bye(sessionId, 60, extra))
        pipe.run(80)
        for (const method of ['INVITE', 'ACK', 'INFO', 'UPDATE', 'BYE'])
          assert.ok(alice.sentLike(method).length > 0, method)
        assert.equal(bob.events.at(-1)?.kind, 'ended')
        judge()
      }),
    ),
    { ...SEED, numRuns: 30 },
  )
})

test('calls that are refused or cancelled, and a registration with its challenge, are what sip.js reads in them', () => {
  fc.assert(
    fc.property(
      uri,
      anything,
      fc.integer({ min: 400, max: 699 }),
      letters(`${ALPHANUM}-._`, 12),
      anything,
      inTime((to, name, status, username, password) => {
        const { pipe, alice, bob, judge } = pair()
        bob.onEvent = event => {
          if (event.kind === 'incoming' && event.from.displayName === 'refuse') {
            bob.do(bob.agent.reject(event.sessionId, status, pipe.now))
          }
        }
        bob.onRegister = register => {
          const contacts = register.contacts.map(({ uri }) => ({ uri, expiresS: 60 }))
          bob.do(
            bob.agent.answerRegister(
              register.registerId,
              { status: 200, contacts, minExpiresS: null, retryAfterS: null },
              pipe.now,
            ),
          )
        }
        const call = { to, from: 'sip:a@192.0.2.1', target: BOB }
        alice.do(alice.agent.invite({ ...call, displayName: 'refuse' }, 0).actions)
        const cancelled = alice.agent.invite({ ...call, displayName: name }, 0)
        alice.do(cancelled.actions)
        pipe.run(20)
        alice.do(alice.agent.cancel(cancelled.sessionId, 20))
        const watch: Watch = {
          watchId: 'conn_1',
          kind: 'register',
          uri: 'sip:192.0.2.2',
          from: `sip:${username}@192.0.2.2`,
          contactUser: 'r1',
          target: BOB,
          credentials: { username, password },
        }
        alice.do(alice.agent.watch(watch, 20))
        pipe.run(60)
        for (const method of ['ACK', 'CANCEL', 'REGISTER']) assert.ok(alice.sentLike(method).length > 0, method)
        assert.ok(bob.sentLike('SIP/2.0 401').length > 0)
        judge()
      }),
    ),
    { ...SEED, numRuns: 25 },
  )
})

test('we read every request and response that sip.js writes, as it reads them itself', () => {
  const sipUri = fc.tuple(user.map(decodeURIComponent), host, port)
  fc.assert(
    fc.property(
      sipUri,
      sipUri,
      printable,
      headers,
      body,
      fc.integer({ min: 100, max: 699 }),
      inTime((to, from, name, extra, content, statusCode) => {
        const theirs = ([who, at, where]: typeof to) => new URI('sip', encodeURIComponent(who), at, where ?? undefined)
        const said =
          content === null
            ? undefined
            : { contentDisposition: 'session', contentType: content.type, content: content.bytes.toString() }
        const extraHeaders = extra.map(([key, value]) => `${key}: ${value.replace(/\p{Cc}+/gu, ' ')}`)
        const options = {
          fromDisplayName: name.replace(/[\p{Cc}"\\]+/gu, ' '),
          viaHost: 'abc.invalid',
          forceRport: true,
          routeSet: ['<sip:p.example;lr>'],
        }
        const request = new OutgoingRequestMessage(
          'INVITE',
          theirs(to),
          theirs(from),
          theirs(to),
          options,
          extraHeaders,
          said,
        )
        request.setViaHeader('z9hG4bK77', 'UDP')
        const text = request.toString()
        agree(Buffer.from(text))
        const incoming = sipJsReads(text)
        const { message } = constructOutgoingResponse(incoming as never, { statusCode, ...(said && { body: said }) })
        agree(Buffer.from(message))
        const read = weRead(Buffer.from(text))
        const fields = [['Contact', '<sip:x@192.0.2.1>']] as const
        const answer = formatResponse(read, null, { status: statusCode, toTag: 't1', headers: fields })
        agree(answer)
        assert.is(weRead(answer).headers.get('from'), read.headers.get('from'))
      }),
    ),
    { ...SEED, numRuns: 30 },
  )
})

test('whatever the grammar of RFC 3261 takes for a SIP URI, we take for the same user, host and port', () => {
  const piece = fc.constantFrom(
    'sip:',
    'sips:',
    'a',
    'Z',
    '9',
    '@',
    ':',
    ';',
    '?',
    '=',
    '&',
    '.',
    '-',
    '_',
    '%',
    '%41',
    '[',
    ']',
    '::1',
    '5060',
    '/',
    '+',
    ';lr',
    ';transport=tcp',
    '"',
    '<',
    '>',
    ' ',
    '127.0.0.1',
    'é',
  )
  let both = 0
  fc.assert(
    fc.property(
      fc.oneof(
        uri,
        fc.array(piece, { maxLength: 9 }).map(parts => `sip:${parts.join('')}`),
      ),
      inTime(text => {
        const theirs = theirUri(text)
        // sip.js accepts empty ports, and host names that end in a hyphen; the RFC does not.
        if (theirs === null || /:(?![\w:])/.test(text.replace(/\[.*\]/, '')) || /-(\.|$)/.test(String(theirs[2])))
          return
        both++
        assert.equal(ourParts(text), theirs, `${text} ${JSON.stringify([ourParts(text), theirs])}`)
      }),
    ),
    { ...SEED, numRuns: 1500 },
  )
  assert.ok(both > 100, `only ${both} were URIs`)
})

test.run()
