import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerFax, createFaxOffer, type FaxSide, faxOf } from '../../sip/sdp/fax.ts'
import type { Body } from '../../sip/user-agent.ts'
import type { FaxRemote, FaxSocket } from '../engine/engine-protocol.ts'
import { familyOf, isAny } from '../kernel/own-addresses.ts'
import { isFailure } from '../protocol.ts'
import { type Descriptions, SDP, warning } from './descriptions.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import { isOver, type Line, type MayReach } from './line.ts'
import type { Lines } from './lines.ts'

/** The request cannot be fulfilled here (RFC 3261 §21.4.26). */
const NOT_ACCEPTABLE_HERE = 488
/** How long after its answer a party may still be on its way to the other one, and how often that is looked at [ms]. */
const ON_ITS_WAY_MS = 3000
const LOOK_MS = 100

interface FaxesOptions {
  lines: Lines
  descriptions: Descriptions
  sip: () => SipEndpoint
  mayReach: MayReach
}

/** Two parties of a room, of which one wants to switch to fax, or both have. */
interface Fax {
  from: Line
  to: Line
  /** The offer of `from`. */
  offer: Body
  side: FaxSide
  /** The answer of `to`; null: still pending. */
  answer: FaxSide | null
}

/**
 * T.38 pass-through (ITU-T T.38 Annex D). A party that wants to switch to fax gets the answer that the only other party of its room
 * gives to the same offer; then packets are relayed unchanged. Any third member, encryption, or keys to be masked
 * prevent this: then the answer is 488, and the fax machines continue with tones. Who has just been answered may be alone for a moment. When one leaves, the other is asked back to audio.
 */
export class Faxes {
  readonly #options: FaxesOptions
  readonly #byLeg = new Map<string, Fax>()

  constructor(options: FaxesOptions) {
    this.#options = options
  }

  /** A far end changes the session; true: to fax, and it is answered here. */
  offered(line: Line, offer: Body | null): boolean {
    const side = offer === null ? null : faxOf(offer.bytes)
    if (side === null || offer === null) {
      this.left(line)
      return false
    }
    this.#options.lines.beside(line, this.#asked(line, offer, side))
    return true
  }

