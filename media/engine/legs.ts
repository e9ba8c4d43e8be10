import { ArrayLease } from '../../codecs/arrays.ts'
import type { FaxTone } from '../../codecs/detectors/fax-tones.ts'
import { OpusCodec } from '../../codecs/packets/opus.ts'
import { BrowserLeg } from '../legs/browser-leg.ts'
import type { LegMedia } from '../legs/leg-media.ts'
import { PageWay } from '../legs/page-way.ts'
import { RtpLeg } from '../legs/rtp-leg.ts'
import {
  type EndedReason,
  type EventName,
  type Events,
  type Failure,
  type LegSound,
  RateLimit,
  type Request,
  type RoomCapture,
  type RoomSpec,
  type ToneSource,
} from '../protocol.ts'
import { Annex } from '../rooms/annex.ts'
import type { Leg, LegHooks } from '../rooms/leg.ts'
import type { Source } from '../rooms/source.ts'
import { KEY_MS } from '../rtp/key-sender.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import type { RtpReceiver } from '../rtp/rtp-socket.ts'
import { type HearingCounters, type HearingTools, newHearingCounters } from '../speech/hearing/hearing.ts'
import type { DtlsIdentity } from '../webrtc/dtls-wire.ts'
import { Dialogue } from './dialogue.ts'
import type { CrossMessage, EngineCommands, EngineHandlers, EngineLeg, LegReport, LinkSpec } from './engine-protocol.ts'
import type { Faults } from './faults.ts'
import { leftBehind, type Member, type Members, noLeg } from './member.ts'
import type { Prompts } from './prompts.ts'
import { playerOf, type Rooms } from './rooms.ts'
import type { Sinks } from './sinks.ts'
import type { Sounds } from './sounds.ts'

/** The sockets of one leg. */
export interface LegSocket extends PacketOut {
  readonly port: number
  /** Delivers packets to the receiver from now on; its exceptions go to `broke`. */
  listen(receiver: RtpReceiver, broke: (error: unknown) => void): void
  close(): void
}

/** Names both settings that an operator can change. */
const NO_PORT = 'no RTP port is free (TANDEM_RTP_PORTS), or no more files may be open (ulimit -n)'
/** Nobody presses keys faster. A faster sender is limited to this rate, so that it cannot flood control. */
const KEYS = { burst: 40, perSecond: 20 }

export interface LegsOptions {
  /** Signalling has to end a leg. */
  end: (legId: string, reason: EndedReason) => void
  /** Nothing comes from a far end: signalling has to ask it whether it is there, which `leg.present` tells. */
  quiet: (legId: string) => void
  /** Opens the sockets of a leg at one of our addresses; null if no port is left. */
  openSocket: (host: string) => Promise<LegSocket | null>
  /** A key to be sent to its party by signalling: to a browser's page, or a SIP peer that wants INFO. */
  sendKey: (legId: string, key: string, durationMs: number) => void
  /** An RTCP report of a leg; absent: not wanted. */
  report?: (report: LegReport) => void
  prompts: Prompts
  /** Tools for speech recognition of a leg, besides the clock. */
  hearing: Omit<HearingTools, 'now' | 'owner'>
  /** Our DTLS identity; absent: no WebRTC. */
  identity?: DtlsIdentity
  /** Monotonic [ms]. */
  now: () => number
  /** 32 random bits. */
  random: () => number
}

/** The environment of legs on their thread. */
interface LegsWorld {
  members: Members
  rooms: Rooms
  sinks: Sinks
  sounds: Sounds
  faults: Faults
  emit: <N extends EventName>(name: N, body: Events[N]) => void
  /** A party has pressed a key. */
  key: LegHooks['key']
  cross: (message: CrossMessage) => void
  /** Announces the current members of rooms to a sink that has just begun. */
  enterAll: () => void
}

