import { FRAME_MS } from '../../codecs/audio.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import { BrowserLeg, type BrowserPipe } from '../browsers/browser-leg.ts'
import type {
  CaptureState,
  EndedReason,
  EventName,
  Events,
  Failure,
  MediaEvent,
  PaymentPause,
  Request,
  RoomCapture,
  RoomSpec,
  StreamSnapshot,
  Target,
} from '../protocol.ts'
import { isFailure, RateLimit } from '../protocol.ts'
import { Recordings } from '../recordings/recordings.ts'
import { KEY_MS } from '../rtp/key-sender.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { type LegMedia, RtpLeg } from '../rtp/rtp-leg.ts'
import type { RtpReceiver } from '../rtp/rtp-socket.ts'
import { type HearingTools, newHearingCounters } from '../speech/hearing/hearing.ts'
import { type Transcribed, Transcripts } from '../speech/hearing/transcripts.ts'
import type { SpeechOwner } from '../speech/speech-engines.ts'
import type { StreamDialler } from '../streams/stream-socket.ts'
import { Streams } from '../streams/streams.ts'
import { Captures } from './captures.ts'
import type { EngineClock } from './clock.ts'
import { Dialogue } from './dialogue.ts'
import type { EngineLeg } from './engine-protocol.ts'
import type { KeySource, Leg, LegHooks } from './leg.ts'
import type { Prompts } from './prompts.ts'
import type { Room } from './room.ts'
import { playerOf, Rooms } from './rooms.ts'

/** The sockets of one leg. */
export interface LegSocket extends PacketOut {
  readonly port: number
  /** Packets go to the receiver from now on. */
  listen(receiver: RtpReceiver): void
  close(): void
}

/** Nobody presses keys faster; a sender that seems to is held to this, so that it cannot flood control. */
const KEYS_PER_SECOND = 20
const KEY_BURST = 40

/** What a key that came by signalling sounds like may come so much later than what it was told by [ms]. */
const SIGNALLED_TAIL_MS = 250

export interface EngineOptions {
  dataDir: string
  emit: (event: MediaEvent) => void
  /** A leg is to be ended by signalling. */
  end: (legId: string, reason: EndedReason) => void
  /** Something threw; the legs that it belongs to are ended. */
  fault: (error: unknown, legIds: readonly string[]) => void
  /** Opens the sockets of a leg; null when no port is left. */
  openSocket: () => Promise<LegSocket | null>
  /** A key that goes to its party by signalling: a browser's page, or a SIP peer that wants INFO. */
  sendKey: (legId: string, key: string, durationMs: number) => void
  dialler: StreamDialler
  prompts: Prompts
  /** What a leg that is listened to needs beside the clock. */
  hearing: Omit<HearingTools, 'now' | 'owner'>
  clock: EngineClock
  /** Monotonic [ms]. */
  now: () => number
  /** 32 random bits. */
  random: () => number
}

/** A leg with what the engine keeps beside it. */
interface Member {
  leg: Leg
  /** Closes what connects it. */
  disconnect: () => void
  /** In whose turn speech is made and understood. */
  owner: () => SpeechOwner
  room: Room | null
  dialogue: Dialogue
  keyRate: RateLimit
}

/**
 * Everything of one engine thread: legs, rooms, pauses, streams and recordings, on one clock. Commands come as method
 * calls, what happens goes out as events. Who closes whom stands in docs/closing.md.
 */
