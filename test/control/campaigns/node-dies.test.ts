import * as assert from 'uvu/assert'
import { forTenant, tenantOf } from '../../../control/kernel/tenancy.ts'
import { buildDialler } from '../../../control/wiring/background.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { EAGER } from './campaign-world.ts'

const test = suite('control/campaigns: media and control of a node die at once')

const PHONE = '+14155550123'

/** A running campaign whose contact has been taken. @param isSent its INVITE has left, which media told nobody any more */
async function contactTaken(isSent: boolean) {
  const world = await makeLiveWorld()
  const { ask, clock, make, media, store } = world
  await make('/connections', { name: 'Trunk', kind: 'trunk', host: '93.184.216.34' })
  const assistant_id = await make('/assistants', { name: 'Caller' })
  const id = await make('/campaigns', { name: 'Reminders', assistant_id, ...EAGER })
  await ask(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: PHONE }] })
  assert.is((await ask(`POST /v1/campaigns/${id}/start`)).status, 200)
  if (isSent) media.overrides.set('leg.dial', () => 'silence')
  // Control dies between the commit and what follows it.
  else store.followUps.performedBy(async () => {})
  await buildDialler({ store, now: clock.now, log: silent }).run({ state: 'ready', isDraining: false })
  if (isSent) await media.command('leg.dial')
  media.overrides.delete('leg.dial')
  await media.die('boot-2')
  await media.listen()
  await world.restart()
  await store.followUps.idle()
  const row = await store.db.selectFrom('campaign_contacts').selectAll().executeTakeFirstOrThrow()
  const attempts = () => forTenant(store.db, tenantOf(row)).select('campaign_attempts').selectAll().execute()
  return { world, row, attempts }
}

test('nobody is dialled twice for one attempt: a call whose INVITE may have left has failed, and the next attempt follows `retry_minutes.failed`', async () => {
  const { world, row, attempts } = await contactTaken(true)
  assert.is(world.media.sent('leg.dial').length, 1)
  assert.equal(
    (await attempts()).map(({ result }) => result),
    ['failed'],
  )
  assert.is(row.status, 'pending')
  assert.is(Date.parse(row.next_attempt_at!) - world.clock.now().getTime(), 60 * 60_000)
  await world.close()
})

test('nobody is lost: a call that media was not asked to dial is dialled by the next process', async () => {
  const { world, attempts } = await contactTaken(false)
  await until(() => world.media.sent('leg.dial').length === 1)
  assert.equal(
    (await attempts()).map(({ result }) => result),
    [null],
  )
  await world.close()
})

test.run()
