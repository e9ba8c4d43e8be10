import Type, { type Static } from 'typebox'
import { type Failure, isFailure, isUndecided } from '../../../media/protocol.ts'
import type { Context } from '../../http/context.ts'
import { conflict, isProblem, missing, type Problem } from '../../http/errors.ts'
import { listOf, listQuery, pageOfAll } from '../../http/list.ts'
import { operations, type Route } from '../../http/route.ts'
import { input, nullable, oneOf, timestamp } from '../../kernel/schema.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { mediaUnavailable } from '../dial.ts'
import { hasEnded } from '../running-call.ts'
import { type TraceDeps, tracedLegs, traceOf } from './call-trace.ts'
import { pcapOf } from './pcap.ts'
import { sipMessageSchema, toSipMessages } from './trace-schema.ts'

const api = operations('Calls', 'calls')

const PCAP = 'application/vnd.tcpdump.pcap'
const MAX_SECONDS = 180
const DEFAULT_SECONDS = 60

const rtpHeadersBody = input({
  action: oneOf(['start', 'stop']),
  max_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SECONDS, default: DEFAULT_SECONDS })),
})

const rtpHeadersSchema = Type.Object({
  object: Type.Literal('rtp_header_trace'),
  livemode: Type.Boolean(),
  call_id: Type.String(),
  status: Type.String({ description: 'running, stopped' }),
  ends_at: nullable(timestamp('When it stops by itself.')),
})

const errors = [409, 503]

export function traceRoutes(deps: TraceDeps): Route[] {
  return [
    api.get({
      errors,
      path: '/calls/:id/sip',
      id: 'listCallSipMessages',
      summary: "List a call's SIP messages",
      description:
        "All SIP messages of the call's legs. Secrets are masked: digests, keys of encrypted audio, pressed keys. At most 200 messages per leg, kept as long as the call. 409 with `details.reason` `other_node` while a leg is on another node.",
      query: listQuery,
      reply: listOf(sipMessageSchema),
      handler: async (context, { params, query }) => {
        const traces = await traceOf(deps, context, params.id)
        if (isProblem(traces)) return traces
        const messages = toSipMessages({ id: params.id, livemode: context.livemode }, traces)
        return pageOfAll(messages, query, `/v1/calls/${params.id}/sip`)
      },
    }),
    api.get({
      errors,
      path: '/calls/:id/sip.pcap',
      id: 'getCallSipCapture',
      summary: "Download a call's SIP messages and RTP headers",
      description:
        'A capture file (libpcap) of the SIP messages and, after `POST /calls/{id}/sip/rtp`, of the first 12 octets of each RTP packet: no audio, and no key. Each message is a UDP datagram in it, whatever transport carried it.',
      reply: Type.String({ format: 'binary' }),
      rawType: PCAP,
      handler: async (context, { params }) => {
        const traces = await traceOf(deps, context, params.id)
        if (isProblem(traces)) return traces
        const disposition = `attachment; filename="${params.id}.pcap"`
        return {
          raw: pcapOf(traces),
          status: 200,
          headers: { 'content-type': PCAP, 'content-disposition': disposition },
        }
      },
    }),
    api.post({
      path: '/calls/:id/sip/rtp',
      id: 'traceCallRtp',
      summary: "Capture the headers of a running call's RTP packets",
      description:
        'For all legs in the call now, for `max_seconds`, at most 20,000 packets each. The result is in `GET /calls/{id}/sip.pcap`. Starting again discards the previous capture. 409 with `details.reason` `not_running` if nobody in the call has RTP.',
      body: rtpHeadersBody,
      reply: rtpHeadersSchema,
      errors,
      handler: (context, { params, body }) => traceRtp(deps, context, params.id, body),
    }),
  ]
}

async function traceRtp(
  { store, media, now }: TraceDeps,
  context: Context,
  callId: string,
  { action, max_seconds: maxSeconds = DEFAULT_SECONDS }: Static<typeof rtpHeadersBody>,
): Promise<Static<typeof rtpHeadersSchema> | Problem> {
  const call = await forTenant(store.db, context).find('calls', callId)
  if (call === undefined) return missing('call', callId)
  if (call.ended_at !== null) return hasEnded()
  const legs = (await tracedLegs(store.db, context, call)).filter(leg => leg.left_at === null && leg.step !== 'ended')
  const seconds = action === 'start' ? maxSeconds : 0
  let refusal: Failure | null = null
  let isTaken = false
  for (const { id: legId } of legs) {
    const reply = await media.request('leg.trace_packets', { legId, seconds })
    if (isFailure(reply)) refusal = reply
    else isTaken = true
  }
  if (!isTaken && refusal !== null && isUndecided(refusal)) return mediaUnavailable(refusal.message)
  if (!isTaken) return conflict('not_running', 'Nobody in the call has RTP.')
  return {
    object: 'rtp_header_trace',
    livemode: context.livemode,
    call_id: call.id,
    status: action === 'start' ? 'running' : 'stopped',
    ends_at: action === 'start' ? new Date(now().getTime() + seconds * 1000).toISOString() : null,
  }
}