export class Engine implements LegHooks {
  readonly #options: EngineOptions
  readonly #members = new Map<string, Member>()
  /** Legs whose sockets are being opened. */
  readonly #opening = new Map<string, { isGivenUp: boolean }>()
  readonly #rooms: Rooms<Member>
  readonly #streams: Streams
  readonly #captures = new Captures(
    change => this.#captureChanged(change),
    legId => this.#paymentExpired(legId),
  )
  readonly #recordings: Recordings
  readonly #transcripts: Transcripts
  readonly #heard = newHearingCounters()
  /** What the legs that are over have refused. */
  #packetsRefused = 0
  #faults = 0

  constructor(options: EngineOptions) {
    this.#options = options
    this.#recordings = new Recordings(options.dataDir, {
      ready: info => this.#emit('recording.ready', info),
      failed: failure => this.#emit('recording.failed', failure),
    })
    this.#streams = new Streams({
      dialler: options.dialler,
      now: options.now,
      changed: snapshot => this.#emit('stream.changed', snapshot),
    })
    this.#rooms = new Rooms<Member>({
      prompts: options.prompts,
      clock: options.clock,
      now: options.now,
      emit: (name, body) => this.#emit(name, body),
      entered: (member, room) => this.#entered(member, room),
      leaving: member => this.#leaving(member),
      opened: room => this.#roomOpened(room),
      changed: room => this.#syncPause(room),
      closed: roomId => this.#roomClosed(roomId),
      told: (room, words) =>
        this.#transcripts.told(
          room.legs.map(leg => leg.id),
          words,
        ),
    })
    this.#transcripts = new Transcripts({
      now: () => this.#options.now(),
      words: words => this.#emit('transcript.words', words),
      segment: segment => this.#emit('transcript.segment', segment),
      ready: end => this.#emit('transcript.ready', end),
    })
  }

  // ------------------------------------------------------------------ legs

  /** @param affinity whose leg it is */
  async open(legId: string, affinity = ''): Promise<{ port: number } | Failure> {
    if (this.#has(legId)) return conflict('a leg with this ID exists')
    const opening = { isGivenUp: false }
    this.#opening.set(legId, opening)
    const socket = await this.#options.openSocket().finally(() => {
      if (this.#opening.get(legId) === opening) this.#opening.delete(legId)
    })
    if (socket === null) return { failure: 'capacity', message: 'no RTP port is free' }
    if (opening.isGivenUp) {
      socket.close()
      return noLeg(legId)
    }
    const leg = new RtpLeg(legId, socket, this, this.#options.random, (key, ms) =>
      this.#options.sendKey(legId, key, ms),
    )
    socket.listen({
      rtp: (bytes, host, port) => {
        try {
          leg.rtp(bytes, host, port, this.#options.now())
        } catch (error) {
          this.#broke(leg.id, error)
        }
      },
      rtcp: (bytes, host) => {
        try {
          leg.rtcp(bytes, host, this.#options.now())
        } catch (error) {
          this.#broke(leg.id, error)
        }
      },
    })
    this.#add(leg, affinity, () => socket.close())
    return { port: socket.port }
  }

  #has(legId: string): boolean {
    return this.#members.has(legId) || this.#opening.has(legId)
  }

  /** A leg whose frames come and go through memory that the main thread shares. */
  openBrowser(legId: string, pipe: BrowserPipe, affinity = ''): { port: number } | Failure {
    if (this.#has(legId)) return conflict('a leg with this ID exists')
    const leg = new BrowserLeg(legId, pipe, this, key => this.#options.sendKey(legId, key, KEY_MS))
    this.#add(leg, affinity, () => {})
    return { port: 0 }
  }

  #add(leg: Leg, affinity: string, disconnect: () => void): void {
    const { prompts, hearing, now, end } = this.#options
    const callId = (): string | null => this.#members.get(leg.id)?.room?.spec.roomId ?? null
    const owner = () => ({ legId: leg.id, callId: callId(), affinity })
    const dialogue = new Dialogue(
      leg,
      { prompts, now, hearing: { ...hearing, now, owner }, counters: this.#heard },
      { emit: (name, body) => this.#emit(name, body), end, agreed: capture => this.#agreed(leg.id, capture) },
    )
    this.#members.set(leg.id, {
      leg,
      disconnect,
      owner,
      room: null,
      dialogue,
      keyRate: new RateLimit(KEY_BURST, KEYS_PER_SECOND),
    })
  }

  connect(legId: string, media: LegMedia | null, enter: RoomSpec | null): EngineLeg | Failure {
    const member = this.#members.get(legId)
    if (member === undefined) return noLeg(legId)
    if (enter !== null && this.#rooms.get(enter.roomId)?.full === true) return roomFull(enter.roomId)
    if (media !== null && member.leg instanceof RtpLeg) member.leg.connect(media, this.#options.now())
    if (enter === null) return this.#read(member)
    // Of who opens a room they begin with it; who comes into one that is open brings its own.
    if (this.#rooms.get(enter.roomId) !== undefined)
      for (const spec of enter.capture?.streams ?? []) this.startStream(spec)
    this.#rooms.enter(member, enter)
    return this.#read(member)
  }

  move({ legId, room: spec, mustExist, muted, payment }: Request<'leg.move'>): EngineLeg | Failure {
    const member = this.#members.get(legId)
    if (member === undefined) return noLeg(legId)
    const target = this.#rooms.get(spec.roomId)
    if (mustExist && target === undefined) return { failure: 'not_found', message: `no room ${spec.roomId}` }
    const isThere = target !== undefined && target === member.room
    if (!isThere && target?.full === true) return roomFull(spec.roomId)
    // Before it is heard by anybody: the pause goes with the leg.
    const refused = payment === undefined ? null : this.#pauseFor(legId, payment)
    if (refused !== null) return refused
    if (isThere) return this.#read(member)
    member.dialogue.leaveRoom()
    this.#rooms.leave(member)
    member.leg.muted = muted
    member.leg.heardBy = null
    member.leg.hears = null
    this.#rooms.enter(member, spec)
    return this.#read(member)
  }

  /** Null: it is on, by this or since an earlier command. */
  #pauseFor(legId: string, payment: PaymentPause): Failure | null {
    const request = { ...payment, target: { legId }, destinationLegId: legId }
    const paused = this.#captures.pause(request, this.#options.now(), Date.now(), true)
    return isFailure(paused) && paused.failure !== 'conflict' ? paused : null
  }

  /** The connection ends with its pause: first the two are apart, then the pause is over, then the line is told. */
  #paymentExpired(legId: string): void {
    const member = this.#members.get(legId)
    if (member === undefined) return
    this.#rooms.leave(member)
    this.#options.end(legId, 'max_duration')
  }

  update({ legId, muted, deaf, heardBy, hears }: Request<'leg.update'>): EngineLeg | Failure {
    const member = this.#members.get(legId)
    if (member === undefined) return noLeg(legId)
    const { leg } = member
    leg.muted = muted ?? leg.muted
    leg.deaf = deaf ?? leg.deaf
    if (heardBy !== undefined) leg.heardBy = heardBy === null ? null : new Set(heardBy)
    if (hears !== undefined) leg.hears = hears === null ? null : new Set(hears)
    return this.#read(member)
  }

  async hold({ legId, held, sources }: Request<'leg.hold'>): Promise<EngineLeg | Failure> {
    const owner = this.#members.get(legId)?.owner()
    const loaded = held ? await this.#options.prompts.loadAll(sources, owner) : []
    if ('error' in loaded) return { failure: 'invalid', message: loaded.error }
    // It may have ended meanwhile.
    const member = this.#members.get(legId)
    if (member === undefined) return noLeg(legId)
    member.leg.onHold = held
    member.leg.holdAudio = held ? playerOf(loaded, true) : null
    return this.#read(member)
  }

  read(legId: string): EngineLeg | Failure {
    const member = this.#members.get(legId)
    return member === undefined ? noLeg(legId) : this.#read(member)
  }

  #read({ leg, room, dialogue }: Member): EngineLeg {
    return {
      legId: leg.id,
      roomId: room?.spec.roomId ?? null,
      muted: leg.muted,
      deaf: leg.deaf,
      onHold: leg.onHold,
      collecting: dialogue.collecting,
      playing: dialogue.playing,
      quality: leg.quality,
    }
  }

  /** Idempotent; the reply is the last quality. */
  close(legId: string): { quality: EngineLeg['quality'] } | Failure {
    const opening = this.#opening.get(legId)
    if (opening !== undefined) {
      opening.isGivenUp = true
      this.#opening.delete(legId)
    }
    const member = this.#members.get(legId)
    if (member === undefined) return noLeg(legId)
    const { leg, disconnect } = member
    const { quality } = leg
    this.#members.delete(legId)
    this.#packetsRefused += leg.packetsRefused
    const now = this.#options.now()
    this.#allOf(
      // What was heard of our last words is still written down.
      () => member.dialogue.leaveRoom(),
      () => this.#rooms.leave(member),
      () => this.#captures.drop({ legId }),
      () => this.#recordings.closed(leg),
      () => member.dialogue.close(),
      () => this.#transcripts.closed(legId, now),
      () => leg.goodbye(now),
      () => leg.close(),
      disconnect,
    )
    return { quality }
  }

  // ------------------------------------------------------------------ faults

  /** Does each of these, whatever becomes of the others: what a leg has opened is closed in any case. */
  #allOf(...steps: (() => void)[]): void {
    for (const step of steps) {
      try {
        step()
      } catch (error) {
        this.#tellFault(error, [])
      }
    }
  }

  #tellFault(error: unknown, legIds: readonly string[]): void {
    this.#faults++
    this.#options.fault(error, legIds)
  }

  /** A leg has thrown: it alone is out of its room at once, lest the next tick throws again, and ended by signalling. */
  #broke(legId: string, error: unknown): void {
    this.#tellFault(error, [legId])
    const member = this.#members.get(legId)
    if (member !== undefined) this.#allOf(() => this.#rooms.leave(member), member.disconnect)
    this.#options.end(legId, 'internal_error')
  }

  /** Carries out a command; what throws ends the leg that it names, and nothing else. */
  async guard<T extends object>(request: object, run: () => T | Promise<T>): Promise<T | Failure> {
    try {
      return await run()
    } catch (error) {
      const named = 'target' in request ? (request.target as object) : request
      if ('legId' in named) this.#broke(named.legId as string, error)
      else this.#tellFault(error, [])
      return { failure: 'unanswered', message: `a fault: ${error instanceof Error ? error.message : String(error)}` }
    }
  }

  // ------------------------------------------------------------------ rooms

  /** What is kept of it begins with its first sample; what cannot be is told to whoever asks for it once more. */
  #roomOpened({ spec: { roomId, capture } }: Room): void {
    if (capture !== undefined) this.#keep(roomId, capture)
  }

  #keep(roomId: string, { recordingId, transcript, encrypted = false, streams = [] }: RoomCapture): void {
    const target = { roomId }
    if (recordingId !== null) this.#recordings.start({ recordingId, target, encrypted })
    for (const stream of streams) this.startStream(stream)
    if (transcript === null || !this.#options.hearing.stt.understands(transcript.language)) return
    this.#transcripts.start({ ...transcript, target }, this.#options.now())
  }

  /** The party has pressed the key by which it agrees: from here on, not from when control has heard of it. */
  #agreed(legId: string, capture: RoomCapture): void {
    const room = this.#members.get(legId)?.room ?? null
    if (room === null) return
    this.#keep(room.spec.roomId, capture)
    this.#enterAll()
  }

  /** Who is in a room already comes onto what has just begun. */
  #enterAll(): void {
    for (const member of this.#members.values()) if (member.room !== null) this.#entered(member, member.room)
  }

  #entered(member: Member, room: Room): void {
    this.#recordings.enter(member.leg, room)
    this.#transcripts.enter(transcribed(member))
  }

  #leaving(member: Member): void {
    this.#recordings.leave(member.leg)
    this.#transcripts.leave(transcribed(member))
  }

  #roomClosed(roomId: string): void {
    this.#captures.drop({ roomId })
    this.#recordings.roomClosed(roomId)
    this.#transcripts.roomClosed(roomId, this.#options.now())
  }

  playInRoom({ roomId, sources, loop }: Request<'room.play'>): Promise<Ok | Failure> {
    const anybody = [...this.#members.values()].find(({ room }) => room?.spec.roomId === roomId)
    return this.#rooms.play(roomId, sources, loop, anybody?.owner())
  }

  /** One slot of the clock: a 20 ms frame for each room that belongs to it. `now` is the slot's deadline [ms]. */
  tick(slot: number, now: number): void {
    for (const room of this.#rooms.inSlot(slot)) {
      try {
        room.tick(now)
        for (const leg of room.legs) {
          room.turn = leg
          this.#members.get(leg.id)!.dialogue.tick(now, room.pause !== null)
        }
      } catch (error) {
        // Whose turn it was; what belongs to all of a room ends it.
        const guilty = room.turn === null ? [...room.legs] : [room.turn]
        for (const { id } of guilty) this.#broke(id, error)
      }
      room.turn = null
    }
    if (slot === 0) this.#allOf(() => this.#captures.advance(now))
  }

  /** None of the far end's audio comes, or no more. */
  oneWay({ id, quality: { packetsReceived, packetsSent } }: Leg): void {
    this.#emit('leg.one_way', { legId: id, packetsReceived, packetsSent })
  }

  /** Nothing came from the far end for a minute. */
  timedOut(leg: Leg): void {
    this.#options.end(leg.id, 'rtp_timeout')
  }

  // ------------------------------------------------------------------ playing and keys

  /** The member's dialogue does it. */
  #withDialogue<T>(legId: string, act: (dialogue: Dialogue) => T): T | Failure {
    const member = this.#members.get(legId)
    return member === undefined ? noLeg(legId) : act(member.dialogue)
  }

  async play(request: Request<'leg.play'>): Promise<Ok | Failure> {
    return this.#withDialogue(request.legId, dialogue => dialogue.play(request))
  }

  stopPlay(legId: string): Ok | Failure {
    return this.#withDialogue(legId, dialogue => dialogue.stopPlay())
  }

  async collect(request: Request<'leg.collect'>): Promise<Ok | Failure> {
    return this.#withDialogue(request.legId, dialogue => dialogue.collect(request))
  }

  listen({ legId, listen }: Request<'leg.listen'>): Ok | Failure {
    return this.#withDialogue(legId, dialogue => dialogue.listen(listen))
  }

  stopListening(legId: string): Ok | Failure {
    return this.#withDialogue(legId, dialogue => dialogue.stopListening())
  }

  /** A key of a leg: to its collector, its streams, control, and whoever is to get it in the room. */
  key(leg: Leg, key: DtmfKey, source: KeySource, pressedAt: number): void {
    const member = this.#members.get(leg.id)
    const now = this.#options.now()
    if (member?.keyRate.allow(now) !== true) return
    const { dialogue, room } = member
    const pause = room?.pause ?? null
    if (pause !== null || leg.coversKey(source, pressedAt, now)) {
      this.#keyOfPause(member, key, source)
      return
    }
    const masked = dialogue.secret
    this.#emit('leg.dtmf', { legId: leg.id, key: masked ? '*' : key, masked, source })
    if (!masked) this.#streams.key(leg.id, room?.spec.roomId ?? null, key)
    const isCollected = dialogue.key(key)
    if (!isCollected && source !== 'inband' && !masked) this.#relayKey(member, key)
  }

  /** It goes to the payment line, whatever waits for keys; one that comes when the pause is over goes to nobody. */
  #keyOfPause({ leg, room, dialogue }: Member, key: string, source: KeySource): void {
    this.#emit('leg.dtmf', { legId: leg.id, key: '*', masked: true, source })
    const pause = room?.pause ?? null
    if (room === null || pause === null || source === 'inband') return
    const isForAll = !pause.maskDtmf && room.spec.kind === 'call' && !dialogue.secret
    for (const other of room.legs) {
      if (other !== leg && (isForAll || other.id === pause.destinationLegId)) other.sendKey(key)
    }
  }

  /** All others get the keys of a call, but not those of a conference. */
  #relayKey({ leg, room }: Member, key: string): void {
    if (room?.spec.kind !== 'call') return
    for (const other of room.legs) if (other !== leg) other.sendKey(key)
  }

  /** A key that came by signalling, with the time for which it says that it is down. */
  signalledKey(legId: string, key: string, source: KeySource, durationMs: number): Ok | Failure {
    const member = this.#members.get(legId)
    if (member === undefined) return noLeg(legId)
    const now = this.#options.now()
    member.leg.keyDown(now + durationMs + SIGNALLED_TAIL_MS)
    this.key(member.leg, key as DtmfKey, source, now)
    return {}
  }

  sendKeys({ legId, digits, durationMs }: Request<'leg.send_dtmf'>): Ok | Failure {
    const member = this.#members.get(legId)
    if (member === undefined) return noLeg(legId)
    for (const digit of digits) {
      if (!member.leg.sendKey(digit, durationMs)) {
        return {
          failure: 'capacity',
          message: 'too many keys wait to be sent, one of them is no key, or the far end takes none',
        }
      }
    }
    return {}
  }

  // ------------------------------------------------------------------ capture

  pause(request: Request<'capture.pause'>): CaptureState | Failure {
    if (!this.#exists(request.target)) return { failure: 'not_found', message: 'the call is not here' }
    return this.#captures.pause(request, this.#options.now(), Date.now())
  }

  resume(target: Target): CaptureState | Failure {
    return this.#captures.resume(target)
  }

  #captureChanged(change: Events['capture.changed']): void {
    for (const room of this.#rooms.all()) this.#syncPause(room)
    this.#emit('capture.changed', change)
  }

  #syncPause(room: Room): void {
    const { roomId } = room.spec
    room.pause = this.#captures.over(
      roomId,
      room.legs.map(leg => leg.id),
    )
    this.#recordings.pauseChanged(room)
    const isPaused = room.pause !== null
    room.words?.pause(isPaused)
    for (const leg of room.legs) {
      if (isPaused) leg.paused(this.#options.now())
      this.#members.get(leg.id)?.dialogue.paused(isPaused)
    }
  }

  startStream(spec: Request<'stream.start'>): StreamSnapshot | Failure {
    const sinks = this.#sinksOf(spec.target)
    if (sinks === null) return { failure: 'not_found', message: 'the call is not here' }
    return this.#streams.start(spec, sinks)
  }

  stopStream(streamId: string): Promise<StreamSnapshot | Failure> {
    return this.#streams.stop(streamId)
  }

  readStreams(streamIds: string[]): StreamSnapshot[] {
    return this.#streams.read(streamIds)
  }

  startRecording(request: Request<'recording.start'>): Ok | Failure {
    const { target } = request
    const isHere = this.#exists(target) || this.#recordings.has(request.recordingId)
    if (!isHere) return { failure: 'not_found', message: 'the call is not here' }
    const started = this.#recordings.start(request)
    if (isFailure(started)) return started
    this.#enterAll()
    return started
  }

  pauseRecording(recordingId: string): Ok | Failure {
    return this.#recordings.pause(recordingId)
  }

  resumeRecording(recordingId: string): Ok | Failure {
    return this.#recordings.resume(recordingId)
  }

  stopRecording(recordingId: string): Ok | Failure {
    return this.#recordings.stop(recordingId)
  }

  /** Its times count from where the recording of the same target began, if there is one. */
  startTranscript(request: Request<'transcript.start'>): Ok | Failure {
    const { target, language } = request
    const isHere = this.#exists(target) || this.#transcripts.has(request.transcriptId)
    if (!isHere) return { failure: 'not_found', message: 'the call is not here' }
    if (!this.#options.hearing.stt.understands(language)) {
      return { failure: 'invalid', message: `no engine here understands ${language}` }
    }
    const recordedMs = (this.#recordings.framesOf(target) ?? 0) * FRAME_MS
    const started = this.#transcripts.start(request, this.#options.now() - recordedMs)
    if (isFailure(started)) return started
    this.#enterAll()
    return started
  }

  stopTranscript(transcriptId: string): Ok | Failure {
    return this.#transcripts.stop(transcriptId, this.#options.now())
  }

  #exists(target: Target): boolean {
    return 'legId' in target ? this.#members.has(target.legId) : this.#rooms.get(target.roomId) !== undefined
  }

  #sinksOf(target: Target) {
    if ('legId' in target) return this.#members.get(target.legId)?.leg.sinks ?? null
    return this.#rooms.get(target.roomId)?.sinks ?? null
  }

  // ------------------------------------------------------------------ the whole

  snapshot() {
    return {
      legs: [...this.#members.values()].map(member => this.#read(member)),
      rooms: [...this.#rooms.all()].map(room => ({
        roomId: room.spec.roomId,
        legIds: room.legs.map(leg => leg.id),
      })),
      captures: this.#captures.list(),
      streams: this.#streams.list(),
      recordings: this.#recordings.list(),
    }
  }

  stats() {
    const { framesSent, framesDropped } = this.#streams.totals
    let packetsRefused = this.#packetsRefused
    for (const { leg } of this.#members.values()) packetsRefused += leg.packetsRefused
    return {
      counters: {
        clock_late_slots_total: this.#options.clock.late,
        clock_skipped_slots_total: this.#options.clock.skipped,
        rtp_packets_refused_total: packetsRefused,
        stream_frames_sent_total: framesSent,
        stream_frames_dropped_total: framesDropped,
        utterances_total: this.#heard.utterances,
        utterances_dropped_total: this.#heard.utterancesDropped,
        utterances_failed_total: this.#heard.utterancesFailed,
        utterances_noise_total: this.#heard.noises,
        prompts_failed_total: this.#options.prompts.failures,
        engine_faults_total: this.#faults,
      },
      gauges: { rooms: this.#rooms.size, streams: this.#streams.count },
    }
  }

  /** Ends what is left and resolves when all recordings are written. */
  async shutdown(): Promise<void> {
    for (const legId of [...this.#opening.keys(), ...this.#members.keys()]) this.close(legId)
    await Promise.all([this.#recordings.close(), this.#transcripts.close(this.#options.now())])
  }

  #emit<N extends EventName>(name: N, body: Events[N]): void {
    this.#options.emit({ name, at: new Date().toISOString(), body } as MediaEvent)
  }
}

const transcribed = ({ leg, room, dialogue }: Member): Transcribed => ({
  legId: leg.id,
  room: room?.spec ?? null,
  dialogue,
})

type Ok = Record<string, never>

const noLeg = (legId: string): Failure => ({ failure: 'not_found', message: `no leg ${legId}` })
const roomFull = (roomId: string): Failure => ({ failure: 'capacity', message: `room ${roomId} is full` })
const conflict = (message: string): Failure => ({ failure: 'conflict', message })
