import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type CaptureState,
  type CommandName,
  type Commands,
  type EventName,
  type Events,
  encodeMessage,
  type Failure,
  type FromMedia,
  type LegSnapshot,
  type MediaEvent,
  type MediaSnapshot,
  MessageReader,
  PROTOCOL_VERSION,
  type Quality,
  type RoomSpec,
  type SipParty,
  type StreamSnapshot,
  type Target,
  type Utterance,
} from '../../media/protocol.ts'

export const QUALITY: Quality = {
  codec: 'PCMU',
  packetsReceived: 500,
  packetsSent: 501,
  packetsLost: 1,
  lossPct: 0.2,
  jitterMs: 1.5,
  roundTripMs: 20,
  mos: 4.3,
}

const AT = '2026-11-21T10:00:00.000Z'
const NOT_PAUSED: CaptureState = {
  paused: false,
  reason: null,
  pausedAt: null,
  resumesAt: null,
  destinationLegId: null,
  maskDtmf: false,
}

const RECORDED = { sampleRateHz: 8000, durationMs: 5000, sizeBytes: 80_044, channels: [], segments: [] }

export const utteranceOf = (text: string): Utterance => ({
  text,
  startedAt: AT,
  endedAt: AT,
  endpointMs: 700,
  transcribeMs: 120,
  bargedIn: false,
  resumed: false,
  engine: 'moonshine',
})

type Handled = { name: CommandName; body: unknown }
type Override = (body: never) => object | 'silence' | undefined

const party = (user: string, host: string): SipParty => ({ uri: `sip:${user}@${host}`, user, host, displayName: null })

/**
 * A media process without audio: it speaks the real protocol over a real Unix socket, keeps legs, rooms, pauses and streams
 * as the real one does, and raises its events. Its tests decide what the parties do.
 */
export class FakeMedia {
  readonly path: string
  /** Every command received, in order. */
  readonly handled: Handled[] = []
  readonly legs = new Map<string, LegSnapshot>()
  readonly rooms = new Map<string, Set<string>>()
  readonly streams = new Map<string, StreamSnapshot>()
  readonly pauses = new Map<string, CaptureState>()
  readonly recordings = new Set<string>()
  /** Replaces what a command does; 'silence': no reply; undefined: as always. */
  readonly overrides = new Map<CommandName, Override>()
  bootId = 'boot-1'
  acked = 0
  /** Messages that acknowledge. */
  acknowledgements = 0
  readonly #dir = mkdtempSync(join(tmpdir(), 'tandem-media-'))
  #server: Server | null = null
  #clients = new Set<Socket>()
  #events: { seq: number; event: MediaEvent }[] = []
  #seq = 0
  /** Legs that were dialled, running or not. */
  readonly #known = new Set<string>()
  readonly #waiters: { done: () => boolean; resolve: () => void }[] = []

