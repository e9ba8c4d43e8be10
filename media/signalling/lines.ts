import { randomInt } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { HeaderFields } from '../../sip/agent-types.ts'
import { MAX_FORWARDS } from '../../sip/message/format.ts'
import type { EngineThread } from '../engine/engine-client.ts'
import type { EngineCommands, LegBeginning } from '../engine/engine-protocol.ts'
import type { Threads } from '../engine/threads/threads.ts'
import type { OwnAddress } from '../kernel/own-addresses.ts'
import { atMost } from '../protocol/at-most.ts'
import { randomHex } from '../protocol/chance.ts'
import type { EndedReason, EventName, Events, Failure, LegAudio, LegSnapshot, MediaEvent } from '../protocol.ts'
import { isFailure } from '../protocol.ts'
import { NO_QUALITY } from '../rooms/leg.ts'
import type { SipTrace } from '../tracing/sip-trace.ts'
import { causeOfOurs } from './causes.ts'
import { saying } from './invitation.ts'
import { isOver, type Line, NO_AUDIO } from './line.ts'
import { packetsOf } from './trace-desk.ts'

/** Maximum number of ended legs still known, so that they are not dialled again, and forwarded calls get their Max-Forwards. */
const MAX_RECENT = 10_000
/** How long a place is reserved for a leg that control has yet to store [ms]. */
const RESERVED_MS = 10_000
const UNMEASURED = { quality: NO_QUALITY, packets: null, others: undefined }

interface LinesOptions {
  threads: Pick<Threads, 'place'>
  emit: (event: MediaEvent) => void
  /** Keeps what passes for each leg. */
  trace: Pick<SipTrace, 'claim' | 'end'>
  /** Its SIP session; null: ended. */
  callIdOf: (sessionId: string) => string | null
  /** Something that ran for a line threw. */
  broke: (line: Line, error: unknown) => void
}

/** Initial data of a line. */
type Begun = Pick<Line, 'legId' | 'sessionId' | 'direction' | 'state' | 'to' | 'from' | 'offer' | 'peer' | 'digest'>

/** All lines, by leg and by SIP session: how each begins, gets its audio, is read, and ends once. */
export class Lines {
  readonly byLeg = new Map<string, Line>()
  /** Legs for which a place is reserved. */
  readonly #reserved = new LRUCache<string, true>({ ...atMost(MAX_RECENT), ttl: RESERVED_MS, ttlAutopurge: true })
  readonly #options: LinesOptions
  readonly #bySession = new Map<string, Line>()
  /** Max-Forwards of those that are over. */
  readonly #over = new LRUCache<string, number>(atMost(MAX_RECENT))

  constructor(options: LinesOptions) {
    this.#options = options
  }

  get(legId: string): Line | undefined {
    return this.byLeg.get(legId)
  }

  /** Number of places in use or reserved. */
  get taken(): number {
    return this.byLeg.size + this.#reserved.size
  }

  /** Reserves a place until the leg begins, or some seconds have passed. */
  reserve(legId: string): void {
    this.#reserved.set(legId, true)
  }

  /** Releases a reserved place, since the leg will not be dialled. */
  release(legId: string): void {
    this.#reserved.delete(legId)
  }

  isReserved(legId: string): boolean {
    return this.#reserved.has(legId)
  }

  ofSession(sessionId: string): Line | undefined {
    return this.#bySession.get(sessionId)
  }

  /** Whether this leg was begun, now or not long ago. */
  knew(legId: string): boolean {
    return this.byLeg.has(legId) || this.#over.has(legId)
  }

