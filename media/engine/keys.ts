import type { DtmfKey } from '../../codecs/tones.ts'
import type { EventName, Events, Failure, Reply, Request } from '../protocol.ts'
import { Annex } from '../rooms/annex.ts'
import { guestsIn } from '../rooms/guest-leg.ts'
import type { KeySource, Leg } from '../rooms/leg.ts'
import { lineOf, type Room } from '../rooms/room.ts'
import type { CrossMessage, EngineCommands, EngineHandlers } from './engine-protocol.ts'
import type { Member, Members } from './member.ts'

/** The tone of a key that also came by signalling may arrive this much later [ms]. */
const SIGNALLED_TAIL_MS = 250

/** The echo of a tone returns within this time [ms]. */
const ECHO_MS = 500

export interface KeysOptions {
  members: Members
  now: () => number
  emit: <N extends EventName>(name: N, body: Events[N]) => void
  /** Reports a key that is not secret to the sinks. */
  pressed: (legId: string, roomId: string | null, key: string) => void
  /** Updates a pause from what other threads have set. */
  refresh: (room: Room) => void
  cross: (message: CrossMessage) => void
}

type Ok = Record<string, never>
type Sent = Reply<'leg.send_dtmf'> | Failure
type GuestKey = Extract<CrossMessage, { kind: 'key' }>

/** Routes the keys that parties press: to a collection, the sinks, control, and the right parties of the room. */
export class Keys {
  readonly commands = {
    'leg.key': request => this.#signalled(request),
    'leg.send_dtmf': request => this.#send(request),
  } satisfies Partial<EngineHandlers>
  readonly #options: KeysOptions

  constructor(options: KeysOptions) {
    this.#options = options
  }

  /** A party has pressed a key. */
  key(leg: Leg, key: DtmfKey, source: KeySource, pressedAt: number): void {
    const { members, now: clock, emit, pressed } = this.#options
    const member = members.get(leg.id)
    const now = clock()
    if (member?.keyRate.allow(now) !== true) return
    const { dialogue, room } = member
    if (room !== null) this.#options.refresh(room)
    if (source === 'inband' && leg.tones.isInstead && isEcho(member, key, now)) return
    this.#noteFor(room, leg, key, now)
    const pause = room?.pause ?? null
    if (pause !== null || leg.coversKey(source, pressedAt, now)) {
      this.#keyOfPause(member, key, source)
      return
    }
    const masked = dialogue.secret
    emit('leg.dtmf', { legId: leg.id, key: masked ? '*' : key, masked, source })
    if (!masked) pressed(leg.id, room?.spec.roomId ?? null, key)
    const isCollected = dialogue.key(key)
    if (!isCollected) keepAhead(member, key)
    const isRelayed = !isCollected && source !== 'inband' && !masked
    if (room instanceof Annex) this.#cross(leg, key, source, { isOfPause: false, isSecret: masked, isRelayed })
    else if (isRelayed) relay(room, leg, key)
  }

  /** The same key from other parties is then an echo, on whatever thread they are. */
  #noteFor(room: Room | null, leg: Leg, key: string, now: number): void {
    leg.pressed = key
    leg.pressedAt = now
    const guests = room === null ? [] : guestsIn(room).filter(id => id !== leg.id)
    if (guests.length > 0) this.#options.cross({ kind: 'pressed', legIds: guests, key })
  }

  /** The room is on another thread, and so is the routing of the key. */
  #cross(
    { id: legId }: Leg,
    key: string,
    source: KeySource,
    how: { isOfPause: boolean; isSecret: boolean; isRelayed: boolean },
  ): void {
    this.#options.cross({ kind: 'key', legId, key, source, ...how })
  }

  /** A guest has pressed a key. Its own thread has reported it, and has done its part. */
  ofGuest(leg: Leg, room: Room, { key, source, isOfPause, isSecret, isRelayed }: GuestKey): void {
    this.#options.refresh(room)
    this.#noteFor(room, leg, key, this.#options.now())
    if (room.pause !== null) this.#toPaymentLine(room, leg, key, source, isSecret)
    if (room.pause !== null || isOfPause) return
    if (!isSecret) this.#options.pressed(leg.id, room.spec.roomId, key)
    if (isRelayed) relay(room, leg, key)
  }

  /** It goes only to the payment line, whatever waits for keys; after the pause, to nobody. */
  #keyOfPause({ leg, room, dialogue }: Member, key: string, source: KeySource): void {
    this.#options.emit('leg.dtmf', { legId: leg.id, key: '*', masked: true, source })
    if (room instanceof Annex)
      this.#cross(leg, key, source, { isOfPause: true, isSecret: dialogue.secret, isRelayed: false })
    else if (room !== null) this.#toPaymentLine(room, leg, key, source, dialogue.secret)
  }

  #toPaymentLine({ pause, spec, legs }: Room, leg: Leg, key: string, source: KeySource, isSecret: boolean): void {
    if (pause === null || source === 'inband') return
    const isForAll = !pause.maskDtmf && spec.kind === 'call' && !isSecret
    const line = lineOf(pause, leg.id)
    for (const other of legs) {
      if (other !== leg && (isForAll || other.id === line)) other.sendKey(key)
    }
  }

  /** A key that came by signalling, with its stated duration. */
  #signalled({ legId, key, source, durationMs }: EngineCommands['leg.key']['request']): Ok | Failure {
    return this.#options.members.with(legId, ({ leg }) => {
      const now = this.#options.now()
      leg.keyDown(now + durationMs + SIGNALLED_TAIL_MS)
      // Many phones send INFO when the key is released.
      if (leg.tones.tell(key, source, now, durationMs)) this.key(leg, key as DtmfKey, source, now)
      return {}
    })
  }

  #send({ legId, digits, durationMs }: Request<'leg.send_dtmf'>): Sent {
    return this.#options.members.with<Sent>(legId, ({ leg, room }) => {
      if (room !== null) this.#options.refresh(room)
      for (const digit of digits) if (!leg.sendKey(digit, durationMs)) return UNSENDABLE
      return { masked: room !== null && room.pause !== null }
    })
  }
}

/** Somebody else in the room has just pressed the same key: a far end that sends no tones itself is returning its echo. */
function isEcho({ leg, room }: Member, key: string, now: number): boolean {
  if (room === null) return false
  if (room instanceof Annex && room.pressed === key && now - room.pressedAt < ECHO_MS) return true
  return room.legs.some(other => other !== leg && other.pressed === key && now - other.pressedAt < ECHO_MS)
}

/** A party alone presses keys for the question to come; among others, for them. */
function keepAhead({ leg, room, dialogue }: Member, key: string): void {
  const isAlone = room !== null && !(room instanceof Annex) && room.legs.every(other => other === leg)
  if (isAlone) dialogue.typeAhead(key)
  else dialogue.forgetAhead()
}

/** In a call, all other parties get the key; in a conference they do not. */
function relay(room: Room | null, leg: Leg, key: string): void {
  if (room?.spec.kind !== 'call') return
  for (const other of room.legs) if (other !== leg) other.sendKey(key)
}

const UNSENDABLE: Failure = {
  failure: 'capacity',
  message: 'too many keys wait to be sent, one of them is no key, or the far end takes none',
}