/** The legs of an engine thread, from the first socket to the last report. docs/closing.md says who closes whom. */
export class Legs implements LegHooks {
  readonly commands = {
    'leg.open': request => this.#open(request),
    'leg.open_browser': request => this.#openBrowser(request),
    'leg.open_way': request => this.#openWay(request),
    'leg.connect': request => this.#inTurn(`connect ${request.legId}`, () => this.#connect(request)),
    'leg.read': ({ legId }) => this.#world.members.with(legId, readingOf),
    'leg.place': ({ legId }) => this.#world.members.with(legId, placeOf),
    'leg.close': ({ legId }) => this.#close(legId),
    'leg.move': request => this.#move(request),
    'leg.update': request => this.#update(request),
    'leg.present': ({ legId }) => this.#ofPackets(legId, leg => leg.isThere(this.#options.now())),
    'leg.withhold': ({ legId, isWithheld }) => this.#ofPackets(legId, leg => leg.withhold(isWithheld)),
    'leg.hold': request => this.#inTurn(`hold ${request.legId}`, () => this.#hold(request)),
    'leg.trace_packets': request => this.#tracePackets(request),
    'leg.packets': ({ legId }) => this.#world.members.with(legId, ({ leg }) => ({ packets: packetsOf(leg) })),
  } satisfies Partial<EngineHandlers>
  readonly key: LegHooks['key']
  readonly heard: HearingCounters = newHearingCounters()
  readonly #options: LegsOptions
  readonly #world: LegsWorld
  /** Legs whose sockets are being opened. */
  readonly #opening = new Map<string, { isGivenUp: boolean }>()
  /** Changes that wait for audio or a codec, by kind and leg: what comes after one of them waits for it. */
  readonly #changes = new Map<string, Promise<unknown>>()
  /** Packets refused by legs that have ended. */
  #packetsRefused = 0

  constructor(options: LegsOptions, world: LegsWorld) {
    this.#options = options
    this.#world = world
    this.key = world.key
  }