  /**
   * Max-Forwards of a call that is forwarded from this leg: one less than the leg's own (RFC 7332 §4). Null: none is left, and an
   * unanswered caller is refused with 483.
   */
  onwardFrom(legId: string | undefined): number | null {
    const line = legId === undefined ? undefined : this.byLeg.get(legId)
    const had = line?.maxForwards ?? (legId === undefined ? undefined : this.#over.get(legId))
    if (had === undefined) return MAX_FORWARDS
    if (had === 0) this.outOfHops(legId)
    return had === 0 ? null : had - 1
  }

  /** Passes a far end's user-to-user information to the other party of its call: the caller, or the called party. */
  tellOther({ legId, callerLegId }: Line, data: HeaderFields): void {
    const caller = callerLegId === undefined ? undefined : this.byLeg.get(callerLegId)
    // Replaces what an earlier far end has said.
    if (caller !== undefined) caller.returned = data
    if (data.length === 0) return
    for (const other of this.byLeg.values()) if (other.callerLegId === legId) other.returned = data
  }

  /** Has this go on with the call of the other party, who is led to somebody else, until the returned function is called. */
  sayOnward({ legId, callerLegId }: Line, said: HeaderFields): () => void {
    const others = [...this.byLeg.values()].filter(other => other.legId === callerLegId || other.callerLegId === legId)
    const before = others.map(({ onward }) => onward)
    for (const other of others) other.onward = saying(said, other.onward)
    return () => others.forEach((other, i) => (other.onward = before[i]!))
  }

  /** The call has been forwarded too often, by us or by others. */
  outOfHops(legId: string | undefined): void {
    const line = legId === undefined ? undefined : this.byLeg.get(legId)
    if (line !== undefined) line.isOutOfHops = true
  }

  begin(known: Begun): Line {
    const line: Line = {
      engine: null,
      affinity: '',
      near: null,
      own: null,
      port: 0,
      codecs: [],
      dtmf: 'auto',
      srtp: 'off',
      ice: newIceCredentials(),
      ssrc: 0,
      isWebRtc: false,
      maxForwards: MAX_FORWARDS,
      isOutOfHops: false,
      callerLegId: undefined,
      onward: [],
      returned: [],
      ways: null,
      way: null,
      room: null,
      early: null,
      media: null,
      earlyMedia: null,
      deniedEarly: null,
      reliability: null,
      isAnswering: false,
      isRung: false,
      opening: null,
      signed: null,
      isPrivate: false,
      sdpId: String(randomInt(1, 2 ** 47)),
      description: null,
      theirs: [],
      held: false,
      onHold: false,
      told: 'sendrecv',
      asked: null,
      endReason: null,
      besides: null,
      cause: null,
      refusedWith: null,
      timer: undefined,
      answeredMs: null,
      ending: null,
      // The spread comes last: V8 would add properties after it one by one, which takes 60 µs instead of 1 for this many.
      ...known,
    }
    this.#reserved.delete(line.legId)
    this.byLeg.set(line.legId, line)
    this.bind(line, line.sessionId)
    return line
  }

  /** The SIP session of a line from now on; empty: none. */
  bind(line: Line, sessionId: string): void {
    this.#bySession.delete(line.sessionId)
    line.sessionId = sessionId
    if (sessionId === '') return
    this.#bySession.set(sessionId, line)
    const callId = this.#options.callIdOf(sessionId)
    if (callId !== null) this.#options.trace.claim(callId, line.legId)
  }

  /** Runs something without waiting for it. */
  beside(line: Line, run: Promise<unknown>): void {
    run.catch(error => this.#options.broke(line, error))
  }

  /** Opens its sockets at an address of ours. `begin`: also starts its audio, since it is answered. */
  async openAudio(
    line: Line,
    own: OwnAddress,
    begin?: LegBeginning,
  ): Promise<EngineCommands['leg.open']['reply'] | Failure> {
    const { threads } = this.#options
    const engine = threads.place(line.near)
    const opened = await this.#openAudioOn(engine, line, own, begin)
    if (!isFailure(opened) || opened.failure !== 'capacity' || isOver(line)) return opened
    // Each thread has ports of its own.
    const other = threads.place(null, engine)
    return other === engine ? opened : this.#openAudioOn(other, line, own, begin)
  }

  async #openAudioOn(
    engine: EngineThread,
    line: Line,
    own: OwnAddress,
    begin: LegBeginning | undefined,
  ): Promise<EngineCommands['leg.open']['reply'] | Failure> {
    const { affinity, legId, sound } = line
    line.engine = engine
    line.own = own
    const opened = await engine.request('leg.open', {
      legId,
      affinity,
      host: own.host,
      ...(sound && { sound }),
      ...(begin && { begin }),
    })
    if (!isFailure(opened)) {
      line.port = opened.port
      line.ssrc = opened.ssrc
    }
    return opened
  }

  /** `known`: what its thread has just reported about it. */
  async snapshot(line: Line, known?: LegAudio): Promise<LegSnapshot> {
    const audio = known ?? (await this.#audioOf(line))
    const { legId, direction, state, to } = line
    return { legId, direction, state, to, ...audio }
  }

  async #audioOf(line: Line): Promise<LegAudio> {
    const reply = line.engine === null ? null : await line.engine.request('leg.read', { legId: line.legId })
    return reply === null || isFailure(reply) ? NO_AUDIO : reply
  }

  /** Ends a line, and reports it once its audio is closed. Idempotent. */
  finish(line: Line, reason: EndedReason, sipCode: number | null): Promise<void> {
    line.ending ??= this.#end(line, reason, sipCode)
    return line.ending
  }

  async #end(line: Line, reason: EndedReason, sipCode: number | null): Promise<void> {
    const endedMs = performance.now()
    line.state = 'ended'
    this.#over.set(line.legId, line.maxForwards)
    clearTimeout(line.timer)
    this.#bySession.delete(line.sessionId)
    const closed = line.engine === null ? null : await line.engine.request('leg.close', { legId: line.legId })
    this.byLeg.delete(line.legId)
    const { quality, packets, others } = closed === null || isFailure(closed) ? UNMEASURED : closed
    this.#options.trace.end(line.legId, Date.now(), packetsOf(line, packets))
    const { legId, answeredMs } = line
    const measured = answeredMs === null ? {} : { durationMs: Math.round(endedMs - answeredMs) }
    const cause = line.cause ?? causeOfOurs(reason, sipCode)
    this.emit('leg.ended', { legId, reason, sipCode, cause, quality, ...(others && { others }), ...measured })
  }

  /** A line of which nothing was or will be sent: no event reports it. */
  forget(line: Line): void {
    clearTimeout(line.timer)
    line.state = 'ended'
    this.byLeg.delete(line.legId)
    // The thread may open it yet.
    void line.engine?.request('leg.close', { legId: line.legId })
  }

  emit<N extends EventName>(name: N, body: Events[N]): void {
    this.#options.emit({ name, at: new Date().toISOString(), body } as MediaEvent)
  }
}

/** RFC 8839 §5.4: 24 and 128 bits of randomness at least. */
export const newIceCredentials = () => ({
  ufrag: randomHex(6),
  pwd: randomHex(18),
})

export const notFound = (legId: string): Failure => ({ failure: 'not_found', message: `no leg ${legId}` })
export const conflict = (message: string): Failure => ({ failure: 'conflict', message })
