import * as assert from 'uvu/assert'
import { type SoftphoneDeps, Softphones } from '../../../control/browsers/softphone.ts'
import { nodeOf } from '../../../control/databases/node.ts'
import type { MediaPort } from '../../../control/media-events.ts'
import { forTenant } from '../../../control/tenancy.ts'
import { suite } from '../../harness.ts'
import { makeWorld } from '../app-harness.ts'

const test = suite('control/browsers/softphone')

test('an agent transfers to whom it could dial: a number or an extension, and no SIP address of a stranger', async () => {
  const { store, ours, clock } = await makeWorld()
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const session = { id: 'brw_1', user_id: 'user_1', node: nodeOf(store.db), connected_at: clock.now().toISOString() }
  await forTenant(store.db, tenant).insert('browser_sessions', session)
  const told: unknown[] = []
  const media = {
    request: async (_name: string, { body }: { body: unknown }) => told.push(body),
  } as unknown as MediaPort
  const softphones = new Softphones({ store, now: clock.now, log: { warn: () => {} } } as unknown as SoftphoneDeps)
  for (const to of ['sip:anybody@example.com', '2000', '+15550100123']) {
    await softphones.handle({ browserId: 'brw_1', body: { type: 'transfer', to } }, media)
  }
  const nobody = { type: 'refused', message: 'That is no number or extension.' }
  assert.equal(told, [nobody, nobody, { type: 'refused', message: 'You are in no call.' }])
  await store.close()
})

test.run()
