import { isFailure, type Reply, type Request, type SipLegTrace } from '../protocol.ts'
import type { PacketLog } from '../rtp/packet-headers.ts'
import type { LegPackets, LegTrace, SipTrace } from '../tracing/sip-trace.ts'
import type { Line } from './line.ts'

interface TraceDeskOptions {
  trace: SipTrace
  lines: ReadonlyMap<string, Line>
}

/**
 * Gives out the SIP messages of each leg: on request for a running one, and to control, which stores those of ended ones.
 */
export class TraceDesk {
  readonly #options: TraceDeskOptions

  constructor(options: TraceDeskOptions) {
    this.#options = options
  }

  async read({ legId }: Request<'sip.trace_read'>): Promise<Reply<'sip.trace_read'>> {
    const { trace, lines } = this.#options
    const line = lines.get(legId)
    const reply = line?.engine == null ? null : await line.engine.request('leg.packets', { legId })
    const kept = trace.read(legId)
    if (kept === null) return { trace: null }
    const packets = line === undefined || reply === null || isFailure(reply) ? null : packetsOf(line, reply.packets)
    return { trace: onChannel({ ...kept, packets: kept.packets ?? packets }) }
  }

  take({ done }: Request<'sip.trace_take'>): Reply<'sip.trace_take'> {
    return { traces: this.#options.trace.take(done, Date.now()).map(onChannel) }
  }
}

/** The packets of a log with both addresses; null: none. */
export const packetsOf = ({ own, port }: Pick<Line, 'own' | 'port'>, log: PacketLog | null): LegPackets | null =>
  log === null || own === null ? null : { ...log, local: { host: own.advertised, port } }

const onChannel = ({ packets, ...trace }: LegTrace): SipLegTrace => ({
  packets: packets === null ? null : asText(packets),
  ...trace,
})

const asText = ({ records, ...packets }: LegPackets) => ({
  records: Buffer.from(records).toString('base64'),
  ...packets,
})
