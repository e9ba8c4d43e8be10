import type { EndedReason, PaymentPause } from '../../../media/protocol.ts'
import { ownRoom } from '../../calls/conductor/leg-rooms.ts'
import { ringback } from '../../calls/tones.ts'
import { newId } from '../../kernel/ids.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { ActionScene } from '../flow-play.ts'
import type { LedRing } from '../input.ts'

/** A party that can be rung. `to`: a number or SIP URI. */
export type Party = { type: 'user'; id: string } | { type: 'number'; to: string }

/** The call and the leg that something is about. */
export interface Led {
  callId: string
  legId: string
  at: string
}

/** For a payment line: the capture pause together with which it joins, and what it is told as it rings (RFC 7433). */
interface Joining {
  payment?: PaymentPause
  userToUser?: string | undefined
}

/** What programs may ask of the call centre. */
export interface CentreParts {
  store: Store
  /** Puts the call into a queue or a conference room, in this transaction. */
  leadTo: (trx: Trx, tenant: Tenant, led: Led, target: { type: 'queue' | 'room'; id: string }) => Promise<void>
  /** Rings all devices of a party at once, for this call. An input of the program then says who answered, or why nobody did. */
  ring: (
    trx: Trx,
    tenant: Tenant,
    ring: { ringId: string; callId: string; target: Party; at: string } & Joining,
  ) => Promise<void>
  /** Connects the caller with the party that answered, as with any agent; the program is over. */
  putThrough: (trx: Trx, tenant: Tenant, led: Led) => Promise<void>
}

type Reached = 'answered' | 'busy' | 'no_answer' | 'rejected' | 'failed'

/** Stored data of a ring, so that nobody is rung twice after a restart. `legId`: the leg that answered; null: none yet. */
export interface ReachMemo {
  ringId: string
  legId: string | null
}

type Reaching = Pick<ActionScene, 'stage' | 'remember'>

/**
 * Rings a party for the caller, who hears ringback. Resolves once the party is in the caller's room, or will not come. `memo`: a ring that
 * was in progress before a restart.
 */
export async function reach(
  { ring, store }: Pick<CentreParts, 'ring' | 'store'>,
  { stage, remember }: Reaching,
  party: Party,
  memo: ReachMemo | null,
  { payment, userToUser }: Joining = {},
): Promise<{ reached: 'answered'; ringId: string; legId: string } | { reached: Exclude<Reached, 'answered'> }> {
  if (memo !== null && memo.legId !== null) return { reached: 'answered', ringId: memo.ringId, legId: memo.legId }
  const { tenant, call, legId: callerLeg } = stage
  const pause = payment === undefined ? {} : { payment }
  const ringId = memo?.ringId ?? newId('ring')
  if (memo === null) {
    const at = stage.now().toISOString()
    await remember(
      { ringId, legId: null },
      { also: trx => ring(trx, tenant, { ringId, callId: call.id, target: party, at, userToUser, ...pause }) },
    )
    await stage.request('leg.play', await ringback(store.db, call, callerLeg, `ring-${ringId}`))
  }
  const told = await untilTold(stage, ringId)
  await stage.request('leg.stop_play', { legId: callerLeg })
  if (told.kind === 'ring_ended') return { reached: reasonOf(told) }
  // The call centre moves the leg too. Done here as well, because what follows needs the party in the room.
  const place = { legId: told.legId, room: ownRoom(call), mustExist: true, muted: false }
  await stage.request('leg.move', { ...place, ...pause })
  await remember({ ringId, legId: told.legId })
  return { reached: 'answered', ringId, legId: told.legId }
}

function reasonOf({ reason }: LedRing & { kind: 'ring_ended' }): Exclude<Reached, 'answered'> {
  return reason === 'busy' || reason === 'no_answer' || reason === 'rejected' ? reason : 'failed'
}

async function untilTold(stage: ActionScene['stage'], ringId: string): Promise<LedRing> {
  stage.isRinging = true
  try {
    const told = await stage.until(input =>
      (input.kind === 'ring_answered' || input.kind === 'ring_ended') && input.ringId === ringId ? input : null,
    )
    return told ?? { kind: 'ring_ended', ringId, reason: 'internal_error', talked: false }
  } finally {
    stage.isRinging = false
  }
}

/** Resolves once the party that was reached has left, with the reason. */
export async function untilGone(stage: ActionScene['stage'], ringId: string): Promise<EndedReason> {
  const told = await untilTold(stage, ringId)
  return told.kind === 'ring_ended' ? told.reason : untilGone(stage, ringId)
}
