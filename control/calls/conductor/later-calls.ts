import { isFailure } from '../../../media/protocol.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { CommandPort, MediaPort } from '../../media-link/events.ts'
import type { Of } from '../steps/event-handler.ts'
import { follow } from '../steps/follow.ts'
import type { CallCentrePort } from './call-centre-port.ts'

export interface TakingDeps {
  store: Store
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  centre: Pick<CallCentrePort, 'end'>
}

type Take = (trx: Trx) => Promise<void>

/**
 * Judges a call behind its event and then takes it, while other events pass. Null: it was refused. If that takes too long, media itself
 * refuses the call.
 */
export function takeLater(
  deps: TakingDeps,
  trx: Trx,
  { body: { legId }, at }: Of<'leg.incoming'>,
  judge: (media: MediaPort) => Promise<Take | null>,
): void {
  const run = async (media: MediaPort): Promise<void> => {
    const take = await judge(media)
    if (take === null) return
    await deps.store.transaction(take)
    await endIfGone(deps, media, legId, at)
  }
  const failed = async (media: MediaPort, error: unknown): Promise<void> => {
    deps.log.error({ err: error, legId }, 'an incoming call could not be taken')
    await media.request('leg.reject', { legId, sipCode: 500, reason: 'internal_error' })
  }
  // Not awaited, since nothing else depends on it.
  follow(trx, legId, async ({ media }) => void run(media).catch(error => failed(media, error)))
}

/** Ends a call that was taken behind its event, if its caller hung up before its rows existed: the event of that was lost with them. */
export async function endIfGone(
  { store, centre }: Pick<TakingDeps, 'store' | 'centre'>,
  media: CommandPort<'leg.read'>,
  legId: string,
  at: string,
): Promise<void> {
  const reply = await media.request('leg.read', { legIds: [legId] })
  if (isFailure(reply) || reply.legs.length > 0) return
  // An end that came later is told with its own reason.
  await media.settled()
  const end = { reason: 'caller_hangup' as const, sipCode: null, quality: null }
  await store.transaction(trx => centre.end(trx, legId, end, at))
}
