import type { HeaderFields, UaEvent } from '../../sip/user-agent.ts'
import { newUlid } from '../protocol/chance.ts'
import type { DialTarget, Failure, Reply, Request, ToneSource } from '../protocol.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import { userToUserOf } from './invitation.ts'
import { isOver, type Line, partyOf } from './line.ts'
import { conflict, type Lines, notFound } from './lines.ts'
import type { Replacing } from './replacing.ts'

/** How long control may take to say what becomes of a REFER [ms]; then 503. */
const DECISION_MS = 4000

/** A REFER of a far end, by our ID. */
interface Asked {
  line: Line
  /** As the user agent knows it. */
  sipId: string
  /** Whom it names, a URI. */
  to: string
  /** The dialog that it names, if that is another node's (`host:port`). */
  elsewhere: { node: string; dialog: string } | null
  /** URI of the requester, if others may know it; null: not stated. */
  referredBy: string | null
  /** User-to-user information for who is called. */
  said: HeaderFields
  /** Takes it back from the other party's call; null: it has none of it. */
  unsay: (() => void) | null
  /** Until control has decided; null: it is accepted. */
  timer: NodeJS.Timeout | null
}

/** A REFER of ours. */
interface Sent {
  line: Line
  referId: string
  isAccepted: boolean
}

interface TransfersOptions {
  lines: Lines
  replacing: Replacing
  sip: () => SipEndpoint
}

type Of<K extends UaEvent['kind']> = Extract<UaEvent, { kind: K }>

/** REFERs of far ends, on which control decides, and ours (RFC 3515). Each result is reported once. */
export class Transfers {
  readonly #options: TransfersOptions
  readonly #asked = new Map<string, Asked>()
  /** By the user agent's ID. */
  readonly #sent = new Map<string, Sent>()

  constructor(options: TransfersOptions) {
    this.#options = options
  }

