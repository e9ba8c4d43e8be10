import { isFailure, VERIFICATION_FAILURES, type Verification } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { signedNumbers } from '../../trunks/caller-identity.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'
import type { Of } from '../steps/event-handler.ts'
import { type TakingDeps, takeLater } from './later-calls.ts'

/** Verifies the signature of an inbound call before it is accepted: only now the connection is known, and with it the required policy. */
export function verifyFirst(
  deps: TakingDeps,
  trx: Trx,
  event: Of<'leg.incoming'>,
  connection: ConnectionRow,
  take: (trx: Trx, verification: Verification) => Promise<void>,
): void {
  const { legId, sipCallId, source } = event.body
  takeLater(deps, trx, event, async media => {
    const verification = await media.request('leg.verify', { legId, ...signedNumbers(event.body, connection) })
    if (isFailure(verification)) return null
    const { result, cause } = verification
    if (connection.verify_calls !== 'require' || result === 'verified') return later => take(later, verification)
    const { sipCode, phrase } = VERIFICATION_FAILURES[cause ?? 'no_identity']
    const told = { legId, sipCallId, source: source.host, cause, sipCode }
    deps.log.info(told, 'incoming call refused: it is not signed well')
    await media.request('leg.reject', { legId, sipCode, phrase, reason: 'rejected' })
    return null
  })
}