  constructor() {
    this.path = join(this.#dir, 'media.sock')
  }

  listen(): Promise<void> {
    const server = createServer(socket => this.#accept(socket))
    this.#server = server
    return new Promise(resolve => server.listen(this.path, resolve))
  }

  /** The process is gone, with all it held; the next `listen` is a new one. */
  async die(nextBootId: string): Promise<void> {
    const server = this.#server
    this.#server = null
    this.disconnect()
    await new Promise(resolve => server?.close(resolve) ?? resolve(null))
    for (const state of [this.legs, this.rooms, this.streams, this.pauses, this.recordings, this.#known]) state.clear()
    this.#events = []
    this.#seq = 0
    this.acked = 0
    this.bootId = nextBootId
  }

  disconnect(): void {
    for (const client of this.#clients) client.destroy()
    this.#clients.clear()
  }

  async close(): Promise<void> {
    await this.die('')
    rmSync(this.#dir, { recursive: true, force: true })
  }

  get seq(): number {
    return this.#seq
  }

  // ------------------------------------------------------------------ what a test waits for and asks

  /** Resolves as soon as `done` holds; looked at after every message. */
  until(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve()
    return new Promise(resolve => this.#waiters.push({ done, resolve }))
  }

  /** The commands of a name received so far. */
  sent<N extends CommandName>(name: N): Commands[N]['request'][] {
    return this.handled.filter(one => one.name === name).map(one => one.body as Commands[N]['request'])
  }

  /** Waits for a command for this leg (or of any) and returns the latest. */
  async command<N extends CommandName>(name: N, legId?: string, count = 1): Promise<Commands[N]['request']> {
    const matching = () =>
      this.sent(name).filter(body => legId === undefined || (body as { legId?: string }).legId === legId)
    await this.until(() => matching().length >= count)
    return matching()[count - 1]!
  }

  /** Every event so far is committed by control. */
  committed(): Promise<void> {
    return this.until(() => this.acked >= this.#seq)
  }

  // ------------------------------------------------------------------ what the parties do

  emit<N extends EventName>(name: N, body: Events[N], at = AT): void {
    const numbered = { seq: ++this.#seq, event: { name, at, body } as MediaEvent }
    this.#events.push(numbered)
    this.#send({ type: 'event', ...numbered })
  }

  /** Sends an event again, as after a lost acknowledgement. */
  repeat(seq: number, event: MediaEvent): void {
    this.#send({ type: 'event', seq, event })
  }

  /** Somebody dials `to`. */
  dialIn(legId: string, to: string, from = 'alice', host = '127.0.0.1'): void {
    this.#leg(legId, 'inbound', party(to, '127.0.0.1'), party(from, host))
    const { to: called, from: caller } = this.legs.get(legId)!
    const source = { transport: 'udp' as const, host, port: 5062 }
    this.emit('leg.incoming', { legId, to: called, from: caller, source, sipCallId: `${legId}@test`, digest: null })
  }

  /** What is played to a leg is heard to its end at once: for tests of what is said, not of when. */
  playsAtOnce = false

  /** The party says this in answer to what it is asked. */
  say(legId: string, text: string): void {
    const asked = this.sent('leg.collect').filter(body => body.legId === legId)
    this.legs.get(legId)!.collecting = false
    const utterance = utteranceOf(text)
    this.emit('leg.collected', {
      legId,
      collectId: asked.at(-1)?.collectId ?? '',
      digits: '',
      ended: 'speech',
      utterance,
    })
  }

  /** The party says this while it is listened to. */
  utter(legId: string, text: string, more: Partial<Utterance> = {}): void {
    const listenId = this.sent('leg.listen').findLast(body => body.legId === legId)?.listen.listenId ?? ''
    this.emit('leg.utterance', { legId, listenId, utterance: { ...utteranceOf(text), ...more } })
  }

  /** What was sent to be played under this ID has been heard to its end. */
  heard(legId: string, playId: string, ended: 'played' | 'interrupted' = 'played', heardMs = 1000): void {
    this.legs.get(legId)!.playing = false
    this.emit('play.finished', { legId, playId, ended, heardMs })
  }

  /** A party that was dialled picks up. */
  pickUp(legId: string): void {
    const leg = this.legs.get(legId)!
    leg.state = 'answered'
    this.emit('leg.answered', { legId, codec: 'PCMU', roomId: leg.roomId ?? '' })
  }

  press(legId: string, digits: string, ended: 'terminator' | 'length' | 'timeout' = 'length'): void {
    const collectId =
      this.sent('leg.collect')
        .filter(body => body.legId === legId)
        .at(-1)?.collectId ?? ''
    this.legs.get(legId)!.collecting = false
    this.emit('leg.collected', { legId, collectId, digits, ended, utterance: null })
  }

  hangUp(legId: string, reason: Events['leg.ended']['reason'] = 'caller_hangup', sipCode: number | null = null): void {
    const leg = this.legs.get(legId)
    if (leg === undefined) return
    if (leg.roomId !== null) this.#leave(legId, leg.roomId)
    this.legs.delete(legId)
    this.#resume({ legId }, 'ended')
    this.emit('leg.ended', { legId, reason, sipCode, quality: QUALITY })
  }

  // ------------------------------------------------------------------ the channel

  #accept(socket: Socket): void {
    this.#clients.add(socket)
    const reader = new MessageReader()
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#clients.delete(socket))
    socket.on('data', bytes => {
      const result = reader.read(bytes)
      if ('error' in result) throw new Error(result.error)
      for (const message of result.messages) this.#receive(socket, message)
      for (const waiter of [...this.#waiters]) {
        if (!waiter.done()) continue
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        waiter.resolve()
      }
    })
  }

  #receive(socket: Socket, message: Record<string, unknown>): void {
    const send = (answer: FromMedia) => socket.write(encodeMessage(answer))
    if (message.type === 'hello') {
      if (message.bootId === this.bootId) this.#acknowledge(message.lastSeq as number)
      send({ type: 'hello', version: PROTOCOL_VERSION, bootId: this.bootId, eventsLost: 0 })
      for (const numbered of this.#events) send({ type: 'event', ...numbered })
    } else if (message.type === 'ack') {
      this.acknowledgements++
      this.#acknowledge(message.seq as number)
    } else {
      const name = message.name as CommandName
      this.handled.push({ name, body: message.body })
      const reply = this.overrides.get(name)?.(message.body as never) ?? this.#execute(name, message.body)
      if (reply !== 'silence') send({ type: 'reply', id: message.id as number, body: reply })
    }
  }

  #acknowledge(seq: number): void {
    this.acked = Math.max(this.acked, seq)
    this.#events = this.#events.filter(numbered => numbered.seq > seq)
  }

  #send(message: FromMedia): void {
    for (const client of this.#clients) client.write(encodeMessage(message))
  }

  // ------------------------------------------------------------------ the commands

  /** Does what a command says, for an override that answers otherwise. */
  carryOut(name: CommandName, body: unknown): object {
    return this.#execute(name, body)
  }

  #execute(name: CommandName, body: unknown): object {
    const handlers: { [N in CommandName]?: (body: Commands[N]['request']) => object } = {
      'leg.answer': ({ legId, room }) => this.#withLeg(legId, leg => this.#answer(leg, room)),
      'leg.ring': ({ legId }) => this.#withLeg(legId, () => {}),
      'leg.reject': ({ legId, reason, sipCode }) => this.#withLeg(legId, () => this.hangUp(legId, reason, sipCode)),
      'leg.dial': request => {
        const { target } = request
        if (this.#known.has(request.legId)) return { failure: 'conflict', message: 'the leg was dialled before' }
        this.#known.add(request.legId)
        if ('browserId' in target) this.#leg(request.legId, 'outbound', party('', ''), party('', ''), 'browser')
        else this.#leg(request.legId, 'outbound', party(target.uri, ''), party(target.from.uri, ''))
        const leg = this.legs.get(request.legId)!
        leg.state = 'dialing'
        leg.roomId = request.room.roomId
        return leg
      },
      'leg.hangup': ({ legId, reason }) => this.#withLeg(legId, () => this.hangUp(legId, reason)),
      'leg.move': request => this.#move(request),
      'leg.update': ({ legId, muted, deaf }) =>
        this.#withLeg(legId, leg => Object.assign(leg, { muted: muted ?? leg.muted, deaf: deaf ?? leg.deaf })),
      'leg.hold': ({ legId, held }) => this.#withLeg(legId, leg => Object.assign(leg, { onHold: held })),
      'leg.read': ({ legIds }) => ({ legs: legIds.flatMap(id => this.legs.get(id) ?? []) }),
      'leg.play': request => this.#play(request),
      'leg.stop_play': ({ legId }) => this.#withLeg(legId, leg => Object.assign(leg, { playing: false })),
      'leg.collect': ({ legId }) => this.#withLeg(legId, leg => Object.assign(leg, { collecting: true })),
      'room.close': ({ roomId, reason }) => {
        const members = this.rooms.get(roomId)
        if (members === undefined) return notFound(roomId)
        for (const legId of [...members]) this.hangUp(legId, reason)
        return {}
      },
      'capture.pause': request => this.#pause(request),
      'capture.resume': ({ target }) => this.#resume(target, 'command'),
      'stream.start': ({ streamId }) => {
        const stream: StreamSnapshot = {
          streamId,
          status: 'streaming',
          framesSent: 0,
          framesDropped: 0,
          endedReason: null,
        }
        if (this.streams.has(streamId)) return { failure: 'conflict', message: 'it runs already' } satisfies Failure
        this.streams.set(streamId, stream)
        this.emit('stream.changed', { ...stream })
        return stream
      },
      'stream.stop': ({ streamId }) => {
        const stream = this.streams.get(streamId)
        if (stream === undefined) return notFound(streamId)
        this.streams.delete(streamId)
        const last: StreamSnapshot = { ...stream, status: 'stopped', endedReason: 'stopped' }
        this.emit('stream.changed', last)
        return last
      },
      'stream.read': ({ streamIds }) => ({ streams: streamIds.flatMap(id => this.streams.get(id) ?? []) }),
      'leg.listen': ({ legId }) => this.#withLeg(legId, () => {}),
      'leg.stop_listen': ({ legId }) => this.#withLeg(legId, () => {}),
      'transcript.start': () => ({}),
      'recording.stop': ({ recordingId }) => {
        if (!this.recordings.delete(recordingId)) return notFound(recordingId)
        this.emit('recording.ready', { ...RECORDED, recordingId, file: `${recordingId}.wav` })
        return {}
      },
      'recording.start': ({ recordingId, target }) => {
        if (!this.#isHere(target)) return notFound(recordingId)
        this.recordings.add(recordingId)
        return {}
      },
      'media.snapshot': () => this.#snapshot(),
      'media.stats': () => ({ counters: {}, gauges: {} }),
    }
    const handler = handlers[name] as ((body: unknown) => object) | undefined
    return handler?.(body) ?? { failure: 'invalid', message: `${name} is unknown here` }
  }

  #play({ legId, playId, hangupAfter }: Commands['leg.play']['request']): object {
    return this.#withLeg(legId, leg => {
      leg.playing = true
      if (!this.playsAtOnce) return
      this.emit('play.started', { legId, playId })
      this.heard(legId, playId)
      if (hangupAfter !== null) this.hangUp(legId, hangupAfter)
    })
  }

  #withLeg(legId: string, act: (leg: LegSnapshot) => unknown): object {
    const leg = this.legs.get(legId)
    if (leg === undefined) return notFound(legId)
    const result = act(leg)
    return typeof result === 'object' && result !== null ? result : {}
  }

  #leg(
    legId: string,
    direction: LegSnapshot['direction'],
    to: SipParty,
    from: SipParty,
    kind: LegSnapshot['kind'] = 'sip',
  ): void {
    this.legs.set(legId, {
      legId,
      kind,
      onHold: false,
      direction,
      state: direction === 'inbound' ? 'incoming' : 'dialing',
      to,
      from,
      roomId: null,
      muted: false,
      deaf: false,
      held: false,
      collecting: false,
      playing: false,
      quality: QUALITY,
    })
  }

  #answer(leg: LegSnapshot, room: RoomSpec): LegSnapshot | Failure {
    if (leg.state !== 'incoming') return { failure: 'conflict', message: 'answered already' }
    leg.state = 'answered'
    leg.roomId = room.roomId
    this.emit('leg.answered', { legId: leg.legId, codec: 'PCMU', roomId: room.roomId })
    this.#enter(leg, room)
    return leg
  }

  #enter(leg: LegSnapshot, room: RoomSpec): void {
    if (!this.rooms.has(room.roomId)) {
      this.rooms.set(room.roomId, new Set())
      this.emit('room.opened', { roomId: room.roomId })
    }
    this.rooms.get(room.roomId)?.add(leg.legId)
    leg.roomId = room.roomId
    this.emit('leg.joined', { legId: leg.legId, roomId: room.roomId, muted: leg.muted })
  }

  #leave(legId: string, roomId: string): void {
    const members = this.rooms.get(roomId)
    if (members?.delete(legId) !== true) return
    this.emit('leg.left', { legId, roomId })
    if (members.size > 0) return
    this.rooms.delete(roomId)
    this.emit('room.closed', { roomId })
  }

  #move({ legId, room, mustExist, muted, payment }: Commands['leg.move']['request']): object {
    const members = this.rooms.get(room.roomId)
    if (mustExist && members === undefined) return notFound(room.roomId)
    if ((members?.size ?? 0) >= room.maxMembers) return { failure: 'capacity', message: 'the room is full' }
    return this.#withLeg(legId, leg => {
      leg.muted = muted
      leg.playing = false
      if (payment !== undefined) this.#pause({ ...payment, target: { legId }, destinationLegId: legId })
      if (leg.roomId !== null) this.#leave(legId, leg.roomId)
      this.#enter(leg, room)
      return leg
    })
  }

  #pause({ target, maxSeconds, reason, maskDtmf, destinationLegId }: Commands['capture.pause']['request']): object {
    const key = JSON.stringify(target)
    if (!this.#isHere(target)) return notFound(key)
    if (this.pauses.has(key)) return { failure: 'conflict', message: 'paused already' }
    const state: CaptureState = {
      paused: true,
      reason,
      pausedAt: AT,
      resumesAt: new Date(Date.parse(AT) + maxSeconds * 1000).toISOString(),
      destinationLegId,
      maskDtmf,
    }
    this.pauses.set(key, state)
    this.emit('capture.changed', { target, state, by: 'command' })
    return state
  }

  /** A call's own room is there with its answered leg, and nobody is told of it. */
  #isHere(target: Target): boolean {
    if ('legId' in target) return this.legs.has(target.legId)
    const { roomId } = target
    const hasLeg = [...this.legs.values()].some(leg => leg.roomId === roomId && leg.state === 'answered')
    return hasLeg || this.rooms.has(roomId)
  }

  /** Ends a pause, by a command or as its deadline does. */
  resume(target: Target, by: 'command' | 'deadline' | 'ended'): CaptureState | Failure {
    return this.#resume(target, by)
  }

  #resume(target: Target, by: 'command' | 'deadline' | 'ended'): CaptureState | Failure {
    if (!this.pauses.delete(JSON.stringify(target))) return { failure: 'conflict', message: 'not paused' }
    this.emit('capture.changed', { target, state: NOT_PAUSED, by })
    return NOT_PAUSED
  }

  #snapshot(): MediaSnapshot {
    return {
      seq: this.#seq,
      draining: false,
      legs: [...this.legs.values()],
      rooms: [...this.rooms].map(([roomId, members]) => ({ roomId, legIds: [...members], capture: NOT_PAUSED })),
      captures: [...this.pauses].map(([key, state]) => ({ target: JSON.parse(key) as Target, state })),
      streams: [...this.streams.values()],
      recordings: [...this.recordings].map(recordingId => ({ recordingId })),
      browserIds: [],
    }
  }
}

const notFound = (id: string): Failure => ({ failure: 'not_found', message: `no ${id} here` })