  /** Those that are not over. */
  get open(): { referId: string; legId: string }[] {
    const asked = [...this.#asked].map(([referId, { line }]) => ({ referId, legId: line.legId }))
    return [...asked, ...[...this.#sent.values()].map(({ referId, line }) => ({ referId, legId: line.legId }))]
  }

  // ------------------------------------------------------------------ a far end asks

  asked(line: Line, { referId: sipId, to, replaces, referredBy, userToUser }: Of<'refer'>): void {
    const referId = `xfer_${newUlid()}`
    const timer = setTimeout(() => this.#answer(referId, 503), DECISION_MS)
    const { lines, sip } = this.#options
    const named = replaces === null || replaces.sessionId === null ? undefined : lines.ofSession(replaces.sessionId)
    const { callId, toTag, fromTag, earlyOnly } = replaces ?? {}
    const dialog = `${callId};to-tag=${toTag};from-tag=${fromTag}${earlyOnly === true ? ';early-only' : ''}`
    const node = toTag === undefined ? null : sip().nodes.nodeOf(toTag)
    const elsewhere = node === null ? null : { node, dialog }
    const known = { referredBy: line.isPrivate ? null : referredBy, said: userToUserOf(userToUser), unsay: null }
    this.#asked.set(referId, { line, sipId, to, elsewhere, ...known, timer })
    const atNode = elsewhere === null ? {} : { atNode: true as const }
    lines.emit('leg.refer_asked', {
      legId: line.legId,
      referId,
      to: partyOf(to),
      replaces: replaces === null ? null : { legId: named?.legId ?? null, dialog, ...atNode },
    })
  }

  answer({ referId, sipCode }: Request<'leg.refer_answer'>): Reply<'leg.refer_answer'> | Failure {
    const asked = this.#asked.get(referId)
    if (asked === undefined) return notAsked(referId)
    // A repeated decision means that the reply was lost.
    if (asked.timer === null) return sipCode < 300 ? {} : conflict('it is accepted already')
    this.#answer(referId, sipCode)
    return {}
  }

  #answer(referId: string, status: number): void {
    const asked = this.#asked.get(referId)
    if (asked === undefined || asked.timer === null) return
    clearTimeout(asked.timer)
    asked.timer = null
    if (status >= 300) this.#asked.delete(referId)
    else if (asked.said.length > 0) asked.unsay = this.#options.lines.sayOnward(asked.line, asked.said)
    this.#options.sip().do((agent, now) => agent.answerRefer(asked.sipId, status, now))
  }

  notify({ referId, sipCode }: Request<'leg.refer_notify'>): Reply<'leg.refer_notify'> | Failure {
    const asked = this.#asked.get(referId)
    if (asked === undefined || asked.timer !== null) return notAsked(referId)
    this.#notify(referId, sipCode)
    return {}
  }

  #notify(referId: string, status: number): void {
    const asked = this.#asked.get(referId)
    if (asked === undefined) return
    if (status >= 200) {
      this.#asked.delete(referId)
      asked.unsay?.()
    }
    this.#options.sip().do((agent, now) => agent.notifyRefer(asked.sipId, status, now))
  }

  /** Accepts it, and calls the target. */
  bridge(request: Request<'leg.refer_bridge'>): Reply<'leg.refer_bridge'> | Failure {
    const { target, alternatives = [], ringback } = request
    return this.#callFor(request, () => [target, ...alternatives], ringback)
  }

  /** Accepts it, and takes the place of the dialog of another node that it names. */
  join(request: Request<'leg.refer_join'>): Reply<'leg.refer_join'> | Failure {
    const targetsOf = ({ line, to, elsewhere }: Asked): DialTarget[] => {
      if (elsewhere === null) return []
      const { node, dialog } = elsewhere
      const route = this.#options.sip().nodes.joinRoute(node, dialog, request.account)
      const other = line.direction === 'outbound' ? line.from : line.to
      const target: DialTarget = {
        uri: to.replace(/^sips:/i, 'sip:'),
        from: { uri: other.uri },
        hosts: [],
        publicOnly: false,
        credentials: null,
        codecs: line.codecs,
        srtp: 'optional',
        replaces: dialog,
      }
      return route === null ? [] : [{ ...target, route: [route] }]
    }
    return this.#callFor(request, targetsOf, request.ringback, true)
  }

  /** Accepts it, and calls in place of the requester, who leaves once there is an answer, or with `leavesRinging` as soon as it rings. */
  #callFor(
    { legId, referId, timeoutS }: Pick<Request<'leg.refer_bridge'>, 'legId' | 'referId' | 'timeoutS'>,
    targetsOf: (asked: Asked) => DialTarget[],
    ringback?: ToneSource,
    leavesRinging = false,
  ): Failure | Record<string, never> {
    const asked = this.#asked.get(referId)
    if (asked === undefined || asked.line.legId !== legId) return notAsked(referId)
    // It is under way.
    if (asked.timer === null) return {}
    const { line, referredBy, said } = asked
    if (isOver(line) || line.state !== 'answered') return notFound(legId)
    this.#answer(referId, 202)
    const by = referredBy === null ? {} : { referredBy: `<${referredBy}>` }
    const targets = targetsOf(asked).map(one => ({ ...one, ...by }))
    const { replacing, lines } = this.#options
    let isDone = false
    replacing.call(line, { targets, timeoutS, ringback, said }, status => {
      if (isDone) return
      const sipCode = leavesRinging && status < 200 ? 200 : status
      isDone = sipCode >= 200
      this.#notify(referId, sipCode)
      lines.emit('leg.refer_progress', { legId, referId, sipCode, isOver: isDone })
      if (sipCode !== status) replacing.letGo(line)
    })
    return {}
  }

  // ------------------------------------------------------------------ we ask

  /** Asks a far end to call somebody else, in the place of a leg of ours where one is named. */
  refer({ legId, referId, to, inPlaceOf }: Request<'leg.refer'>): Reply<'leg.refer'> | Failure {
    const { lines, sip } = this.#options
    if ([...this.#sent.values()].some(sent => sent.referId === referId)) return {}
    const line = lines.get(legId)
    if (line === undefined || isOver(line)) return notFound(legId)
    const other = inPlaceOf === null ? null : lines.get(inPlaceOf)
    if (other === undefined) return notFound(inPlaceOf ?? '')
    let failure: Failure | null = null
    sip().do((agent, now) => {
      const dialog = other === null ? null : agent.dialogOf(other.sessionId)
      if (other !== null && dialog === null) {
        failure = conflict('nobody talks on the other leg')
        return []
      }
      const replaces =
        dialog === null ? null : `${dialog.callId};to-tag=${dialog.remoteTag};from-tag=${dialog.localTag}`
      const { referredBy = null, said = [] } = this.#asked.get(referId) ?? {}
      const asked = { to: dialog?.remoteTarget ?? to, replaces, referredBy, userToUser: said[0]?.[1] ?? null }
      const { referId: sipId, actions } = agent.refer(line.sessionId, asked, now)
      if (sipId === null) failure = conflict('the far end cannot be asked now')
      else this.#sent.set(sipId, { line, referId, isAccepted: false })
      return actions
    })
    return failure ?? {}
  }

  accepted({ referId }: Of<'referAccepted'>): void {
    const sent = this.#sent.get(referId)
    if (sent !== undefined) sent.isAccepted = true
  }

  progress({ referId: sipId, status, isOver: over }: Of<'referProgress'>): void {
    const sent = this.#sent.get(sipId)
    if (sent === undefined) return
    if (over) this.#sent.delete(sipId)
    const { line, referId } = sent
    this.#options.lines.emit('leg.refer_progress', { legId: line.legId, referId, sipCode: status, isOver: over })
  }

  // ------------------------------------------------------------------ the end of a line

  /** Before we hang up, tells the requester that the transfer has succeeded. */
  leaving(line: Line): void {
    for (const [referId, asked] of this.#asked) {
      if (asked.line === line && line.endReason === 'transfer_completed') this.#notify(referId, 200)
    }
  }

  /** A far end that has hung up after it took our REFER on has left for its target. */
  ended(line: Line, event: Of<'ended'>): void {
    this.#options.replacing.lineOver(line)
    for (const [sipId, sent] of this.#sent) {
      if (sent.line !== line) continue
      const isGone = sent.isAccepted && event.by === 'remote' && event.cause === 'bye'
      if (isGone) line.endReason ??= 'transfer_completed'
      this.progress({
        kind: 'referProgress',
        sessionId: event.sessionId,
        referId: sipId,
        status: isGone ? 200 : 487,
        isOver: true,
      })
    }
    for (const [referId, asked] of this.#asked) {
      if (asked.line !== line) continue
      // Undecided: no longer wanted. A party that hung up meanwhile still gets the end.
      if (asked.timer !== null) this.#answer(referId, 481)
      else if (event.by === 'local') this.#notify(referId, line.endReason === 'transfer_completed' ? 200 : 503)
    }
  }
}

const notAsked = (referId: string): Failure => ({ failure: 'not_found', message: `no REFER ${referId} is open` })
