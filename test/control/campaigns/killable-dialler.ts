/**
 * The part of a control process that dials campaigns, to be killed at any moment. Started with a database, its node's name and the socket of its media, it
 * dials what is due and handles media's events.
 */

import { CallDriver } from '../../../control/calls/conductor/driver.ts'
import { Dialler } from '../../../control/campaigns/dialler.ts'
import { onCampaignCall } from '../../../control/campaigns/follow-calls.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import { MediaClient } from '../../../control/media-link/client.ts'
import { CallCentre } from '../../../control/queues/call-centre.ts'
import '../../../control/wiring/event-catalog.ts'
import { silent, VAULT } from '../silent.ts'

const LOOK_MS = 60

export async function main(): Promise<void> {
  const [target, node, mediaPath] = process.argv.slice(2) as [string, string, string]
  const store = await openStore(target, node)
  const now = (): Date => new Date()
  const streams = { signingSecret: async () => '', allowedNetworks: [] }
  const always = { hours: null, timezone: 'UTC' }
  const centre = new CallCentre({
    ...{ store, now, log: silent, sipHost: 'tandem.test', vault: VAULT, streams },
    devicesOf: async () => [],
    businessHoursOf: async () => always,
    booking: {
      now,
      settings: async () => ({
        country: null,
        businessHours: always,
        callbacks: { default_route: 'agent_queue', max_attempts: 3, api_priority: 5, sla_minutes: 60 },
      }),
    },
    assetFile: id => id,
    handOver: async () => true,
  })
  const media = new MediaClient(
    mediaPath,
    new CallDriver({ store, vault: VAULT, now, log: silent, streams, assetFile: id => id, centre }),
    silent,
  )
  store.within.add(onCampaignCall({ devicesOf: async () => [] }))
  const dialler = new Dialler({ store, now, log: silent, devicesOf: async () => [], timezoneOf: async () => 'UTC' })
  media.start()
  process.on('disconnect', () => process.exit(0))
  process.send?.('started')
  for (;;) {
    if (media.state === 'ready') {
      await dialler.run(media)
      await centre.run(media)
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
}
