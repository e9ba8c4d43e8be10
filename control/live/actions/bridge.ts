import { type BrowserTarget, type DialTarget, isFailure } from '../../../media/protocol.ts'
import { affinityOf, ownRoom } from '../../calls/decide.ts'
import { insertParty } from '../../calls/records.ts'
import { newId } from '../../ids.ts'
import type { ActionScene } from '../flow-play.ts'
import type { ProgramInput } from '../input.ts'

/** Somebody who can be called, and how the call to them is shown. */
export interface Party {
  target: DialTarget | BrowserTarget
  to: string
  from: string
  connectionId: string | null
}

export type Reached = 'answered' | 'busy' | 'no_answer' | 'rejected' | 'failed'

const RING_S = 30

/** What is kept of a leg that is being dialled, so that it is not dialled again after a restart. */
export interface BridgeMemo {
  legId: string
  answered: boolean
}

/**
 * Dials somebody into the caller's room; the caller hears it ring meanwhile. Resolves when they have answered, or will not. `memo`:
 * of a dial that was under way before a restart.
 */
export async function reach(
  { stage, remember }: Pick<ActionScene, 'stage' | 'remember'>,
  party: Party,
  memo: BridgeMemo | null,
): Promise<{ reached: Reached; memo: BridgeMemo }> {
  const bridge = memo ?? { legId: newId('participant'), answered: false }
  if (memo?.answered) return { reached: 'answered', memo: bridge }
  if (memo === null) {
    const refused = await dial(stage, remember, party, bridge)
    if (refused) return { reached: 'failed', memo: bridge }
  }
  const reached = await stage.until(input => outcomeOf(input, bridge.legId))
  await stage.request('leg.stop_play', { legId: stage.legId })
  if (reached !== 'answered') return { reached: reached ?? 'failed', memo: bridge }
  bridge.answered = true
  await remember(bridge)
  return { reached, memo: bridge }
}

/** True when it cannot be dialled. */
async function dial(
  stage: ActionScene['stage'],
  remember: ActionScene['remember'],
  party: Party,
  bridge: BridgeMemo,
): Promise<boolean> {
  const { call } = stage
  const { legId } = bridge
  const at = stage.now().toISOString()
  const child = {
    callId: newId('call'),
    legId,
    direction: 'outbound' as const,
    to: party.to,
    from: party.from,
    target: 'bridge' as const,
    roomId: null,
    connectionId: party.connectionId,
    record: false,
    metadata: {},
    role: 'member' as const,
    muted: false,
  }
  await remember(bridge, {
    change: { child_leg: legId },
    also: async trx => {
      await insertParty(trx, stage.tenant, child, at)
    },
  })
  const room = ownRoom(call)
  const reply = await stage.request('leg.dial', {
    legId,
    target: party.target,
    room,
    affinity: affinityOf(call),
    timeoutS: RING_S,
  })
  if (isFailure(reply)) return true
  await stage.request('leg.play', {
    legId: stage.legId,
    playId: `ring-${legId}`,
    sources: [{ kind: 'tone', name: 'ringback' }],
    loop: true,
    hangupAfter: null,
  })
  return false
}

function outcomeOf(input: ProgramInput, legId: string): Reached | null {
  if (input.kind === 'child_answered' && input.legId === legId) return 'answered'
  if (input.kind !== 'child_ended' || input.legId !== legId) return null
  switch (input.reason) {
    case 'busy':
    case 'no_answer':
    case 'rejected':
      return input.reason
    default:
      return 'failed'
  }
}

/** Resolves when the leg that was put through is gone. */
export const untilGone = async ({ stage }: Pick<ActionScene, 'stage'>, legId: string): Promise<void> => {
  await stage.until(input => (input.kind === 'child_ended' && input.legId === legId ? true : null))
}
