import * as assert from 'uvu/assert'
import { forTenant, tenantOf } from '../../../control/kernel/tenancy.ts'
import { buildDialler } from '../../../control/wiring/background.ts'
import { suite } from '../../harness.ts'
import { ask, silent } from '../app-harness.ts'
import { makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { EAGER } from './campaign-world.ts'

const test = suite('control/campaigns: media and control of a node die at once')

const PHONE = '+14155550123'
const SANDBOX = '+15005550006'

/** What had happened to the call when media and control died. */
type Met =
  /** Control died between its commit and what follows it. */
  | 'not asked'
  /** Media was asked to dial, and told nobody any more whether it has. */
  | 'asked'
  /** Media has begun the leg. */
  | 'begun'

/**
 * A running campaign whose contact has been taken. `mode`: `test` calls a sandbox number. `isSent`: whether the next media process knows that the INVITE
 * had left; absent: it does not know what its predecessor did.
 */
async function contactTaken(met: Met, { isSent, mode = 'live' }: { isSent?: boolean; mode?: 'live' | 'test' } = {}) {
  const world = await makeLiveWorld()
  const { clock, make, media, store } = world
  const told = async (line: string, body?: object) => {
    const answer = await ask(world.app, line, { key: world.ours.keys[mode], ...(body && { body }) })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  await make('/connections', { name: 'Trunk', kind: 'trunk', host: '93.184.216.34' })
  const assistant_id = (await told('POST /v1/assistants', { name: 'Caller' })).id
  const { id } = await told('POST /v1/campaigns', { name: 'Reminders', assistant_id, ...EAGER })
  await told(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: mode === 'live' ? PHONE : SANDBOX }] })
  await told(`POST /v1/campaigns/${id}/start`)
  if (met === 'asked') media.overrides.set('leg.dial', () => 'silence')
  if (met === 'not asked') store.followUps.performedBy(async () => {})
  await buildDialler({ store, now: clock.now, log: silent }).run({ state: 'ready', isDraining: false })
  if (met !== 'not asked') await media.command('leg.dial')
  if (met === 'begun') await store.followUps.idle()
  media.overrides.delete('leg.dial')
  const dialled = media.sent('leg.dial').map(({ legId }) => legId)
  await media.die('boot-2')
  media.dialledBefore = isSent === undefined ? undefined : isSent ? dialled : []
  await media.listen()
  await world.restart()
  await store.followUps.idle()
  const row = await store.db.selectFrom('campaign_contacts').selectAll().executeTakeFirstOrThrow()
  const attempts = () => forTenant(store.db, tenantOf(row)).select('campaign_attempts').selectAll().execute()
  return { world, row, attempts }
}

test('nobody is dialled twice for one attempt: a call whose INVITE may have left has failed, and the next attempt follows `retry_minutes.failed`', async () => {
  const { world, row, attempts } = await contactTaken('asked')
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
  const { world, attempts } = await contactTaken('not asked')
  await until(() => world.media.sent('leg.dial').length === 1)
  assert.equal(
    (await attempts()).map(({ result }) => result),
    [null],
  )
  await world.close()
})

for (const met of ['asked', 'begun'] as const) {
  test(`an attempt that never left does not count: a call that media was ${met === 'asked' ? 'asked to dial' : 'about to dial'} is dialled by the next process`, async () => {
    const { world, row, attempts } = await contactTaken(met, { isSent: false })
    await until(() => world.media.sent('leg.dial').length === 2)
    const [first, again] = world.media.sent('leg.dial')
    assert.is(again!.legId, first!.legId)
    assert.equal(
      (await attempts()).map(({ result }) => result),
      [null],
    )
    assert.equal([row.status, row.attempts], ['calling', 1])
    await world.close()
  })
}

test('what media knows to have left has failed, also where control has not noted that it asked', async () => {
  const { world, attempts } = await contactTaken('begun', { isSent: true })
  assert.is(world.media.sent('leg.dial').length, 1)
  assert.equal(
    (await attempts()).map(({ result }) => result),
    ['failed'],
  )
  await world.close()
})

for (const isSent of [true, undefined]) {
  test(`the same of the sandbox, whose calls take no line: ${isSent ? 'its INVITE had left' : 'it is not known'}`, async () => {
    const { world, attempts } = await contactTaken('asked', { mode: 'test', ...(isSent && { isSent }) })
    assert.is(world.media.sent('leg.dial').length, 1)
    assert.equal(
      (await attempts()).map(({ result }) => result),
      ['failed'],
    )
    await world.close()
  })
}

test.run()
