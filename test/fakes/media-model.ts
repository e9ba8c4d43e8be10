import type {
  AnsweringSpec,
  CaptureState,
  ClaimedIdentity,
  Commands,
  EndedReason,
  EventName,
  Events,
  Failure,
  LegCause,
  LegSnapshot,
  LegSound,
  MediaEvent,
  MediaSnapshot,
  Quality,
  RoomSpec,
  SipParty,
  StreamSnapshot,
  Target,
  Utterance,
  Verification,
} from '../../media/protocol.ts'
import { NOT_PAUSED } from '../../media/protocol.ts'

export const QUALITY: Quality = {
  codec: 'PCMU',
  packetsReceived: 500,
  packetsSent: 501,
  packetsLost: 1,
  packetsLate: 2,
  lossPct: 0.2,
  concealedPct: 0.6,
  burstRatio: 1.1,
  jitterMs: 1.5,
  roundTripMs: 20,
  delayMs: 65,
  driftPpm: 12,
  mos: 4.3,
}

const AT = '2026-11-21T10:00:00.000Z'

export const utteranceOf = (text: string): Utterance => ({
  text,
  startedAt: AT,
  endedAt: AT,
  endedClockMs: 0,
  endpointMs: 700,
  transcribeMs: 120,
  bargedIn: false,
  resumed: false,
  engine: 'moonshine',
})

/** A leg as control knows it, with more state for tests. */
export interface ModelLeg extends LegSnapshot {
  /** The dialled party: a SIP URI, or a browser's ID. */
  dialled: string
  timeoutS: number
  /** The room that the leg enters when it is answered. */
  room: RoomSpec | null
  playId: string | null
  /** Settings of answering machine detection that has no result yet; null: none runs. */
  answering: AnsweringSpec | null
  /** Settings of its own audio. */
  sound: LegSound
  heardBy: string[] | null
  /** What `leg.update` has said since it came into its room; null: nothing. */
  mutedHere: boolean | null
  /** It is another node's, which calls for a member who leaves both calls. */
  joins?: boolean
}

export interface NumberedEvent {
  seq: number
  event: MediaEvent
}

export const partyOf = (user: string, host = '127.0.0.1'): SipParty => ({
  uri: `sip:${user}@${host}`,
  user,
  host,
})

const callRoom = (roomId: string): RoomSpec => ({
  roomId,
  kind: 'call',
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 100,
})

/**
 * The state of media, without audio, sockets and timers. It numbers events and keeps them until they are acknowledged. Tests decide what the parties do.
 */
export class MediaModel {
  readonly legs = new Map<string, ModelLeg>()
  readonly rooms = new Map<string, Set<string>>()
  /** Rooms that are conferences. */
  readonly conferences = new Set<string>()
  readonly streams = new Map<string, StreamSnapshot>()
  readonly pauses = new Map<string, CaptureState>()
  readonly recordings = new Set<string>()
  /** Recordings that have ended. */
  readonly recorded = new Set<string>()
  readonly closedBrowsers = new Set<string>()
  /** Open REFERs. `accepted`: it is ours, or control has accepted it. */
  readonly refers = new Map<string, { legId: string; accepted: boolean }>()
  /** Legs of redirections that control has not decided on yet. */
  readonly redirects = new Map<string, string>()
  /** Legs that were ever dialled. */
  readonly known = new Set<string>()
  /** The legs that its predecessors may have called; undefined: it does not know. */
  dialledBefore: string[] | undefined
  /** The result of verifying signatures. */
  verification: Verification = { result: 'none', attestation: null, origId: null, number: null, cause: 'no_identity' }
  bootId = 'boot-1'
  /** Time of the engine's monotonic clock [ms]. */
  clockMs = 0
  /** Whether playback ends at once, for tests of what is said, not of when. */
  playsAtOnce = false
  #events: NumberedEvent[] = []
  #seq = 0
  #referred = 0
  readonly #at: () => string

  /** @param at when events happen, ISO-8601 */
  constructor(at: () => string = () => AT) {
    this.#at = at
  }

  /** Loses all state, as a restarted process. */
  forget(nextBootId: string): void {
    this.dialledBefore = [...(this.dialledBefore ?? []), ...this.known]
    for (const state of [
      this.legs,
      this.rooms,
      this.streams,
      this.pauses,
      this.recordings,
      this.known,
      this.refers,
      this.redirects,
    ]) {
      state.clear()
    }
    this.#events = []
    this.#seq = 0
    this.bootId = nextBootId
  }

  // ------------------------------------------------------------------ events

  get seq(): number {
    return this.#seq
  }

