import type { MediaPort, NumberedEvent } from '../../../control/media-events.ts'
import type {
  CommandName,
  Commands,
  EndedReason,
  EventName,
  Events,
  Failure,
  MediaEvent,
  MediaSnapshot,
  Reply,
  Request,
} from '../../../media/protocol.ts'
import { QUALITY } from '../../fakes/media.ts'

/** A leg as this media keeps it. */
export interface PocketLeg {
  legId: string
  inbound: boolean
  /** Whom it was dialled to. */
  to: string
  state: 'incoming' | 'dialing' | 'answered'
  roomId: string
  playing: string | null
  onHold: boolean
  timeoutS: number
  heardBy: string[] | null
}

export class Killed extends Error {}

const notFound = (what: string): Failure => ({ failure: 'not_found', message: what })

/**
 * Media without audio, sockets and time, for models: it keeps legs and rooms, numbers its events and keeps them until they are
 * acknowledged. A control that is to be killed dies at one of its commands, before or after it is carried out.
 */
export class PocketMedia implements MediaPort {
  readonly legs = new Map<string, PocketLeg>()
  readonly sent: { name: CommandName; body: unknown }[] = []
  readonly closedBrowsers = new Set<string>()
  bootId = 'boot-1'
  now: () => Date
  #events: NumberedEvent[] = []
  #seq = 0
  /** Commands until control dies. */
  #fuse = Number.POSITIVE_INFINITY

  constructor(now: () => Date) {
    this.now = now
  }

  killAfter(commands: number): void {
    this.#fuse = commands
  }

  /** Control has died at a command; what it does after that is nothing. */
  get isKilled(): boolean {
    return this.#fuse <= 0
  }

  revive(): void {
    this.#fuse = Number.POSITIVE_INFINITY
  }

  /** Its calls are gone with it. */
  die(): void {
    this.legs.clear()
    this.#events = []
    this.#seq = 0
    this.bootId = `boot-${Number(this.bootId.slice(5)) + 1}`
  }

  get unacknowledged(): readonly NumberedEvent[] {
    return this.#events
  }

  acknowledge(seq: number): void {
    this.#events = this.#events.filter(event => event.seq > seq)
  }

  emit<N extends EventName>(name: N, body: Events[N]): void {
    const event = { name, at: this.now().toISOString(), body } as MediaEvent
    this.#events.push({ seq: ++this.#seq, event })
  }

  settled(): Promise<void> {
    return Promise.resolve()
  }

  async request<N extends CommandName>(name: N, body: Request<N>): Promise<Reply<N> | Failure> {
    if (this.#fuse <= 0) throw new Killed()
    this.#fuse -= 0.5
    if (this.#fuse <= 0) throw new Killed()
    const reply = this.#execute(name, body)
    this.sent.push({ name, body })
    this.#fuse -= 0.5
    if (this.#fuse <= 0) throw new Killed()
    return reply as Reply<N> | Failure
  }

  // ------------------------------------------------------------------ what the parties do

  incoming(legId: string): void {
    this.legs.set(legId, { ...NEW, legId, inbound: true, state: 'answered', roomId: '' })
  }

  answer(legId: string): void {
    const leg = this.legs.get(legId)
    if (leg === undefined) return
    leg.state = 'answered'
    this.emit('leg.answered', { legId, codec: 'PCMU', roomId: leg.roomId })
  }

  hangUp(legId: string, reason: EndedReason = 'caller_hangup'): void {
    if (!this.legs.delete(legId)) return
    this.emit('leg.ended', { legId, reason, sipCode: null, quality: QUALITY })
  }

  snapshot(): MediaSnapshot {
    return {
      seq: this.#seq,
      draining: false,
      legs: [...this.legs.values()].map(leg => ({
        legId: leg.legId,
        kind: 'sip',
        direction: leg.inbound ? 'inbound' : 'outbound',
        state: leg.state,
        to: PARTY,
        from: PARTY,
        roomId: leg.roomId,
        muted: false,
        deaf: false,
        held: false,
        onHold: leg.onHold,
        collecting: false,
        playing: leg.playing !== null,
        quality: QUALITY,
      })),
      rooms: [],
      captures: [],
      streams: [],
      recordings: [],
      browserIds: [],
    }
  }

  // ------------------------------------------------------------------ the commands

  #execute(name: CommandName, body: unknown): object {
    const act = this.#handlers[name] as ((body: unknown) => object) | undefined
    return act?.(body) ?? {}
  }

  readonly #with = (legId: string, act: (leg: PocketLeg) => unknown): object => {
    const leg = this.legs.get(legId)
    if (leg === undefined) return notFound(legId)
    act(leg)
    return leg
  }

  readonly #handlers: { [N in CommandName]?: (body: Commands[N]['request']) => object } = {
    'leg.dial': ({ legId, target, room, timeoutS }) => {
      if (this.legs.has(legId)) return { failure: 'conflict', message: 'it is dialled' }
      const to = 'browserId' in target ? target.browserId : target.uri
      this.legs.set(legId, { ...NEW, legId, to, roomId: room.roomId, timeoutS })
      return {}
    },
    'leg.hangup': ({ legId, reason }) => {
      if (!this.legs.has(legId)) return notFound(legId)
      this.hangUp(legId, reason)
      return {}
    },
    'leg.move': ({ legId, room, mustExist }) => {
      if (mustExist && ![...this.legs.values()].some(leg => leg.roomId === room.roomId)) return notFound(room.roomId)
      return this.#with(legId, leg => {
        leg.roomId = room.roomId
        leg.playing = null
      })
    },
    'leg.play': ({ legId, playId }) => this.#with(legId, leg => Object.assign(leg, { playing: playId })),
    'leg.stop_play': ({ legId }) => this.#with(legId, leg => Object.assign(leg, { playing: null })),
    'leg.hold': ({ legId, held }) => this.#with(legId, leg => Object.assign(leg, { onHold: held })),
    'browser.close': ({ browserId }) => {
      if (this.closedBrowsers.has(browserId)) return notFound(browserId)
      this.closedBrowsers.add(browserId)
      return {}
    },
    'leg.update': ({ legId, heardBy }) => this.#with(legId, leg => Object.assign(leg, { heardBy: heardBy ?? null })),
  }
}

const PARTY = { uri: 'sip:x@y', user: 'x', host: 'y', displayName: null }
const NEW = {
  inbound: false,
  to: '',
  state: 'dialing' as const,
  playing: null,
  onHold: false,
  timeoutS: 0,
  heardBy: null,
}