  /** Datagrams that were not valid packets of their leg. */
  get packetsRefused(): number {
    let packets = this.#packetsRefused
    for (const { leg } of this.#world.members.all()) packets += leg.packetsRefused
    return packets
  }

  // ------------------------------------------------------------------ the beginning

  async #open({
    legId,
    affinity,
    host,
    sound,
    begin,
  }: EngineCommands['leg.open']['request']): Promise<EngineCommands['leg.open']['reply'] | Failure> {
    if (this.#has(legId)) return conflict('a leg with this ID exists')
    const opening = { isGivenUp: false }
    this.#opening.set(legId, opening)
    const socket = await this.#options.openSocket(host).finally(() => {
      if (this.#opening.get(legId) === opening) this.#opening.delete(legId)
    })
    if (socket === null) return { failure: 'capacity', message: NO_PORT }
    if (opening.isGivenUp) {
      socket.close()
      return noLeg(legId)
    }
    const { random, sendKey, identity = null } = this.#options
    const arrays = new ArrayLease()
    const send = (key: string, ms: number): void => sendKey(legId, key, ms)
    const leg = arrays.during(() => new RtpLeg(legId, socket, this, random, send, identity))
    socket.listen(leg, error => this.broke(legId, error))
    this.#add(leg, affinity, () => socket.close(), sound, arrays)
    const opened = { port: socket.port, ssrc: leg.ssrc }
    if (begin === undefined) return opened
    if (this.#needsOpus(legId, begin.media)) await this.#openOpus(legId)
    const answers = begin.enter === null ? {} : { answers: true as const }
    return { begun: this.#connectNow({ legId, ...begin, ...answers }), ...opened }
  }

  #has(legId: string): boolean {
    return this.#world.members.has(legId) || this.#opening.has(legId)
  }

  /** A leg whose frames pass through memory shared with the main thread. */
  #openBrowser({
    legId,
    pipe,
    affinity,
    sound,
  }: EngineCommands['leg.open_browser']['request']): { port: number } | Failure {
    if (this.#has(legId)) return conflict('a leg with this ID exists')
    const leg = new BrowserLeg(legId, pipe, this, key => this.#options.sendKey(legId, key, KEY_MS))
    this.#add(leg, affinity, () => {}, sound)
    return { port: 0 }
  }

  /** WebRTC for the audio of a page. */
  async #openWay({ legId, host }: EngineCommands['leg.open_way']['request']) {
    const { identity, openSocket, now, random } = this.#options
    const socket = identity === undefined ? null : await openSocket(host)
    const leg = this.#world.members.get(legId)?.leg
    if (socket === null || identity === undefined) return { failure: 'capacity', message: NO_PORT } as const
    if (!(leg instanceof BrowserLeg)) {
      socket.close()
      return noLeg(legId)
    }
    const way = new PageWay(legId, socket, random, identity)
    socket.listen(way.packets, error => this.broke(legId, error))
    leg.useWay(way, now())
    return { port: socket.port, ssrc: way.packets.ssrc }
  }

  /** The receiver of a leg's packets; null: it gets none. */
  #packetsOf(legId: string): RtpLeg | null {
    const leg = this.#world.members.get(legId)?.leg
    if (leg instanceof RtpLeg) return leg
    return leg instanceof BrowserLeg ? (leg.way?.packets ?? null) : null
  }

  /** @param affinity the leg's owner */
  #add(leg: Leg, affinity: string, disconnect: () => void, sound?: LegSound, arrays = new ArrayLease()): void {
    const { prompts, hearing, now, end } = this.#options
    const { members, emit } = this.#world
    const callId = (): string | null => members.get(leg.id)?.room?.spec.roomId ?? null
    const owner = () => ({ legId: leg.id, callId: callId(), affinity })
    const dialogue = new Dialogue(
      leg,
      { prompts, now, hearing: { now, owner, ...hearing }, counters: this.heard },
      { emit, end, agreed: capture => this.#agreed(leg.id, capture) },
    )
    const keyRate = new RateLimit(KEYS)
    const member: Member = { leg, disconnect, arrays, owner, room: null, mutedHere: null, dialogue, keyRate }
    members.add(member)
    if (sound !== undefined) this.#world.sounds.change(member, sound)
  }

  /** The party has pressed the key of consent: it counts from now, not from when control hears of it. */
  #agreed(legId: string, capture: RoomCapture): void {
    const { members, sinks, cross, enterAll } = this.#world
    const room = members.get(legId)?.room ?? null
    if (room instanceof Annex) cross({ kind: 'begin', legId, capture })
    if (room === null || room instanceof Annex) return
    sinks.begin(room.spec.roomId, capture, 'room')
    enterAll()
  }

  /** Carries it out behind the one before of its kind, if that still waits. */
  #inTurn<T>(key: string, change: () => T | Promise<T>): T | Promise<T> {
    const before = this.#changes.get(key)
    const changed = before === undefined ? change() : before.then(change, change)
    if (!(changed instanceof Promise)) return changed
    const done: Promise<T> = changed.finally(() => {
      if (this.#changes.get(key) === done) this.#changes.delete(key)
    })
    this.#changes.set(key, done)
    return done
  }

  #connect(request: EngineCommands['leg.connect']['request']): EngineLeg | Failure | Promise<EngineLeg | Failure> {
    const { legId, media, ringing } = request
    if (ringing !== undefined) return this.#ring(request, ringing)
    if (!this.#needsOpus(legId, media)) return this.#connectNow(request)
    return this.#openOpus(legId).then(() => this.#connectNow(request))
  }

  async #ring(request: EngineCommands['leg.connect']['request'], tone: ToneSource): Promise<EngineLeg | Failure> {
    const clips = await this.#options.prompts.loadAll([tone])
    if (this.#needsOpus(request.legId, request.media)) await this.#openOpus(request.legId)
    return this.#connectNow(request, 'error' in clips ? null : playerOf(clips, true))
  }

  #needsOpus(legId: string, media: LegMedia | null): boolean {
    return media?.codec === 'opus' && this.#packetsOf(legId)?.hasOpus === false
  }

  async #openOpus(legId: string): Promise<void> {
    const codec = await OpusCodec.open()
    const packets = this.#packetsOf(legId)
    if (packets?.hasOpus === false) packets.useOpus(codec)
    else codec.close()
  }

  #connectNow(
    { legId, media, enter, early, answers, link }: EngineCommands['leg.connect']['request'],
    ringing: Source | null = null,
  ): EngineLeg | Failure {
    const { members, rooms, emit } = this.#world
    return members.with<EngineLeg | Failure>(legId, member => {
      const isInside = member.room !== null
      const isGuest = link !== undefined
      if (enter !== null && !isInside && !isGuest && rooms.isFull(legId, enter)) return roomFull(enter.roomId)
      if (answers === true) emit('leg.answered', { legId })
      const { leg } = member
      if (media !== null) {
        const packets = this.#packetsOf(legId)
        member.arrays.during(() => packets?.connect(media, this.#options.now(), early !== undefined))
      }
      if (early === 'from_called' || leg.isEarly) leg.deaf = early === 'from_called'
      leg.isEarly = early !== undefined
      // A tone that is playing continues.
      leg.standIn = ringing === null ? null : (leg.standIn ?? ringing)
      if (enter === null) return readingOf(member)
      if (isInside || early !== undefined) this.#enterEarly(member, enter, early === undefined, link)
      else this.#enter(member, enter, link)
      return readingOf(member)
    })
  }

  /** The opener of a room brings the room's capture; a leg that enters an open room brings its own. */
  #enter(member: Member, spec: RoomSpec, link: LinkSpec | undefined): void {
    const { rooms, sinks } = this.#world
    const isOpen = link === undefined ? rooms.get(spec.roomId) !== undefined : link.isOpen
    if (isOpen && spec.capture !== undefined) sinks.begin(spec.roomId, spec.capture, 'party')
    if (spec.hidesKeys === true) member.dialogue.hideKeys()
    if (link === undefined) rooms.enter(member, spec)
    else rooms.lend(member, spec, link)
  }

  /** Before the answer nothing is captured; from the answer on, what its room says. */
  #enterEarly(member: Member, { capture, ...spec }: RoomSpec, isAnswered: boolean, link: LinkSpec | undefined): void {
    const { room } = member
    if (room === null) this.#enter(member, spec, link)
    else if (isAnswered && capture !== undefined && room.spec.roomId === spec.roomId) {
      const isFirst = room.legs[0] === member.leg && !(room instanceof Annex)
      this.#world.sinks.begin(spec.roomId, capture, isFirst ? 'room' : 'party')
      this.#world.enterAll()
    }
  }

  // ------------------------------------------------------------------ in the middle

  #move({ legId, room: spec, mustExist, muted, payment, link }: EngineCommands['leg.move']['request']) {
    const { members, rooms } = this.#world
    return members.with<EngineLeg | Failure>(legId, member => {
      const isThere = member.room?.spec.roomId === spec.roomId
      // The thread of the room has checked that, and keeps a place.
      if (!isThere && link === undefined) {
        if (mustExist && rooms.get(spec.roomId) === undefined)
          return { failure: 'not_found', message: `no room ${spec.roomId}` }
        if (rooms.isFull(legId, spec)) return roomFull(spec.roomId)
      }
      // Before anybody hears the leg: the pause moves with it.
      const refused = payment === undefined ? null : rooms.pauseFor(legId, payment)
      if (refused !== null) return refused
      if (isThere) return readingOf(member)
      if (member.leg instanceof RtpLeg) member.leg.leaveFax()
      const entersMuted = mutedAhead(member, spec) ?? muted
      member.mutedHere = null
      member.dialogue.leaveRoom()
      rooms.leave(member)
      member.leg.comes(entersMuted)
      member.leg.heardBy = null
      member.leg.hears = null
      if (link === undefined) rooms.enter(member, spec)
      else rooms.lend(member, spec, link)
      return readingOf(member)
    })
  }

  #update({ legId, muted, deaf, heardBy, hears, sound }: Request<'leg.update'>): EngineLeg | Failure {
    return this.#world.members.with(legId, member => {
      const { leg } = member
      leg.muted = muted ?? leg.muted
      member.mutedHere = muted ?? member.mutedHere
      leg.deaf = deaf ?? leg.deaf
      if (heardBy !== undefined) leg.heardBy = heardBy === null ? null : new Set(heardBy)
      if (hears !== undefined) leg.hears = hears === null ? null : new Set(hears)
      if (sound !== undefined) this.#world.sounds.change(member, sound)
      return readingOf(member)
    })
  }

  async #hold({ legId, held, sources }: Request<'leg.hold'>): Promise<EngineLeg | Failure> {
    const owner = this.#world.members.get(legId)?.owner()
    const loaded = held ? await this.#options.prompts.loadAll(sources, owner) : []
    if ('error' in loaded) return { failure: 'invalid', message: loaded.error }
    // It may have ended meanwhile.
    return this.#world.members.with(legId, member => {
      member.leg.onHold = held
      member.leg.holdAudio = held ? playerOf(loaded, true) : null
      return readingOf(member)
    })
  }

  /** The far end's audio is missing, or has returned. */
  oneWay({ id, quality: { packetsReceived, packetsSent } }: Leg): void {
    this.#world.emit('leg.one_way', { legId: id, packetsReceived, packetsSent })
  }

  /** The far end's audio has become poor, or has recovered. */
  quality({ id, quality }: Leg, isPoor: boolean): void {
    this.#world.emit('leg.quality', { legId: id, isPoor, quality })
  }

  /** A fax machine or a modem: then a party alone with it is one, too. In a larger room, other members are people. */
  faxTone(leg: Leg, tone: FaxTone): void {
    this.#world.emit('leg.fax_tone', { legId: leg.id, tone })
    leg.leaveAlone()
    const legs = this.#world.members.get(leg.id)?.room?.legs ?? []
    if (legs.length === 2) for (const other of legs) other.leaveAlone()
  }

  /** The called party is heard before the answer. */
  earlyAudio({ id }: Leg): void {
    this.#world.emit('leg.early_media', { legId: id, isHeard: true })
  }

  /** Nothing comes from the far end, which may be silent on purpose. */
  quiet({ id }: Leg): void {
    this.#options.quiet(id)
  }

  #ofPackets(legId: string, learn: (leg: RtpLeg) => void): Record<string, never> | Failure {
    return this.#world.members.with<Record<string, never> | Failure>(legId, ({ leg }) => {
      if (leg instanceof RtpLeg) learn(leg)
      return {}
    })
  }

  /** Nothing came from the far end for a minute, nor did it answer. */
  timedOut(leg: Leg): void {
    this.#options.end(leg.id, 'rtp_timeout')
  }

  report({ id: legId }: Leg, isSent: boolean, bytes: Uint8Array, host: string, port: number): void {
    this.#options.report?.({ legId, isSent, bytes: bytes.slice(), host, port })
  }

  #tracePackets({ legId, seconds }: Request<'leg.trace_packets'>): Record<string, never> | Failure {
    return this.#world.members.with<Record<string, never> | Failure>(
      legId,
      ({ leg }): Record<string, never> | Failure => {
        if (!(leg instanceof RtpLeg)) return { failure: 'invalid', message: 'the leg has no RTP' }
        leg.traceHeaders(seconds, this.#options.now(), Date.now())
        return {}
      },
    )
  }

  // ------------------------------------------------------------------ the end

  /** A leg has thrown: it leaves its room at once, so that the next tick does not throw again, and signalling ends it. */
  broke(legId: string, error: unknown): void {
    const { members, rooms, faults } = this.#world
    faults.tell(error, [legId])
    const member = members.get(legId)
    if (member !== undefined) faults.allOf(() => rooms.leave(member), member.disconnect)
    this.#options.end(legId, 'internal_error')
  }

  /** Idempotent; the reply has the final quality figures. */
  #close(legId: string): EngineCommands['leg.close']['reply'] | Failure {
    const opening = this.#opening.get(legId)
    if (opening !== undefined) {
      opening.isGivenUp = true
      this.#opening.delete(legId)
    }
    const { members, rooms, sinks, faults } = this.#world
    return members.with(legId, member => {
      const { leg, room, disconnect, dialogue } = member
      const closed = { quality: leg.quality, packets: packetsOf(leg), ...leftBehind(room, legId) }
      members.delete(legId)
      this.#packetsRefused += leg.packetsRefused
      const now = this.#options.now()
      const isClosed = faults.allOf(
        // What was heard of our last words is still transcribed.
        () => dialogue.leaveRoom(),
        () => rooms.leave(member),
        () => rooms.unpause(legId),
        () => dialogue.close(),
        () => sinks.closed(leg),
        () => leg.goodbye(now),
        () => leg.close(),
        disconnect,
      )
      // A closed leg no longer uses its arrays, and its last packet has been sent. A leg that could not be closed may still use them.
      if (isClosed) member.arrays.end()
      return closed
    })
  }

  /** Ends all of them. */
  closeAll(): void {
    for (const legId of this.#opening.keys()) this.#close(legId)
    for (const { leg } of this.#world.members.all()) this.#close(leg.id)
  }
}

const packetsOf = (leg: Leg): EngineCommands['leg.packets']['reply']['packets'] =>
  leg instanceof RtpLeg ? leg.headers : null

/** Who waits for a conference comes into it as control said meanwhile, which may be after it decided to move the leg; null: it has not said. */
const mutedAhead = ({ room, mutedHere }: Member, { kind }: RoomSpec): boolean | null =>
  kind === 'conference' && room?.spec.kind !== 'conference' ? mutedHere : null

/** The state of a leg as reported. */
export const readingOf = ({ leg, room, dialogue }: Member): EngineLeg => ({
  legId: leg.id,
  roomId: room?.spec.roomId ?? null,
  muted: leg.muted,
  deaf: leg.deaf,
  onHold: leg.onHold,
  collecting: dialogue.collecting,
  playing: dialogue.playing,
  quality: leg.quality,
  voice: voiceOf(leg),
})

const voiceOf = ({ voice }: Leg): EngineLeg['voice'] =>
  voice === null ? null : { isSpeaking: voice.isSpeaking, levelDbov: Math.round(voice.levelDbov) }

const roomFull = (roomId: string): Failure => ({ failure: 'capacity', message: `room ${roomId} is full` })
const conflict = (message: string): Failure => ({ failure: 'conflict', message })

function placeOf({ leg, room }: Member): EngineCommands['leg.place']['reply'] {
  const { muted, heardBy, hears } = leg
  return { room: room?.spec ?? null, muted, heardBy: heardBy && [...heardBy], hears: hears && [...hears] }
}