  get unacknowledged(): readonly NumberedEvent[] {
    return this.#events
  }

  acknowledge(seq: number): void {
    this.#events = this.#events.filter(numbered => numbered.seq > seq)
  }

  emit<N extends EventName>(name: N, body: Events[N], at = this.#at()): void {
    const numbered = { seq: ++this.#seq, event: { name, at, body } as MediaEvent }
    this.#events.push(numbered)
    this.raised(numbered)
  }

  /** Called with each event that is emitted. */
  protected raised(_numbered: NumberedEvent): void {}

  // ------------------------------------------------------------------ what the parties do

  /** Somebody dials `to`. */
  dialIn(legId: string, to: string, from = 'alice', host = '127.0.0.1', identity?: ClaimedIdentity): void {
    const leg = this.add(legId, { to: partyOf(to) })
    const caller = partyOf(from, host)
    this.emit('leg.incoming', {
      legId,
      to: leg.to,
      from: caller,
      source: { host },
      sipCallId: `${legId}@test`,
      digest: null,
      ...(identity === undefined ? {} : { identity }),
    })
  }

  /** The far end of our call redirects it to others. */
  redirect(legId: string, to: readonly string[], connectionId: string | null = null): string {
    const redirectId = `redir_${++this.#referred}_${legId}`
    this.redirects.set(redirectId, legId)
    this.emit('leg.redirected', { legId, redirectId, to: to.map(uri => ({ ...partyOf(''), uri })), connectionId })
    return redirectId
  }

  /** A party transfers the other one by REFER. @returns the ID of the REFER */
  refer(legId: string, to: string, replaces: Events['leg.refer_asked']['replaces'] = null): string {
    const referId = `xfer_${++this.#referred}_${legId}`
    this.refers.set(referId, { legId, accepted: false })
    this.emit('leg.refer_asked', { legId, referId, to: partyOf(to), replaces })
    return referId
  }

  /** Adds a caller whom control has answered already, in a room of its own. */
  incoming(legId: string, roomId: string): void {
    this.add(legId, { room: callRoom(roomId) })
    this.pickUp(legId)
  }

  /** The called party answers. */
  pickUp(legId: string): void {
    const leg = this.legs.get(legId)
    if (leg === undefined || leg.state === 'answered') return
    const room = leg.room ?? callRoom('')
    leg.state = 'answered'
    leg.room = null
    leg.answering = room.capture?.answering ?? null
    this.emit('leg.answered', { legId })
    if (leg.roomId === null) this.enter(leg, room)
  }

  /** Reports who has answered, once, if detection runs for the leg. */
  foundOut(legId: string, answer: Omit<Events['leg.answered_by'], 'legId'>): void {
    const leg = this.legs.get(legId)
    if (leg?.state !== 'answered' || leg.answering?.legId !== legId) return
    leg.answering = null
    this.emit('leg.answered_by', { legId, ...answer })
  }

  /** Reports silence to all detections whose time for the first word is at most `ms` after the answer. */
  nobodySpeaks(ms: number): void {
    for (const { legId, answering } of this.legs.values()) {
      if (answering === null || ms < answering.initialSilenceMs) continue
      this.foundOut(legId, { answeredBy: 'unknown', cause: 'no_voice', ms: answering.initialSilenceMs })
    }
  }

  hangUp(legId: string, reason: EndedReason = 'caller_hangup', sipCode: number | null = null, cause?: LegCause): void {
    const leg = this.legs.get(legId)
    if (leg === undefined) return
    const members = [...(this.rooms.get(leg.roomId ?? '') ?? [])]
    const others = members.filter(id => id !== legId).map(id => ({ legId: id, quality: QUALITY }))
    this.leave(leg)
    this.legs.delete(legId)
    this.known.add(legId)
    this.resume({ legId }, 'ended')
    this.emit('leg.ended', { legId, reason, sipCode, quality: QUALITY, others, ...(cause && { cause }) })
  }

  /** Ends a playback. */
  heard(legId: string, playId: string, ended: 'played' | 'interrupted' = 'played', heardMs = 1000): void {
    Object.assign(this.legs.get(legId)!, { playing: false, playId: null })
    this.emit('play.finished', { legId, playId, ended, heardMs })
  }

  // ------------------------------------------------------------------ legs and rooms

  add(legId: string, more: Partial<ModelLeg> = {}): ModelLeg {
    const leg: ModelLeg = {
      legId,
      onHold: false,
      direction: 'inbound',
      state: 'incoming',
      to: partyOf(''),
      roomId: null,
      muted: false,
      deaf: false,
      collecting: false,
      playing: false,
      quality: QUALITY,
      voice: null,
      sound: {},
      dialled: '',
      timeoutS: 0,
      room: null,
      playId: null,
      answering: null,
      heardBy: null,
      mutedHere: null,
      ...more,
    }
    this.legs.set(legId, leg)
    return leg
  }

  isFull({ roomId, maxMembers }: RoomSpec): boolean {
    return (this.rooms.get(roomId)?.size ?? 0) >= maxMembers
  }

  enter(leg: ModelLeg, { roomId, kind }: RoomSpec): void {
    if (kind === 'conference') this.conferences.add(roomId)
    if (!this.rooms.has(roomId)) {
      this.rooms.set(roomId, new Set())
      this.emit('room.opened', { roomId })
    }
    this.rooms.get(roomId)?.add(leg.legId)
    leg.roomId = roomId
    this.emit('leg.joined', { legId: leg.legId, roomId, muted: leg.muted })
  }

  leave(leg: ModelLeg): void {
    const { legId, roomId } = leg
    const members = roomId === null ? undefined : this.rooms.get(roomId)
    if (roomId === null || members?.delete(legId) !== true) return
    leg.roomId = null
    this.emit('leg.left', { legId, roomId })
    if (members.size > 0) return
    this.rooms.delete(roomId)
    this.resume({ roomId }, 'ended')
    this.emit('room.closed', { roomId, last: { legId, quality: QUALITY } })
  }

  // ------------------------------------------------------------------ capture

  pause(request: Commands['capture.pause']['request']): CaptureState | Failure {
    const { target, maxSeconds, reason, maskDtmf, destinationLegId, request: asked } = request
    const key = JSON.stringify(target)
    if (this.pauses.has(key)) return { failure: 'conflict', message: 'paused already' }
    const pausedAt = this.#at()
    const resumesAt = new Date(Date.parse(pausedAt) + maxSeconds * 1000).toISOString()
    const state: CaptureState = { paused: true, reason, pausedAt, resumesAt, destinationLegId, maskDtmf }
    this.pauses.set(key, state)
    this.emit('capture.changed', { target, state, by: 'command', ...(asked && { request: asked }) })
    return state
  }

  direct({ target, destinationLegId }: Commands['capture.direct']['request']): CaptureState | Failure {
    const key = JSON.stringify(target)
    const before = this.pauses.get(key)
    if (before === undefined) return { failure: 'conflict', message: 'not paused' }
    const state = { ...before, destinationLegId }
    this.pauses.set(key, state)
    this.emit('capture.changed', { target, state, by: 'command' })
    return state
  }

  /** Ends a pause, by a command or by its deadline. */
  resume(
    target: Target,
    by: Events['capture.changed']['by'],
    request?: Events['capture.changed']['request'],
  ): CaptureState | Failure {
    if (!this.pauses.delete(JSON.stringify(target))) return { failure: 'conflict', message: 'not paused' }
    this.emit('capture.changed', { target, state: NOT_PAUSED, by, ...(request && { request }) })
    return NOT_PAUSED
  }

  /** Whether a leg, its room or another leg in that room is paused. */
  isPaused({ legId, roomId }: ModelLeg): boolean {
    const here = roomId === null ? [legId] : [roomId, ...(this.rooms.get(roomId) ?? [])]
    return here.some(
      id => this.pauses.has(JSON.stringify({ roomId: id })) || this.pauses.has(JSON.stringify({ legId: id })),
    )
  }

  isHere(target: Target): boolean {
    return 'legId' in target ? this.legs.has(target.legId) : this.rooms.has(target.roomId)
  }

  snapshot(): MediaSnapshot {
    const stateOf = (target: Target): CaptureState => this.pauses.get(JSON.stringify(target)) ?? NOT_PAUSED
    return {
      seq: this.#seq,
      legs: [...this.legs.values()].map(snapshotOf),
      rooms: [...this.rooms].map(([roomId, members]) => ({
        roomId,
        legIds: [...members],
        capture: stateOf({ roomId }),
      })),
      captures: [...this.pauses].map(([key, state]) => ({ target: JSON.parse(key) as Target, state })),
      streams: [...this.streams.values()],
      recordings: [...this.recordings].map(recordingId => ({ recordingId })),
      browserIds: [],
      refers: [...this.refers].map(([referId, { legId }]) => ({ referId, legId })),
    }
  }
}

/** The leg's snapshot, as the protocol has it. */
export function snapshotOf(leg: ModelLeg): LegSnapshot {
  const { dialled: _dialled, timeoutS: _timeoutS, room: _room, playId: _playId, heardBy: _heardBy, ...told } = leg
  return told
}
