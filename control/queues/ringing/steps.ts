import { type EndedReason, type Failure, isUndecided } from '../../../media/protocol.ts'
import { ringCaller } from '../../calls/conductor/ring-caller.ts'
import { failureOf, type Senders, type Sent } from '../../calls/conductor/sender.ts'
import { loadLeg } from '../../calls/records.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import type { Db } from '../../kernel/store/store.ts'
import { tenantOf } from '../../kernel/tenancy.ts'
import type { CommandPort } from '../../media-link/events.ts'
import type { CallCentreParts } from '../deps.ts'
import { hold } from '../hold.ts'
import { findCall } from '../waiting-calls.ts'
import { bridge } from './bridge.ts'
import { dial } from './dial.ts'
import { hearCalled, hearRinging, isRung } from './early-media.ts'
import { isUnsettled } from './late-devices.ts'

/** Ends a leg that media does not have, or cannot dial. */
type LegGone = (leg: ParticipantRow, reason: EndedReason) => Promise<void>

/** The commands for steps in which a leg waits for somebody, or is rung. */
export function queueSteps(deps: CallCentreParts, gone: LegGone): Senders<'queue'> {
  const around = async (leg: ParticipantRow) => {
    const tenant = tenantOf(leg)
    return { leg, tenant, call: await findCall(deps.store.db, tenant, leg.call_id) }
  }
  return {
    to_dial: async (leg, media) => {
      const failure = await dial(deps, media, await around(leg))
      if (failure === null || isUndecided(failure)) return failure
      // The softphone is dialled once it is connected, or its end is reported.
      if (failure.failure === 'not_found' && (await isUnsettled(deps.store.db, leg))) return null
      await gone(leg, reasonOf(failure))
      return failure
    },
    queued: async (leg, media) => {
      const rung = isRung(leg) ? await ringInLine(deps.store.db, leg, media) : null
      return rung ?? (leg.unanswered === 'when_answered' ? null : failureOf(await hold(deps, media, leg)))
    },
    calling: (leg, media) => (leg.ring_id === null ? hearRinging : hearCalled)(deps.store.db, media, leg),
    connected: async ({ id: legId, on_hold }, media) =>
      on_hold === 1 ? null : failureOf(await media.request('leg.stop_play', { legId })),
    bridging: async (leg, media) => {
      const failure = await bridge(deps, media, await around(leg))
      // The call is over. The leg that answered would otherwise stay connected in silence.
      if (failure?.failure === 'not_found') {
        await media.request('leg.hangup', { legId: leg.id, reason: 'caller_hangup' })
      }
      return failure
    },
    bridged: async (leg, media) => (leg.on_hold === 1 ? null : hearCalled(deps.store.db, media, leg)),
  }
}

async function ringInLine(db: Db, leg: ParticipantRow, media: CommandPort<'leg.ring'>): Promise<Sent> {
  const rows = await loadLeg(db, leg.id)
  return rows === null ? null : ringCaller(db, rows, media, leg.unanswered === 'early_media')
}

/** `invalid`: no connection leads there. */
const reasonOf = ({ failure }: Failure): EndedReason =>
  failure === 'invalid' ? 'trunk_error' : failure === 'capacity' || failure === 'not_found' ? failure : 'internal_error'
