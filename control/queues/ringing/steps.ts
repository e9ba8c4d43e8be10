import { type EndedReason, type Failure, isUndecided } from '../../../media/protocol.ts'
import { failureOf, type Senders } from '../../calls/conductor/sender.ts'
import { tenantOf } from '../../calls/records.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import type { CallCentreDeps } from '../deps.ts'
import { hold } from '../hold.ts'
import { ringback } from '../tones.ts'
import { findCall } from '../waiting-calls.ts'
import { bridge } from './bridge.ts'
import { dial } from './dial.ts'
import { isUnsettled } from './late-devices.ts'

/** Ends a leg that media does not have, or cannot dial. */
export type LegGone = (leg: ParticipantRow, reason: EndedReason) => Promise<void>

/** What the steps of those send who wait for somebody, or are rung. */
export function queueSteps(deps: CallCentreDeps, gone: LegGone): Senders<'queue'> {
  const around = async (leg: ParticipantRow) => {
    const tenant = tenantOf(leg)
    return { leg, tenant, call: await findCall(deps.store.db, tenant, leg.call_id) }
  }
  return {
    to_dial: async (leg, media) => {
      const failure = await dial(deps, media, await around(leg))
      if (failure === null || isUndecided(failure)) return failure
      // It is rung once it is there, or not at all.
      if (failure.failure === 'not_found' && (await isUnsettled(deps.store.db, leg))) return null
      await gone(leg, reasonOf(failure))
      return failure
    },
    queued: async (leg, media) => failureOf(await hold(deps, media, leg)),
    calling: async (leg, media) => failureOf(await media.request('leg.play', ringback(leg.id))),
    connected: async ({ id: legId, on_hold }, media) =>
      on_hold === 1 ? null : failureOf(await media.request('leg.stop_play', { legId })),
    bridging: async (leg, media) => {
      const failure = await bridge(deps, media, await around(leg))
      // The call is over, but who answered for it is still there, and would hear nothing for ever.
      if (failure?.failure === 'not_found') {
        await media.request('leg.hangup', { legId: leg.id, reason: 'caller_hangup' })
      }
      return failure
    },
    bridged: async ({ id: legId, on_hold }, media) =>
      on_hold === 1 ? null : failureOf(await media.request('leg.stop_play', { legId })),
  }
}

const reasonOf = ({ failure }: Failure): EndedReason =>
  failure === 'capacity' ? 'capacity' : failure === 'not_found' ? 'not_found' : 'internal_error'