  async #asked(line: Line, offer: Body, side: FaxSide): Promise<void> {
    const running = this.#byLeg.get(line.legId)
    if (running !== undefined && running.answer !== null) {
      // It repeats the offer, or moves.
      const isFirst = running.from === line
      const [to, answer] = isFirst ? [running.to, running.answer] : [running.from, running.side]
      await this.#begin({ from: line, to, offer, side, answer }, answer)
      return
    }
    const partner = running === undefined ? await this.#partnerOf(line, side) : 'the other party is being asked'
    if (typeof partner === 'string' || isOver(line)) {
      this.#refuse(line, typeof partner === 'string' ? partner : 'the call is over')
      return
    }
    const own = { host: partner.own!.advertised, port: partner.port, attributes: side.attributes }
    const bytes = createFaxOffer(own, { id: partner.sdpId, previous: partner.description })
    let isSent = false
    this.#options.sip().do((agent, now) => {
      const actions = agent.reinvite(partner.sessionId, { type: SDP, bytes }, now, true)
      isSent = actions.length > 0
      return actions
    })
    if (!isSent) {
      this.#refuse(line, 'the other party changes its session')
      return
    }
    partner.asked = { direction: partner.told, before: partner.description, isRepeated: false }
    partner.description = bytes
    const fax: Fax = { from: line, to: partner, offer, side, answer: null }
    this.#byLeg.set(line.legId, fax)
    this.#byLeg.set(partner.legId, fax)
  }

  /** The only other party of its room, if fax can pass between them, else why not. */
  async #partnerOf(line: Line, side: FaxSide): Promise<Line | string> {
    if (!this.#mayFlow(line, side)) return 'its address cannot be reached from here'
    let found = await line.engine!.request('leg.fax_partner', { legId: line.legId })
    while (isFailure(found) && found.failure === 'not_found' && !isOver(line) && isOnItsWay(line)) {
      await sleep(LOOK_MS)
      found = await line.engine!.request('leg.fax_partner', { legId: line.legId })
    }
    if (isFailure(found)) return found.message
    const partner = this.#options.lines.get(found.legId)
    const isFree = partner?.state === 'answered' && !this.#byLeg.has(partner.legId)
    return isFree ? partner : 'the other party is not free for it'
  }

  #mayFlow({ own, peer }: Line, { host }: FaxSide): boolean {
    return isIP(host) !== 0 && familyOf(host) === own?.family && this.#options.mayReach(peer, host)
  }

  /** The end of a re-INVITE of ours; true: it was about fax. `body` null: it was refused. */
  answered(line: Line, body: Body | null): boolean {
    const fax = this.#byLeg.get(line.legId)
    if (fax === undefined || fax.to !== line || fax.answer !== null) return false
    const side = body === null ? null : faxOf(body.bytes)
    const before = line.asked?.before ?? null
    line.asked = null
    if (side !== null && this.#mayFlow(line, side)) {
      this.#options.lines.beside(line, this.#begin(fax, side))
      return true
    }
    this.#forget(fax)
    if (body === null) {
      line.description = before
      // It may have been put on hold meanwhile.
      this.#options.descriptions.tellHold(line)
    } else this.#backToAudio(line)
    this.#refuse(fax.from, 'the other party has no T.38')
    return true
  }

  async #begin(fax: Fax, answer: FaxSide): Promise<void> {
    const { from, to, offer, side } = fax
    const begun = await from.engine!.request('leg.fax', {
      legId: from.legId,
      remote: remoteOf(from, side),
      partnerId: to.legId,
      partnerRemote: remoteOf(to, answer),
      sockets: from.own?.family === to.own?.family ? { own: socketOf(from), partner: socketOf(to) } : null,
    })
    if (isFailure(begun) || isOver(from)) {
      this.#forget(fax)
      this.#backToAudio(to)
      this.#refuse(from, isFailure(begun) ? begun.message : 'the call is over')
      return
    }
    const known: Fax = { ...fax, answer }
    this.#byLeg.set(from.legId, known)
    this.#byLeg.set(to.legId, known)
    if (fax.answer === null) this.#tell(from, to, true)
    const own = { host: from.own!.advertised, port: from.port, attributes: answer.attributes }
    const bytes = answerFax(offer.bytes, own, { id: from.sdpId, previous: from.description })
    from.description = bytes
    this.#options.sip().do((agent, now) => agent.acceptReinvite(from.sessionId, { type: SDP, bytes }, now))
  }

  /** It returns to audio, or ends: then the other is asked back too. Idempotent. */
  left(line: Line): void {
    const fax = this.#byLeg.get(line.legId)
    if (fax === undefined) return
    const { from, to, answer } = fax
    // The answer that we wait for has no recipient any more.
    if (answer === null && line === from) return
    this.#forget(fax)
    if (answer === null) this.#refuse(from, 'the other party has left')
    else this.#backToAudio(from === line ? to : from)
  }

  /** It moves to another room. Whoever enters its own hears nothing of the fax, and does not end it. */
  moved(line: Line): void {
    const fax = this.#byLeg.get(line.legId)
    if (fax === undefined || fax.answer === null) return
    this.#forget(fax)
    this.#backToAudio(fax.from)
    this.#backToAudio(fax.to)
  }

  #forget({ from, to, answer }: Fax): void {
    this.#byLeg.delete(from.legId)
    this.#byLeg.delete(to.legId)
    if (answer !== null) this.#tell(from, to, false)
  }

  #tell({ legId }: Line, { legId: partnerId }: Line, isRelayed: boolean): void {
    this.#options.lines.emit('leg.fax', { legId, partnerId, isRelayed })
  }

  #backToAudio(line: Line): void {
    if (isOver(line)) return
    line.asked = null
    line.told = null
    this.#options.descriptions.tellHold(line)
  }

  #refuse(line: Line, why: string): void {
    if (isOver(line)) return
    const headers = [warning(line, 399, `T.38 cannot pass: ${why}`)]
    this.#options.sip().do((agent, now) => agent.rejectReinvite(line.sessionId, NOT_ACCEPTABLE_HERE, now, headers))
  }
}

/** It is answered into a room of its own. Control leads it to whom it has called, which takes as long as the database does. */
const isOnItsWay = ({ answeredMs }: Line): boolean =>
  answeredMs !== null && performance.now() - answeredMs < ON_ITS_WAY_MS

/** As another socket of this machine reaches it, and is known by it. */
function socketOf({ own, port }: Line): FaxSocket {
  const host = own?.host ?? ''
  return { host: isAny(host) ? LOOPBACK[own?.family ?? 4] : host, port }
}
const LOOPBACK = { 4: '127.0.0.1', 6: '::1' } as const

const remoteOf = ({ peer }: Line, { host, port }: FaxSide): FaxRemote => ({
  host,
  port,
  signallingHost: peer?.host ?? null,
})
