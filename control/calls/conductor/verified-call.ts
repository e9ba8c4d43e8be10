import { isFailure, VERIFICATION_FAILURES, type Verification } from '../../../media/protocol.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { signedNumbers } from '../../trunks/caller-identity.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'
import type { CallCentrePort } from './call-centre-port.ts'
import type { Of } from './event-handler.ts'
import { follow } from './follow.ts'

export interface VerifyingDeps {
  store: Store
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  centre: Pick<CallCentrePort, 'end'>
}

/** Takes a call whose signature was judged, or refuses it. */
type Take = (trx: Trx, verification: Verification) => Promise<void>

/**
 * Has the signature of an incoming call judged before it is taken: only now is it known whose connection it is, and what that one wants.
 * Other events pass meanwhile. Media refuses the call itself when we are not back in time.
 */
export function verifyFirst(
  deps: VerifyingDeps,
  trx: Trx,
  event: Of<'leg.incoming'>,
  connection: ConnectionRow,
  take: Take,
): void {
  const { legId } = event.body
  // Nothing else waits for it: it is not awaited.
  follow(trx, legId, async ({ media }) => {
    void judge(deps, media, event, connection, take).catch(async error => {
      deps.log.error({ err: error, legId }, 'an incoming call could not be taken')
      await media.request('leg.reject', { legId, sipCode: 500, reason: 'internal_error', retryAfterS: null })
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
    await media.request('leg.reject', { legId, sipCode, phrase, reason: 'rejected', retryAfterS: null })
    return
  }
  await store.transaction(trx => take(trx, verification))
  const reply = await media.request('leg.read', { legIds: [legId] })
  if (isFailure(reply) || reply.legs.length > 0) return
  // Its caller was gone before its rows were there, and with it the event that tells of the end.
  const end = { reason: 'caller_hangup' as const, sipCode: null, quality: null }
  await store.transaction(trx => centre.end(trx, legId, end, at))
}
