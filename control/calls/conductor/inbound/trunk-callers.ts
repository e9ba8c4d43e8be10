import { type Events, isFailure } from '../../../../media/protocol.ts'
import { noteUse } from '../../../kernel/nodes/digest-uses.ts'
import type { Store, Trx } from '../../../kernel/store/store.ts'
import type { Vault } from '../../../kernel/vault.ts'
import type { MediaPort } from '../../../media-link/events.ts'
import { hasInboundAccounts, inboundAuthOf, inboundHa1 } from '../../../trunks/inbound-auth.ts'
import type { ConnectionRow, InboundAlgorithm } from '../../../trunks/tables.ts'
import type { Of } from '../../steps/event-handler.ts'
import { follow } from '../../steps/follow.ts'
import { connectionOfAccount } from '../inbound-rows.ts'
import { type TakingDeps, takeLater } from '../later-calls.ts'

/** Calls over connections that authenticate by password. */

/** What an account's password is checked with. */
export interface AccountDeps {
  store: Store
  vault: Vault
  now: () => Date
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

type Incoming = Events['leg.incoming']

/** The connection that a caller's digest names. A caller behind a registrar is known by the contact that it calls. */
export const accountOf = async (trx: Trx, { digest, connectionId }: Incoming): Promise<ConnectionRow | undefined> =>
  digest === null || connectionId !== undefined ? undefined : connectionOfAccount(trx, digest.username)

/** Verifies the digest, and continues with `then` if it is right. Otherwise media refuses the call. */
export const judge = (
  deps: AccountDeps & TakingDeps,
  trx: Trx,
  event: Of<'leg.incoming'>,
  account: ConnectionRow,
  then: (trx: Trx, proven: string) => Promise<void>,
): void =>
  takeLater(deps, trx, event, async media =>
    (await isRight(deps, event.body, account, media)) ? later => then(later, account.id) : null,
  )

async function isRight(deps: AccountDeps, call: Incoming, account: ConnectionRow, media: MediaPort): Promise<boolean> {
  const algorithm = call.digest?.algorithm ?? 'MD5'
  if (algorithm === 'MD5' && account.inbound_algorithm === 'SHA-256') {
    await media.request('leg.challenge', { legId: call.legId, algorithm: 'SHA-256' })
    return false
  }
  const ha1 = inboundHa1(deps.vault, account, algorithm)
  return hasProven(deps, call, { ha1, who: { connectionId: account.id } }, media)
}

/** Whether a caller's digest is right, and used for the first time. Otherwise media refuses the call, or asks again. */
export async function hasProven(
  { store, log, now }: Pick<AccountDeps, 'store' | 'log' | 'now'>,
  { legId, digest, source }: Incoming,
  { ha1, who }: { ha1: string | null; who: object },
  media: MediaPort,
): Promise<boolean> {
  const checked = await media.request('leg.check_caller', { legId, ha1 })
  if (isFailure(checked)) return false
  if (!checked.isRight) log.info({ legId, ...who, source: source.host }, 'a call was refused: its password is wrong')
  if (!checked.isRight || digest === null || (await noteUse(store, digest.nonce, now()))) return checked.isRight
  await media.request('leg.challenge', { legId, algorithm: digest.algorithm, isStale: true })
  return false
}

/**
 * Whether a caller whose address is refused might authenticate by password: it is challenged, or refused as with a wrong password.
 * `near`: the connections with a network that contains it.
 */
export async function asksForPassword(
  trx: Trx,
  { legId, digest, from }: Incoming,
  near: readonly ConnectionRow[],
  refusedWith: number,
): Promise<boolean> {
  const needsBoth = near.find(connection => inboundAuthOf(connection) === 'both')
  if (digest !== null && refusedWith === 403) {
    follow(trx, legId, async ({ media }) => void (await media.request('leg.check_caller', { legId, ha1: null })))
    return true
  }
  if (digest !== null || !(needsBoth !== undefined || (refusedWith === 403 && (await hasInboundAccounts(trx)))))
    return false
  const named = needsBoth ?? (await connectionOfAccount(trx, from.user))
  const algorithm: InboundAlgorithm = named?.inbound_algorithm ?? 'MD5'
  follow(trx, legId, async ({ media }) => void (await media.request('leg.challenge', { legId, algorithm })))
  return true
}
