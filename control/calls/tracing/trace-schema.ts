import Type, { type Static } from 'typebox'
import { encodeTime } from 'ulid'
import type { SipLegTrace, SipTraceMessage } from '../../../media/protocol.ts'
import { apiObject, nullable, timestamp } from '../../kernel/schema.ts'

const address = (description: string) => Type.Object({ host: Type.String(), port: Type.Integer() }, { description })

export const sipMessageSchema = apiObject('sip_message', {
  call_id: Type.String(),
  participant_id: Type.String({ description: 'The leg that sent or received it.' }),
  at: timestamp('When it was sent or received.'),
  direction: Type.String({ description: 'received, sent' }),
  transport: Type.String({ description: 'udp, tcp, tls, ws, wss' }),
  local: address('Our address.'),
  remote: address('Address of the far end.'),
  start_line: Type.String(),
  headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
    description: 'In order, as received; digests are masked.',
  }),
  body: nullable(Type.String({ description: 'Keys of encrypted audio and pressed keys are masked.' })),
})

type SipMessage = Static<typeof sipMessageSchema>

interface Shown {
  id: string
  livemode: boolean
}

/** All messages of a call's legs, newest first, as lists are. */
export const toSipMessages = (call: Shown, traces: readonly SipLegTrace[]): SipMessage[] =>
  traces
    .flatMap(({ legId, messages }) => messages.map((message, index) => toSipMessage(call, legId, message, index)))
    .sort((one, other) => (one.id < other.id ? 1 : -1))

function toSipMessage(call: Shown, legId: string, message: SipTraceMessage, index: number): SipMessage {
  const { start, headers, body } = partsOf(message.text)
  return {
    id: idOf(legId, message, index),
    object: 'sip_message',
    livemode: call.livemode,
    call_id: call.id,
    participant_id: legId,
    at: new Date(message.at).toISOString(),
    direction: message.isSent ? 'sent' : 'received',
    transport: message.transport,
    local: message.local,
    remote: message.remote,
    start_line: start,
    headers,
    body: body === '' ? null : body,
  }
}

/** Stable over requests: IDs sort by the time, then by the position in the leg's list. */
const idOf = (legId: string, { at }: SipTraceMessage, index: number): string =>
  `sipm_${encodeTime(Math.floor(at)).toLowerCase()}${String(index).padStart(6, '0')}${legId.slice(-10).toLowerCase()}`

function partsOf(text: string): { start: string; headers: { name: string; value: string }[]; body: string } {
  const end = /\r?\n\r?\n/.exec(text)
  const head = end === null ? text : text.slice(0, end.index)
  const body = end === null ? '' : text.slice(end.index + end[0].length)
  // A header continues in lines that begin with white space (RFC 3261 §7.3.1).
  const [start = '', ...lines] = utf8(head.replace(/\r?\n[ \t]+/g, ' ')).split(/\r?\n/)
  const headers = lines.map(line => {
    const at = line.indexOf(':')
    return at === -1 ? { name: line, value: '' } : { name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() }
  })
  return { start, headers, body: utf8(body) }
}

const utf8 = (latin1: string): string => Buffer.from(latin1, 'latin1').toString()
