import * as assert from 'uvu/assert'
import { Copilot } from '../../../control/copilot/sessions/copilot.ts'
import { Feed } from '../../../control/copilot/sessions/feed.ts'
import { toSession } from '../../../control/copilot/sessions/session-schema.ts'
import type { CopilotSessionRow } from '../../../control/copilot/tables.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import {
  endConsultation,
  type Handling,
  hold,
  transferAttended,
  transferBlind,
} from '../../../control/queues/call-handling.ts'
import { suite } from '../../harness.ts'
import { makeQueueWorld, type QueueWorld } from '../queues/queue-world.ts'
import { VAULT } from '../whole-app.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/agents')

/** Ann talks with a caller of her queue, whose profile is the copilot's; Bob is a member whose phone works. */
async function talk() {
  let copilot: Copilot | undefined
  const world: QueueWorld = await makeQueueWorld({}, true, undefined, ({ store, clock }) => {
    const log = { warn() {}, error() {} } as never
    const search = passageSearch(store.engine)
    copilot = new Copilot({ store, now: clock.now, log, feed: new Feed(), search, vault: VAULT })
    return copilot
  })
  const { store, tenant, media, clock } = world
  const at = clock.now().toISOString()
  await forTenant(store.db, tenant).insert('copilot_profiles', {
    ...{ id: 'cop_1', name: 'Sales', version: 1, template_id: null, settings: JSON.stringify(PROFILE) },
    ...{ created: at, updated: at },
  })
  const [ann, bob] = [await world.addAgent('ann'), await world.addAgent('bob')]
  const queue = await world.addQueue({ member_user_ids: [ann], wrap_up_seconds: 10, copilot_profile_id: 'cop_1' })
  for (const user of [ann, bob]) await world.setStatus(user, 'available')
  const caller = await world.call(queue)
  await world.settle()
  media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const callId = media.legs.get(caller)!.roomId!
  const by = { tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  let serial = 0
  const sessions = (): Promise<CopilotSessionRow[]> =>
    forTenant(store.db, tenant).select('copilot_sessions').selectAll().orderBy('id').execute()
  const running = async (): Promise<CopilotSessionRow> => {
    const row = (await sessions()).find(({ status }) => status === 'running')
    assert.ok(row)
    return row
  }
  return {
    ...{ world, ann, bob, queue, caller, callId, sessions, running },
    act: async <T>(what: (handling: Handling) => Promise<T>): Promise<T> => {
      clock.advance(1000)
      const result = await world.centre().handle(by, what)
      await world.settle()
      await copilot!.tick()
      await copilot!.idle()
      return result
    },
    /** As media tells of it. */
    say: async (legId: string, text: string, more: { id?: string; isFinal?: boolean } = {}) => {
      clock.advance(1500)
      const { id: transcriptId } = await running()
      const { id: utteranceId = `u${++serial}`, isFinal = true } = more
      const body = { transcriptId, legId, utteranceId, text, isFinal, beganAgoMs: 1000, endedAgoMs: 200 }
      const event = { name: 'transcript.words', at: clock.now().toISOString(), body } as const
      await store.transaction(trx => copilot!.on(trx, event))
      await copilot!.deal(transcriptId)
    },
    told: async (type: string) => {
      const { id } = await running()
      const rows = forTenant(store.db, tenant).select('copilot_messages').selectAll().where('session_id', '=', id)
      return (
        await rows
          .where('type', '=', type as never)
          .orderBy('seq')
          .execute()
      ).map(row => JSON.parse(row.body))
    },
  }
}

test('who is given a call has a copilot of his own by its queue; that of the agent before ends with his part of it', async () => {
  const { world, ann, bob, sessions, running, say, act } = await talk()
  assert.equal([(await running()).user_id, (await sessions()).length], [ann, 1])
  await say(world.legOf(ann)!.legId, 'Thank you for calling, I give you to my colleague')
  assert.is(await act(handling => transferBlind(handling, { type: 'user', id: bob })), null)
  assert.equal(
    (await sessions()).map(({ user_id, status }) => [user_id, status]),
    [[ann, 'ended']],
  )
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  const [before, now] = (await sessions()).map(toSession)
  assert.equal([before?.status, now?.status, now?.user_id, now?.profile_id], ['ended', 'running', bob, 'cop_1'])
  assert.equal([before?.stages[0]?.checklist[0]?.done, now?.stages[0]?.checklist[0]?.done], [true, false])
  const summaries = await world.store.db
    .selectFrom('copilot_messages')
    .select('session_id')
    .where('type', '=', 'summary')
    .execute()
  assert.equal(summaries, [{ session_id: before?.id }])
  await world.close()
})

const ON_HOLD =
  'what the agent says while the customer is on hold was not said to him: nothing is done, forbidden or disclosed by it'
const whenSet = (setMs: number): string => (setMs === 0 ? '' : `, when the clock is set by ${setMs / 3_600_000} h`)

for (const setMs of [0, -3_600_000, 3_600_000])
  test(`${ON_HOLD}${whenSet(setMs)}`, async () => {
    const { world, ann, running, say, act, told } = await talk()
    const agent = world.legOf(ann)!.legId
    await say(agent, 'Just a moment please')
    await act(handling => hold(handling, true))
    world.clock.set(setMs)
    const aside = 'This call is recorded. Thank you for calling. We guarantee it. And the account number?'
    await say(agent, aside.slice(0, 22), { id: 'aside', isFinal: false })
    await say(agent, aside, { id: 'aside' })
    const { stages, disclosures, figures } = toSession(await running())
    assert.equal([stages[0]?.checklist[0]?.done, disclosures[0]?.status, figures.talk_ratio], [false, 'open', null])
    assert.equal(await told('compliance'), [])
    const line = (await told('transcript')).at(-1)
    assert.equal([line.text, line.party, line.aside], [aside, 'agent', true])
    await act(handling => hold(handling, false))
    await say(agent, aside)
    assert.equal([(await told('compliance')).length, (await told('transcript')).at(-1).aside], [2, undefined])
    await world.close()
  })

test('an utterance that the agent began before the hold was said to the customer, whenever its words are understood', async () => {
  const { world, ann, running, say, act } = await talk()
  const agent = world.legOf(ann)!.legId
  await say(agent, 'This call is', { id: 'u', isFinal: false })
  await act(handling => hold(handling, true))
  await say(agent, 'This call is recorded.', { id: 'u' })
  assert.is(toSession(await running()).disclosures[0]?.status, 'said')
  await world.close()
})

test('who is asked for advice is no customer, and has a copilot once the call is his', async () => {
  const { world, ann, bob, caller, sessions, running, say, act, told } = await talk()
  await say(caller, 'My name is Ann Smith')
  const outside = 'sip:cid@93.184.216.34'
  await act(handling => transferAttended(handling, { type: 'number', to: outside }))
  const asked = [...world.media.legs.values()].find(leg => leg.dialled === outside)!
  world.media.pickUp(asked.legId)
  await world.settle()
  await say(asked.legId, 'That is too expensive, my name is Cid Brown, please do not call me again')
  assert.equal((await told('transcript')).at(-1).party, 'other')
  assert.equal(await told('objection'), [])
  assert.is(toSession(await running()).fields.find(({ key }) => key === 'name')?.value, 'Ann Smith')
  assert.equal(await world.store.db.selectFrom('do_not_call').select('id').execute(), [])
  await act(handling => endConsultation(handling, 'cancel'))
  await act(handling => transferAttended(handling, { type: 'user', id: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.equal([(await running()).user_id, (await sessions()).length], [ann, 1], 'as long as he is asked')
  await act(handling => endConsultation(handling, 'complete'))
  assert.equal(
    (await sessions()).map(({ user_id, status }) => [user_id, status]),
    [
      [ann, 'ended'],
      [bob, 'running'],
    ],
  )
  await world.close()
})

test('an agent whose phone joins the call with one of another node has left it: the session is over, with its summary', async () => {
  const { world, ann, caller, callId, sessions, say, act } = await talk()
  const { media, store, tenant } = world
  const account = {
    id: ann,
    username: 'live-ann',
    ha1_md5: '',
    ha1_sha256: '',
    created: world.clock.now().toISOString(),
  }
  await forTenant(store.db, tenant).insert('sip_credentials', account)
  const { legId } = world.legOf(ann)!
  await say(legId, 'Thank you for calling, I give you to my colleague')
  const referId = media.refer(legId, '302', { legId: null, dialog: 'c;to-tag=1;from-tag=2', atNode: true })
  await world.settle()
  const asked = media.handled.find(({ name }) => name === 'leg.refer_join')!.body
  const ringback = { kind: 'tone', name: 'ringback' }
  assert.equal(asked, { legId, referId, account: 'live-ann', timeoutS: 60, ringback })
  media.emit('leg.refer_progress', { legId, referId, sipCode: 200, isOver: true })
  await act(async () => {})
  assert.equal(
    (await sessions()).map(({ user_id, status }) => [user_id, status]),
    [[ann, 'ended']],
  )
  assert.is(await world.status(ann), 'wrap_up')
  const legs = [...media.legs.values()].map(leg => [leg.legId, leg.roomId])
  assert.equal(
    legs,
    [caller, legId].map(id => [id, callId]),
    'the two go on to talk',
  )
  await world.close()
})

test.run()
