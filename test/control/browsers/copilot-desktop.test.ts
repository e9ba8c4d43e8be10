import * as assert from 'uvu/assert'
import { CopilotDesktops } from '../../../control/browsers/copilot-desktop.ts'
import { Feed } from '../../../control/copilot/sessions/feed.ts'
import type { CopilotMessageRow } from '../../../control/copilot/tables.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import type { MediaPort } from '../../../control/media-link/events.ts'
import { suite } from '../../harness.ts'
import { makeCall } from '../conformance/objects.ts'
import { PROFILE } from '../copilot/profiles.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/browsers/copilot-desktop')

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}

type Pushed = { type: string; session?: { id: string }; message?: { id: string } }

test('while media does not answer no more waits for a desktop than its session shown anew', async () => {
  const world = await makeWholeApp()
  const tenant = { organisationId: world.ours.organisationId, livemode: false }
  const own = forTenant(world.store.db, tenant)
  const { id: callId } = await makeCall({ world: world as never, tenant, ask: async () => ({}) })
  const profile = await world.test('POST /v1/copilot_profiles', { name: 'Sales', ...PROFILE })
  const { body } = await world.test(`POST /v1/calls/${callId}/copilot`, { profile_id: profile.body.id })
  const utterances = ['Thank you for calling', 'My name is Ann Smith'].map(text => ({ party: 'agent', text }))
  await world.test(`POST /v1/test_helpers/copilot/${body.id}/utterances`, { utterances })
  await own.update('copilot_sessions').set({ user_id: 'usr_1' }).where('id', '=', body.id).execute()
  const at = new Date(0).toISOString()
  await own.insert('browser_sessions', {
    id: 'brw_1',
    user_id: 'usr_1',
    node: nodeOf(world.store.db),
    connected_at: at,
  })

  const row = await own.select('copilot_sessions').selectAll().where('id', '=', body.id).executeTakeFirstOrThrow()
  const messages = await own.select('copilot_messages').selectAll().where('session_id', '=', body.id).execute()
  const [first] = messages
  assert.ok(first)
  const told = (id: string): CopilotMessageRow => ({ ...first, id })

  const pushed: Pushed[] = []
  const [answered, shown, over] = [deferred(), deferred(), deferred()]
  const media = {
    request: async (_name: string, { body: message }: { body: Pushed }) => {
      pushed.push(message)
      if (message.type === 'copilot_session') shown.resolve()
      if (message.message?.id === 'last') over.resolve()
      await answered.promise
    },
  } as unknown as MediaPort
  const feed = new Feed()
  new CopilotDesktops({ store: world.store, log: { warn: () => {} }, feed, media })
  for (let n = 0; n < 1000; n++) feed.told(row, [told(`old_${n}`)])
  answered.resolve()
  await shown.promise
  feed.told(row, [told('last')])
  await over.promise

  const anew = pushed.findIndex(({ type }) => type === 'copilot_session')
  assert.ok(anew > 0, 'the session is shown anew')
  assert.ok(anew < 200, `${anew} messages were kept`)
  assert.equal(
    pushed.slice(anew + 1, anew + 1 + messages.length).map(({ message }) => message?.id),
    messages.toSorted((a, b) => a.seq - b.seq).map(({ id }) => id),
  )
  assert.is(pushed.length, anew + 1 + messages.length + 1, 'then only what was told since')
  await world.close()
})

test.run()
