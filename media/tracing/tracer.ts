import { LRUCache } from 'lru-cache'
import type { Peer } from '../../sip/agent-types.ts'
import { blotted } from '../../sip/message/blot.ts'
import { wantsPrivacy, withoutCaller } from '../../sip/message/private-caller.ts'
import { atMost } from '../protocol/at-most.ts'
import { HEP_RTCP, HEP_SIP, type HepAgent, hepPacket } from './hep.ts'
import type { PacketSink } from './hep-sender.ts'
import { rtcpJson } from './rtcp-json.ts'
import { SipTrace } from './sip-trace.ts'
import { callIdOf, type Place, type WireMessage } from './wire-message.ts'

/** Maximum number of calls with privacy at a time. Of more, the oldest ones' callers reach the collector. */
const MAX_PRIVATE = 20_000

/** A leg's RTCP packet before or without encryption. */
interface RtcpPacket {
  legId: string
  isSent: boolean
  bytes: Uint8Array
  local: Place
  remote: Place
}

/** Sees all traffic. SIP is kept for each leg and, if there is a collector, sent to it at once; so are RTCP reports. */
export class Tracer {
  readonly trace = new SipTrace()
  /** Call-IDs of callers with privacy. */
  readonly #private = new LRUCache<string, true>(atMost(MAX_PRIVATE))
  readonly #hep: { agent: HepAgent; sink: PacketSink } | null

  constructor(hep: { agent: HepAgent; sink: PacketSink } | null) {
    this.#hep = hep
  }

  /** A SIP message passes our door. */
  sip(bytes: Uint8Array, isSent: boolean, peer: Peer, local: Place): void {
    const message: WireMessage = {
      at: wallMs(),
      isSent,
      transport: peer.transport,
      local,
      remote: { host: peer.host, port: peer.port },
      text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'),
    }
    const callId = callIdOf(message.text)
    this.trace.note(message, callId)
    if (this.#hep === null || callId === null) return
    const shown = Buffer.from(blotted(this.#shownOf(message, callId)), 'latin1')
    this.#tell(message, HEP_SIP, peer.transport === 'udp', callId, shown)
  }

  #shownOf({ text, isSent }: WireMessage, callId: string): string {
    if (!isSent && text.startsWith('INVITE ') && wantsPrivacy(text)) this.#private.set(callId, true)
    return this.#private.get(callId) === undefined ? text : withoutCaller(text, isSent)
  }

  rtcp({ legId, bytes, ...way }: RtcpPacket): void {
    const payload = this.#hep === null ? null : rtcpJson(bytes)
    if (payload === null) return
    const callId = this.trace.callIdOf(legId)
    this.#tell({ at: wallMs(), ...way }, HEP_RTCP, true, callId, Buffer.from(payload))
  }

  #tell(
    { at, isSent, local, remote }: Pick<WireMessage, 'at' | 'isSent' | 'local' | 'remote'>,
    type: typeof HEP_SIP | typeof HEP_RTCP,
    isDatagram: boolean,
    correlationId: string | null,
    payload: Buffer,
  ): void {
    const [from, to] = isSent ? [local, remote] : [remote, local]
    const { agent, sink } = this.#hep!
    sink.send(hepPacket(agent, { type, isDatagram, from, to, at, correlationId, payload }))
  }
}

let last = 0

/** By the clock that everybody has; what passes within one of its milliseconds stays in order [ms]. */
function wallMs(): number {
  const now = Date.now()
  last = last >= now && last < now + 1 ? last + 0.001 : now
  return last
}
