import type { ArrayLease } from '../../codecs/arrays.ts'
import type { Failure, RateLimit } from '../protocol.ts'
import { GuestLeg } from '../rooms/guest-leg.ts'
import type { Room } from '../rooms/room.ts'
import type { Party } from '../sinks/sink-kind.ts'
import type { SpeechOwner } from '../speech/speech-engines.ts'
import type { Dialogue } from './dialogue.ts'
import type { LeftBehind } from './engine-protocol.ts'

/** A member of a room: a leg of this thread, or a guest of another one. */
export interface Seated extends Party {
  room: Room | null
}

/** A leg with what the engine keeps for it. */
export interface Member extends Seated {
  /** Closes its connection. */
  readonly disconnect: () => void
  /** The arrays of its audio, which another leg uses after it is closed. */
  readonly arrays: ArrayLease
  /** Whose turn it uses in speech synthesis and recognition. */
  readonly owner: () => SpeechOwner
  /** Whether control has muted it since it came into its room; null: control has not said. */
  mutedHere: boolean | null
  readonly dialogue: Dialogue
  readonly keyRate: RateLimit
}

/** All legs of an engine thread. */
export class Members {
  readonly #members = new Map<string, Member>()

  get(legId: string): Member | undefined {
    return this.#members.get(legId)
  }

  has(legId: string): boolean {
    return this.#members.has(legId)
  }

  add(member: Member): void {
    this.#members.set(member.leg.id, member)
  }

  delete(legId: string): void {
    this.#members.delete(legId)
  }

  get size(): number {
    return this.#members.size
  }

  all(): Iterable<Member> {
    return this.#members.values()
  }

  /** The result of `act` with a leg, or a failure if it does not exist. */
  with<T>(legId: string, act: (member: Member) => T): T | Failure {
    const member = this.#members.get(legId)
    return member === undefined ? noLeg(legId) : act(member)
  }
}

/** Whom this leg leaves in its call's room as it ends. */
export function leftBehind(room: Room | null, legId: string): LeftBehind {
  const stay = room?.spec.kind === 'call' ? room.legs.filter(({ id }) => id !== legId) : []
  const others = stay.flatMap(leg => (leg instanceof GuestLeg ? [] : [{ legId: leg.id, quality: leg.quality }]))
  const guests = stay.flatMap(leg => (leg instanceof GuestLeg ? [leg.id] : []))
  return { ...(others.length > 0 && { others }), ...(guests.length > 0 && { guests }) }
}

export const noLeg = (legId: string): Failure => ({ failure: 'not_found', message: `no leg ${legId}` })
