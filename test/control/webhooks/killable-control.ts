/**
 * The part of a control process that writes and delivers events, to be killed at any moment. Started with a database, an organisation's ID,
 * a number of events and the dispatcher's bounds, it commits events without a pause, tells its parent the ID of each, and delivers them.
 */

import { endedCall } from '../../../control/calls/events.ts'
import { appendEvent } from '../../../control/kernel/events/log.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import { WebhookDispatcher } from '../../../control/webhooks/dispatcher.ts'
import { httpPost } from '../../../control/webhooks/http-post.ts'
import { silent, VAULT } from '../silent.ts'

export async function main(): Promise<void> {
  const [target, organisationId, makes, bounds] = process.argv.slice(2) as [string, string, string, string]
  const store = await openStore(target)
  const now = (): Date => new Date()
  const dispatcher = new WebhookDispatcher({
    store,
    vault: VAULT,
    post: httpPost,
    allowedNetworks: ['127.0.0.0/8'],
    now,
    random: Math.random,
    log: silent,
    bounds: JSON.parse(bounds),
  })
  dispatcher.start()
  const tenant = { organisationId, livemode: true }
  for (let made = 0; made < Number(makes); made++) {
    const id = await store.transaction(trx =>
      appendEvent(trx, tenant, { type: 'call.ended', at: now().toISOString(), object: endedCall }),
    )
    process.send?.(id)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  process.on('disconnect', () => process.exit(0))
}
