import { isFailure, VERIFICATION_FAILURES, type Verification } from '../../../media/protocol.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { signedNumbers } from '../../trunks/caller-identity.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'
import type { Of } from '../steps/event-handler.ts'
import { follow } from '../steps/follow.ts'
import type { CallCentrePort } from './call-centre-port.ts'

export interface VerifyingDeps {
  store: Store
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  centre: Pick<CallCentrePort, 'end'>
}

/** Accepts a call whose signature was verified, or refuses it. */
type Take = (trx: Trx, verification: Verification) => Promise<void>

/**
 * Verifies the signature of an inbound call before it is accepted: only now the connection is known, and with it the required policy.
 * Other events pass meanwhile. If the verification takes too long, media itself refuses the call.
 */
export function verifyFirst(
  deps: VerifyingDeps,
  trx: Trx,
  event: Of<'leg.incoming'>,
  connection: ConnectionRow,
  take: Take,
): void {
  const { legId } = event.body
  // Not awaited, since nothing else depends on it.
  follow(trx, legId, async ({ media }) => {
    void judge(deps, media, event, connection, take).catch(async error => {
      deps.log.error({ err: error, legId }, 'an incoming call could not be taken')
      await media.request('leg.reject', { legId, sipCode: 500, reason: 'internal_error' })
    })
  })
}

async function judge(
  { store, log, centre }: VerifyingDeps,
  media: MediaPort,
  { body, at }: Of<'leg.incoming'>,
  connection: ConnectionRow,
  take: Take,
): Promise<void> {
  const { legId, sipCallId, source } = body
  const verification = await media.request('leg.verify', { legId, ...signedNumbers(body, connection) })
  if (isFailure(verification)) return
  const { result, cause } = verification
  if (connection.verify_calls === 'require' && result !== 'verified') {
    const { sipCode, phrase } = VERIFICATION_FAILURES[cause ?? 'no_identity']
    log.info({ legId, sipCallId, source: source.host, cause, sipCode }, 'incoming call refused: it is not signed well')
    await media.request('leg.reject', { legId, sipCode, phrase, reason: 'rejected' })
    return
  }
  await store.transaction(trx => take(trx, verification))
  const reply = await media.request('leg.read', { legIds: [legId] })
  if (isFailure(reply) || reply.legs.length > 0) return
  // The caller hung up before its rows existed, and the event of its end was lost with it.
  const end = { reason: 'caller_hangup' as const, sipCode: null, quality: null }
  await store.transaction(trx => centre.end(trx, legId, end, at))
}
