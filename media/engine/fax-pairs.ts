import { FaxWay } from '../legs/fax-way.ts'
import { RtpLeg } from '../legs/rtp-leg.ts'
import type { Failure } from '../protocol.ts'
import { Annex } from '../rooms/annex.ts'
import type { Room } from '../rooms/room.ts'
import type { EngineCommands, EngineHandlers } from './engine-protocol.ts'
import type { Member, Members } from './member.ts'
import type { Rooms } from './rooms.ts'

interface FaxPairsWorld {
  members: Members
  rooms: Pick<Rooms, 'get'>
  now: () => number
}

type Request<N extends keyof EngineCommands> = EngineCommands[N]['request']
type Ok = Record<string, never>

/** Why T.38 cannot pass, as the far end is told. */
const noFax = (message: string): Failure => ({ failure: 'conflict', message })
const NO_PAIR = noFax('it takes two parties, alone with each other')
const NOT_BY_RTP = noFax('a party does not talk by RTP')

/** T.38 between the two who are alone in a room (`Crossings` asks whose threads it concerns). */
export class FaxPairs {
  readonly commands = {
    'leg.fax_partner': ({ legId }) =>
      this.#world.members.with<{ legId: string } | Failure>(legId, ({ room }) => otherOf(room, legId)),
    'room.fax_partner': ({ roomId, legId }) => otherOf(this.#world.rooms.get(roomId) ?? null, legId),
    'leg.may_fax': ({ legId }) => this.#world.members.with<Ok | Failure>(legId, mayFax),
    'leg.fax': request => this.#join(request),
    'leg.fax_half': request => this.#half(request),
  } satisfies Partial<EngineHandlers>
  readonly #world: FaxPairsWorld

  constructor(world: FaxPairsWorld) {
    this.#world = world
  }

  /** Both are of this thread. */
  #join({ legId, remote, partnerId, partnerRemote }: Request<'leg.fax'>): Ok | Failure {
    const [one, other] = [this.#wayOf(legId), this.#wayOf(partnerId)]
    if (one === null || other === null) return NOT_BY_RTP
    one.describe(remote)
    other.describe(partnerRemote)
    FaxWay.join(one, other)
    return {}
  }

  /** The other is of another thread. */
  #half({ legId, remote, relay }: Request<'leg.fax_half'>): Ok | Failure {
    const way = this.#wayOf(legId)
    if (way === null) return NOT_BY_RTP
    way.describe(remote)
    way.relayTo(relay)
    return {}
  }

  #wayOf(legId: string): FaxWay | null {
    const leg = this.#world.members.get(legId)?.leg
    return leg instanceof RtpLeg ? leg.faxes(this.#world.now()) : null
  }
}

/** `not_found`: nobody is with it. */
function otherOf(room: Room | null, legId: string): { legId: string } | Failure {
  const other = room?.legs.find(({ id }) => id !== legId)
  if (other === undefined) return { ...NO_PAIR, failure: 'not_found' }
  if (room === null || room instanceof Annex || room.legs.length !== 2) return NO_PAIR
  // Nothing passes that we cannot read.
  return room.pause === null ? { legId: other.id } : noFax('nothing passes in a card-payment pause')
}

function mayFax({ leg }: Member): Ok | Failure {
  if (!(leg instanceof RtpLeg)) return NOT_BY_RTP
  if (!leg.mayFax) return noFax('audio is encrypted, and UDPTL over DTLS (RFC 7345) is not there')
  return leg.onHold ? noFax('a party is on hold') : {}
}
