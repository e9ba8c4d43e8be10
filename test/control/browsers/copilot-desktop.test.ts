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
import { makeWholeApp, type WholeApp } from '../whole-app.ts'

const test = suite('control/browsers/copilot-desktop')

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}

type Pushed = { type: string; session?: { id: string }; message?: { id: string } }

/** A session with some messages, on the desktop of a member whose page is connected. */
async function begin(...lines: string[]) {
  const world = await makeWholeApp()
  const tenant = { organisationId: world.ours.organisationId, livemode: false }
  const own = forTenant(world.store.db, tenant)
  const { id: callId } = await makeCall({ world: world as never, tenant, ask: async () => ({}) })
  const profile = await world.test('POST /v1/copilot_profiles', { name: 'Sales', ...PROFILE })
  const { body } = await world.test(`POST /v1/calls/${callId}/copilot`, { profile_id: profile.body.id })
  const utterances = lines.map(text => ({ party: 'customer', text }))
  await world.test(`POST /v1/test_helpers/copilot/${body.id}/utterances`, { utterances })
  await own.update('copilot_sessions').set({ user_id: 'usr_1' }).where('id', '=', body.id).execute()
  await connect(world, own, 'usr_1')
  const messages = await own.select('copilot_messages').selectAll().where('session_id', '=', body.id).execute()
  const row = () => own.select('copilot_sessions').selectAll().where('id', '=', body.id).executeTakeFirstOrThrow()
  return { world, own, id: body.id as string, row, messages: messages.toSorted((a, b) => a.seq - b.seq) }
}

const connect = ({ store }: WholeApp, own: ReturnType<typeof forTenant>, userId: string) =>
  own.insert('browser_sessions', {
    id: `brw_${userId}`,
    user_id: userId,
    node: nodeOf(store.db),
    connected_at: new Date(0).toISOString(),
  })

test('while media does not answer no more waits for a desktop than its session shown anew', async () => {
  const { world, row: read, messages } = await begin('Thank you for calling', 'My name is Ann Smith')
  const row = await read()
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
    messages.map(({ id }) => id),
  )
  assert.is(pushed.length, anew + 1 + messages.length + 1, 'then only what was told since')
  await world.close()
})

/** Messages to pages until no more come. */
async function toldBy(world: WholeApp, feed: Feed, tell: () => void, count: number) {
  const pushed: (Pushed & { browserId: string; session_id?: string })[] = []
  const over = deferred()
  const media = {
    request: async (_name: string, { browserId, body }: { browserId: string; body: Pushed }) => {
      pushed.push({ browserId, ...body })
      if (pushed.length === count) over.resolve()
    },
  } as unknown as MediaPort
  new CopilotDesktops({ store: world.store, log: { warn: () => {} }, feed, media })
  tell()
  await over.promise
  return pushed
}

test('in a long call a page that is loaded again gets what was told last, and what still holds of what was told before', async () => {
  const { world, own, row, messages } = await begin('I want to cancel my contract', 'My name is Ann Smith')
  const first = messages[0]!
  const step = { ...first, id: 'copm_step', seq: 40, type: 'script' as const, body: '{"node_key":"a"}' }
  await own.insert('copilot_messages', step)
  for (let n = 0; n < 500; n++) await own.insert('copilot_messages', { ...first, id: `copm_${n}`, seq: 100 + n })
  const feed = new Feed()
  const session = await row()
  const pushed = await toldBy(world, feed, () => feed.told(session, []), 504)
  const told = pushed.map(({ message }) => message as unknown as { type: string; id: string } | undefined)
  const of = (type: string) => told.filter(message => message?.type === type)
  assert.equal([of('alert').length, of('field').length, of('script').length], [1, 1, 1])
  assert.is(told.at(-1)?.id, 'copm_499')
  await world.close()
})

test('a copilot that is assigned to another member leaves the desktop of the one before', async () => {
  const { world, own, id, row } = await begin('My name is Ann Smith')
  await connect(world, own, 'usr_2')
  const feed = new Feed()
  const before = await row()
  await own.update('copilot_sessions').set({ user_id: 'usr_2' }).where('id', '=', id).execute()
  const after = await row()
  const tell = (): void => {
    feed.told(before, [])
    feed.told(after, [])
  }
  const pushed = await toldBy(world, feed, tell, 2)
  const has = (browser: string, type: string): boolean =>
    pushed.some(one => one.browserId === `brw_${browser}` && one.type === type)
  assert.ok(has('usr_1', 'copilot_gone') && has('usr_2', 'copilot_session'))
  assert.not(has('usr_1', 'copilot_session'))
  await world.close()
})

test.run()
