import type { IncomingRequestMessage } from 'sip.js/lib/core/messages/incoming-request-message.js'
import { IncomingResponseMessage } from 'sip.js/lib/core/messages/incoming-response-message.js'
import { Parser } from 'sip.js/lib/core/messages/parser.js'
import { Grammar } from 'sip.js/lib/grammar/grammar.js'
import * as assert from 'uvu/assert'
import { type SipMessage, toText } from '../../sip/message/message.ts'
import { parseMessage } from '../../sip/message/parse.ts'
import { bracketed, parseUri, userOf } from '../../sip/message/uri.ts'

/** Parses a message with sip.js, an independent implementation of the RFC's grammar; a test fails with its complaints. */
export function sipJsReads(text: string): IncomingRequestMessage | IncomingResponseMessage {
  const complaints: string[] = []
  const complain = (one: string): number => complaints.push(one)
  const message = Parser.parseMessage(text, { warn: complain, error: complain } as never)
  if (message === undefined) assert.unreachable(`sip.js: ${complaints.join(' ')} in\n${text}`)
  return message!
}

export function weRead(bytes: Uint8Array): SipMessage {
  const message = parseMessage(bytes)
  if (message.kind === 'failure') assert.unreachable(`we: ${message.error} in\n${Buffer.from(bytes).toString()}`)
  return message as SipMessage
}

/** User, host and port of a URI as we parse it, by which calls are routed. */
export function ourParts(text: string): unknown[] | null {
  const uri = parseUri(toText(text))
  if ('error' in uri || uri.scheme === 'tel' || uri.scheme === 'other') return null
  const user = userOf(uri)
  return [uri.scheme, user, bracketed(uri.host).toLowerCase(), uri.port]
}

interface SipJsUri {
  scheme: string
  user?: string
  host: string
  port?: number
}

/** The same as sip.js parses it. */
function theirParts(uri: SipJsUri): unknown[] {
  const user = uri.user === undefined || uri.user === '' ? null : uri.user
  return [uri.scheme, user, uri.host.toLowerCase(), uri.port ?? null]
}

/** A URI as the grammar of sip.js parses it; null: it is none. */
export function theirUri(text: string): unknown[] | null {
  const uri = Grammar.URIParse(text)
  return uri === undefined ? null : theirParts(uri)
}

/** Checks that both parsers read the same message: start line, addresses, tags, Via, CSeq, every other header, body. */
export function agree(bytes: Uint8Array): void {
  const text = Buffer.from(bytes).toString('utf8')
  const [ours, theirs] = [weRead(bytes), sipJsReads(text)]
  if (theirs instanceof IncomingResponseMessage) {
    assert.equal(ours.kind === 'response' && [ours.status, toText(ours.reason)], [
      theirs.statusCode,
      theirs.reasonPhrase,
    ])
  } else {
    assert.equal(ours.kind === 'request' && [ours.method, ourParts(ours.uri)], [
      theirs.method,
      theirParts(theirs.ruri!),
    ])
  }
  for (const side of ['from', 'to'] as const) {
    const name = ours[side].displayName
    assert.equal(
      [ourParts(ours[side].uri), ours[side].tag, name === null ? '' : toText(name)],
      [
        theirParts(theirs[side].uri),
        theirs[side].getParam('tag') ?? null,
        (theirs[side].displayName ?? '').replace(/\\(.)/gsu, '$1'),
      ],
      `${side} in ${text}`,
    )
  }
  assert.equal([ours.callId, ours.cseq.number, ours.cseq.method], [theirs.callId, theirs.cseq, theirs.method])
  const via = theirs.via as typeof theirs.via & { transport: string; branch: string }
  assert.equal(
    [ours.via.transport, bracketed(ours.via.host), ours.via.port, ours.via.branch],
    [via.transport, via.host, via.port ?? null, via.branch],
  )
  for (const [name, values] of Object.entries(theirs.headers)) {
    const key = name.toLowerCase()
    // sip.js splits these headers at their commas.
    const mine = key === 'contact' || key === 'record-route' ? ours.headers.list(key) : ours.headers.all(key)
    assert.equal(
      mine.map(toText),
      values.map(({ raw }) => raw),
      name,
    )
  }
  assert.is(Buffer.from(ours.body).toString('utf8'), theirs.body)
}
