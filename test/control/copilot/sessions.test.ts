import * as assert from 'uvu/assert'
import { setLeg } from '../../../control/calls/legs.ts'
import { Copilot } from '../../../control/copilot/sessions/copilot.ts'
import { Feed } from '../../../control/copilot/sessions/feed.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import { RetentionDuty } from '../../../control/retention/duty.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { makeCall } from '../conformance/objects.ts'
import { makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/sessions')

let world: WholeApp
test.beforeEach(async () => {
  world = await makeWholeApp()
})
test.afterEach(() => world.close())

const tenant = () => ({ organisationId: world.ours.organisationId, livemode: false })

/** A copilot beside the party of a call, in test mode. */
async function begin(profile: object = PROFILE): Promise<{ id: string; callId: string; legId: string; path: string }> {
  const maker = { world: world as never, tenant: tenant(), ask: async () => ({}) }
  const { id: callId = '', participant_id: legId = '' } = await makeCall(maker)
  const made = await world.test('POST /v1/copilot_profiles', { name: 'Sales', ...profile })
  assert.is(made.status, 201, made.text)
  const started = await world.test(`POST /v1/calls/${callId}/copilot`, { profile_id: made.body.id })
  assert.is(started.status, 201, started.text)
  return { id: started.body.id, callId, legId, path: `/v1/copilot_sessions/${started.body.id}` }
}

const say = (id: string, ...lines: [string, string][]) =>
  world.test(`POST /v1/test_helpers/copilot/${id}/utterances`, {
    utterances: lines.map(([party, text]) => ({ party, text })),
  })

const events = (type: string) =>
  forTenant(world.store.db, tenant()).select('events').select('data').where('type', '=', type).execute()

test('text that is fed is dealt with as if it were heard, and what is told is a list', async () => {
  const { id, path } = await begin()
  const { body } = await say(id, ['agent', 'Thank you for calling'], ['customer', 'My name is Ann Smith'])
  assert.equal(
    [body.stages[0].checklist[0].done, body.fields.find((one: { key: string }) => one.key === 'name').value],
    [true, 'Ann Smith'],
  )
  const { data } = (await world.test(`GET ${path}/messages`)).body
  assert.equal(
    data.map(({ type }: { type: string }) => type),
    ['field', 'transcript', 'checklist', 'transcript', 'stage'],
  )
  for (const message of data) {
    assert.is(message.path, 'fast')
    assert.equal([message.replaces, message.withdraws], [null, null])
  }
  assert.type(data[0].latency_ms, 'number')
  assert.is((await world.test(`GET ${path}`)).body.last_message_id, data[0].id)
})

test('a session keeps the profile as it was when it began', async () => {
  const { id } = await begin()
  const profile = (await world.test('GET /v1/copilot_profiles')).body.data[0]
  await world.test(`PATCH /v1/copilot_profiles/${profile.id}`, { stages: [], fields: [] })
  const { body } = await say(id, ['agent', 'Thank you for calling'])
  assert.equal([body.profile_version, body.stages[0].checklist[0].done], [1, true])
})

test('a participant has one copilot at a time', async () => {
  const { callId } = await begin()
  const profile = (await world.test('GET /v1/copilot_profiles')).body.data[0]
  const again = await world.test(`POST /v1/calls/${callId}/copilot`, { profile_id: profile.id })
  assert.equal([again.status, again.body.error.details.reason], [409, 'already_running'])
})

test('what a person checks, writes, chooses and dismisses wins over what is heard', async () => {
  const { id, path } = await begin()
  await world.test(`POST ${path}/fields/plan`, { value: 'basic' })
  await world.test(`POST ${path}/checklist/greet`, { done: true })
  const heard = await say(id, ['customer', 'I take premium, but it is too expensive'])
  const plan = heard.body.fields.find((one: { key: string }) => one.key === 'plan')
  assert.equal([plan.value, plan.by, heard.body.stages[0].checklist[0].by], ['basic', 'person', 'person'])
  const { data } = (await world.test(`GET ${path}/messages`)).body
  const objection = data.find(({ type }: { type: string }) => type === 'objection')
  const dismissed = await world.test(`POST ${path}/dismiss`, { message_id: objection.id })
  assert.not(dismissed.body.showing.includes(objection.id))
  const moved = await world.test(`POST ${path}/script/next`, { stage: 'close' })
  assert.is(moved.body.stage, 'close')
  assert.is((await world.test(`POST ${path}/script/next`, { back: true })).body.stage, 'need')
  const wrong = await world.test(`POST ${path}/fields/plan`, { value: 'platinum' })
  assert.equal([wrong.status, wrong.body.error.param], [400, 'value'])
})

test('a customer who asks the agent not to be called again is on the do-not-call list, once, by that call', async () => {
  const { id, callId, path: session } = await begin()
  const phone = '+15557654321'
  await forTenant(world.store.db, tenant()).change('calls', callId, { from_address: phone, to_address: phone })
  await say(
    id,
    ['agent', 'You told me to stop calling you.'],
    ['agent', 'I will not call you: do not call me again either.'],
  )
  assert.equal((await world.test('GET /v1/do_not_call')).body.data, [])
  await say(id, ['customer', 'Please do not call me again.'], ['customer', 'Stop calling me.'])
  const { data } = (await world.test('GET /v1/do_not_call')).body
  assert.equal(
    data.map((entry: Record<string, string>) => [entry.phone, entry.source, entry.call_id]),
    [[phone, 'call', callId]],
  )
  const shown = async () => {
    const { data } = (await world.test(`GET ${session}/messages?limit=100`)).body
    return data.filter((one: { data: { kind?: string } }) => one.data.kind === 'do_not_call')
  }
  const [message, ...more] = await shown()
  assert.equal([message.type, message.data.phone, message.utterance_ids.length, more], ['compliance', phone, 1, []])
  const { method, path } = message.data.undo
  assert.is((await world.test(`${method} ${path}`)).status, 200)
  assert.equal((await world.test('GET /v1/do_not_call')).body.data, [], 'undone by the agent')
  await say(id, ['customer', 'I said: do not call me again!'])
  assert.is((await shown()).length, 2, 'who asks again is listed again')
})

test('a customer who asks the agent not to be recorded has taken that consent back, by that call; the agent has not', async () => {
  const { id, callId } = await begin()
  const phone = '+15557654322'
  await forTenant(world.store.db, tenant()).change('calls', callId, { from_address: phone, to_address: phone })
  const evidence = { type: 'form', url: 'https://example.com/consent' }
  const { body: consent } = await world.test('POST /v1/consents', { phone, purpose: 'record', evidence })
  const now = async () => (await world.test(`GET /v1/consents/${consent.id}`)).body
  await say(id, ['agent', 'Stop recording.'], ['customer', 'Is this call recorded?'])
  assert.is((await now()).status, 'active')
  await say(id, ['customer', 'Then stop recording, please.'])
  const { status, revocation } = await now()
  assert.equal([status, revocation.call_id], ['revoked', callId])
})

test('an alert that notifies supervisors is an event of the call', async () => {
  const { id, callId } = await begin()
  await say(id, ['customer', 'I want to cancel my contract'])
  const [event] = await events('copilot.alert')
  const { object } = JSON.parse(event?.data ?? '{}')
  assert.equal([object.key, object.call_id, object.session_id, object.severity], ['cancel', callId, id, 'critical'])
})

test('the agent asks, and the answer comes from the knowledge base with its source', async () => {
  const { path } = await begin()
  await world.test('POST /v1/kb/documents', { text: 'We are open from nine to five on weekdays.' })
  const { body } = await world.test(`POST ${path}/ask`, { question: 'When are you open?' })
  assert.match(body.answer, /nine to five/)
  assert.match(body.sources[0].document_id, /^kbd_/)
  const nothing = await world.test(`POST ${path}/ask`, { question: 'Do you sell elephants?' })
  assert.equal([nothing.body.answer, nothing.body.sources], [null, []])
})

test('a card is shown unasked above kb.min_score, from the documents of the profile alone', async () => {
  const { body: other } = await world.test('POST /v1/kb/documents', { text: 'Delivery takes three days.' })
  const { body: own } = await world.test('POST /v1/kb/documents', { text: 'Delivery takes two days.' })
  const { id, path } = await begin({ ...PROFILE, kb: { document_ids: [own.id], links: [], min_score: 0.5 } })
  await say(id, ['customer', 'How long does the delivery take in days?'])
  const { data } = (await world.test(`GET ${path}/messages`)).body
  const cards = data.filter(({ type }: { type: string }) => type === 'card')
  assert.equal(
    cards.map((card: { data: { document_id: string } }) => card.data.document_id),
    [own.id],
  )
  assert.is.not(own.id, other.id)
})

test('in a card-payment pause nothing said or typed is taken', async () => {
  const { id, callId, path } = await begin()
  await forTenant(world.store.db, tenant()).insert('capture_pauses', {
    id: callId,
    call_id: callId,
    reason: 'payment',
    paused_at: world.clock.now().toISOString(),
    resumes_at: null,
    destination_participant_id: null,
  })
  const before = (await world.test(`GET ${path}`)).body.last_message_id
  const answers = [
    await say(id, ['customer', 'My card is 4111 1111 1111 1111']),
    await world.test(`POST ${path}/fields/name`, { value: 'Ann' }),
    await world.test(`POST ${path}/ask`, { question: 'What is 4111 1111 1111 1111?' }),
  ]
  for (const { status, body } of answers) assert.equal([status, body.error.details.reason], [409, 'capture_paused'])
  assert.is((await world.test(`GET ${path}`)).body.last_message_id, before)
})

test('a card number is in no row, whether said at once, in pieces, typed or asked', async () => {
  const { id, path } = await begin()
  await say(id, ['customer', 'My card is 4111 1111 1111 1111'])
  await world.test(`POST ${path}/fields/name`, { value: '4111 1111 1111 1111' })
  await world.test(`POST ${path}/ask`, { question: 'Is 4111 1111 1111 1111 right?' })
  const rows = JSON.stringify(await world.store.db.selectFrom('copilot_messages').selectAll().execute())
  const state = JSON.stringify(await world.store.db.selectFrom('copilot_sessions').selectAll().execute())
  for (const text of [rows, state]) assert.not.match(text, /4111\s?1111/)
})

test('who agrees to be recorded later is heard from then on; who refuses never is, and no longer', async () => {
  const { store, clock } = world
  const consent = {
    transcribe: false,
    language: null,
    announcement: 'May we?',
    consent: null,
    streams: [],
    asked: 'asking',
  }
  const { id, callId, legId, path } = await begin()
  const asked: string[] = []
  const media = {
    request: async (name: string) => {
      asked.push(name)
      return {}
    },
  }
  const log = { warn() {}, error() {} } as never
  const search = passageSearch(store.engine)
  const copilot = new Copilot({ store, now: clock.now, log, feed: new Feed(), search, vault: VAULT })
  await copilot.resume({} as never, media as never)
  const answer = async (to: string) => {
    const capture = JSON.stringify({ ...consent, asked: to })
    await forTenant(store.db, tenant()).update('calls').set({ capture }).where('id', '=', callId).execute()
    asked.length = 0
    await copilot.tick()
    return (await world.test(`GET ${path}`)).body
  }
  const waiting = await answer('asking')
  assert.equal([waiting.hearing, asked], ['none', ['transcript.stop']])
  const body = {
    transcriptId: id,
    legId,
    utteranceId: 'u1',
    text: 'hello',
    isFinal: true,
    beganAgoMs: 9,
    endedAgoMs: 0,
  }
  const words = { name: 'transcript.words', at: clock.now().toISOString(), body } as const
  const kept = () =>
    store.transaction(async trx => {
      await copilot.on(trx, words)
      return (await trx.selectFrom('copilot_inputs').select('id').execute()).length
    })
  assert.is(await kept(), 0)
  const agreed = await answer('agreed')
  assert.equal([agreed.hearing, agreed.hearing_reason, asked], ['running', null, ['transcript.start']])
  assert.is(await kept(), 1)
  const refused = await answer('refused')
  assert.equal([refused.hearing, asked], ['none', ['transcript.stop']])
  assert.match(refused.hearing_reason, /has refused recording/)
  assert.is((await answer('refused')).hearing, 'none')
  assert.equal(asked, [])
})

test('where the organisation demands consent to record, who has given none is not heard until he gives it, nor once he takes it back', async () => {
  const { store, clock } = world
  await world.test('PATCH /v1/organisation', { require_consent: ['record'] })
  const { callId, path } = await begin()
  const phone = '+14155550142'
  const addresses = { from_address: phone, to_address: phone }
  await forTenant(store.db, tenant()).update('calls').set(addresses).where('id', '=', callId).execute()
  const asked: string[] = []
  const media = {
    request: async (name: string) => {
      asked.push(name)
      return {}
    },
  }
  const log = { warn() {}, error() {} } as never
  const search = passageSearch(store.engine)
  const copilot = new Copilot({ store, now: clock.now, log, feed: new Feed(), search, vault: VAULT })
  await copilot.resume({} as never, media as never)
  const hearing = async () => {
    asked.length = 0
    await copilot.tick()
    return (await world.test(`GET ${path}`)).body
  }
  const unasked = await hearing()
  assert.equal([unasked.hearing, asked], ['none', []])
  assert.match(unasked.hearing_reason, /has not given the consent/)
  const evidence = { type: 'form', url: 'https://example.com/consent' }
  const consent = await world.test('POST /v1/consents', { phone, purpose: 'record', evidence })
  assert.is(consent.status, 201, consent.text)
  const given = await hearing()
  assert.equal([given.hearing, given.hearing_reason, asked], ['running', null, ['transcript.start']])
  await world.test(`POST /v1/consents/${consent.body.id}/revoke`)
  assert.equal([(await hearing()).hearing, asked], ['none', ['transcript.stop']])
})

test('what is heard is dealt with once, also by a process that finds it after another one died', async () => {
  const { id, legId } = await begin()
  const feed = new Feed()
  const { store, clock } = world
  const copilot = () =>
    new Copilot({
      store,
      now: clock.now,
      log: { warn() {}, error() {} } as never,
      feed,
      search: passageSearch(store.engine),
      vault: VAULT,
    })
  const words = {
    transcriptId: id,
    legId,
    utteranceId: 'u1',
    text: 'Thank you for calling',
    isFinal: true,
    beganAgoMs: 1500,
    endedAgoMs: 300,
  }
  const at = clock.now().toISOString()
  await store.transaction(trx => copilot().on(trx, { name: 'transcript.words', at, body: words }))
  assert.is((await store.db.selectFrom('copilot_inputs').selectAll().execute()).length, 1)
  const next = copilot()
  await Promise.all([next.deal(id), copilot().deal(id), next.deal(id)])
  assert.is((await store.db.selectFrom('copilot_inputs').selectAll().execute()).length, 0)
  const messages = await store.db.selectFrom('copilot_messages').select(['seq', 'type']).orderBy('seq').execute()
  assert.equal(
    messages.map(({ type }) => type),
    ['stage', 'transcript', 'checklist'],
  )
})

for (const setMs of [-3_600_000, 3_600_000]) {
  test(`silence and latency are told by a clock that no operator sets: the other is set by ${setMs / 3_600_000} h`, async () => {
    const { id, legId: agent, path } = await begin()
    const { store, clock } = world
    const scoped = forTenant(store.db, tenant())
    const customer = 'part_01k9000000000000000000000z'
    await scoped.insert('participants', { ...(await scoped.find('participants', agent)), id: customer } as never)
    const log = { warn() {}, error() {} } as never
    const parts = { store, now: clock.now, log, feed: new Feed(), search: passageSearch(store.engine), vault: VAULT }
    const copilot = new Copilot(parts)
    const hear = async (legId: string, text: string, beganAgoMs: number) => {
      const body = { transcriptId: id, legId, utteranceId: text, text, isFinal: true, beganAgoMs, endedAgoMs: 1000 }
      const event = { name: 'transcript.words', at: clock.now().toISOString(), body } as const
      await store.transaction(trx => copilot.on(trx, event))
      await copilot.deal(id)
    }
    const told = async (type: string) => {
      const { data } = (await world.test(`GET ${path}/messages?limit=100`)).body
      return data.find((message: { type: string }) => message.type === type)
    }
    clock.advance(10_000)
    clock.set(setMs)
    await hear(agent, 'Good morning', 4000)
    clock.advance(8000)
    await hear(customer, 'Hello there', 3000)
    const line = await told('transcript')
    assert.equal([line.data.start_ms, line.data.end_ms, line.latency_ms], [15_000, 17_000, 1000])
    clock.advance(11_000)
    clock.set(-2 * setMs)
    await copilot.tick()
    const { figures } = (await world.test(`POST ${path}/checklist/greet`, { done: true })).body
    assert.is(figures.silence_seconds, 12)
    clock.advance(9000)
    await copilot.tick()
    assert.is((await told('nudge')).data.kind, 'silence')
  })
}

test('a session ends with its agent, with a summary and an event', async () => {
  const { id, legId, path } = await begin()
  await say(id, ['customer', 'My name is Ann Smith'])
  const { store, clock } = world
  const copilot = new Copilot({
    store,
    now: clock.now,
    log: { warn() {}, error() {} } as never,
    feed: new Feed(),
    search: passageSearch(store.engine),
    vault: VAULT,
  })
  await store.transaction(trx => setLeg(trx, tenant(), legId, { step: 'ended', left_at: clock.now().toISOString() }))
  await copilot.tick()
  assert.is((await world.test(`GET ${path}`)).body.status, 'ended')
  const [last] = (await world.test(`GET ${path}/messages`)).body.data
  assert.equal([last.type, last.data.fields[0].value], ['summary', 'Ann Smith'])
  assert.is((await events('copilot.session.ended')).length, 1)
  assert.is((await world.test(`POST ${path}/checklist/greet`, { done: true })).status, 409)
})

test('what a copilot has heard goes with the transcripts of its organisation, and with its call', async () => {
  const { id, callId, legId, path } = await begin()
  await say(id, ['customer', 'My name is Ann Smith, I want to cancel my contract'])
  const { store, clock } = world
  await store.transaction(trx => setLeg(trx, tenant(), legId, { step: 'ended', left_at: clock.now().toISOString() }))
  const parts = {
    store,
    now: clock.now,
    log: { warn() {}, error() {} } as never,
    search: passageSearch(store.engine),
    vault: VAULT,
  }
  await new Copilot({ ...parts, feed: new Feed() }).tick()
  await world.live('PATCH /v1/organisation', { retention: { transcripts_days: 1 } })
  const at = (days: number) => () => new Date(clock.now().getTime() + days * 86_400_000)
  const run = (days: number) => new RetentionDuty({ store, dataDir: '/nowhere', now: at(days), log: silent }).run()
  await run(0.5)
  assert.match((await world.test(`GET ${path}/messages`)).text, /Ann Smith/)
  await run(2)
  assert.equal((await world.test(`GET ${path}/messages`)).body.data, [])
  assert.not.match((await world.test(`GET ${path}`)).text, /Ann Smith/)
  assert.equal(await events('copilot.alert'), [])
  const ended = { ended_at: clock.now().toISOString() }
  await forTenant(store.db, tenant()).update('calls').set(ended).where('id', '=', callId).execute()
  assert.is((await world.test(`DELETE /v1/calls/${callId}`)).status, 200)
  assert.is((await world.test(`GET ${path}`)).status, 404)
})

const SCRIPT = {
  nodes: [
    { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'hello' }] },
    {
      key: 'hello',
      type: 'step',
      label: 'Hello',
      script: 'Good morning, how may I help?',
      transitions: [
        { key: 'bill', condition: { kind: 'match', phrases: ['my bill'] }, next: 'bill' },
        { condition: { kind: 'else' }, next: 'bye' },
      ],
    },
    {
      key: 'bill',
      type: 'step',
      label: 'Bill',
      script: 'Which month is it about?',
      transitions: [{ condition: { kind: 'always' }, next: 'bye' }],
    },
    { key: 'bye', type: 'end', script: 'Goodbye.' },
  ],
}

test('a script is moved by what the customer says and by click, and back', async () => {
  const flow = (await world.test('POST /v1/flows', { name: 'Script', kind: 'agent_script', graph: SCRIPT })).body
  const published = await world.test(`POST /v1/flows/${flow.id}/publish`, {})
  assert.is(published.status, 200, published.text)
  const { id, path } = await begin({ ...PROFILE, script: { flow_id: flow.id, version: 'published' } })
  const node = async () => (await world.test(`GET ${path}`)).body.script.node_key
  assert.is(await node(), 'hello')
  await say(id, ['customer', 'Good morning to you'])
  assert.is(await node(), 'hello')
  await say(id, ['customer', 'It is about my bill'])
  assert.is(await node(), 'bill')
  await world.test(`POST ${path}/script/next`, { back: true })
  assert.is(await node(), 'hello')
  await world.test(`POST ${path}/script/next`, { choice: 'bill' })
  await world.test(`POST ${path}/script/next`)
  assert.is(await node(), null)
  assert.is((await world.test(`GET ${path}`)).body.stage, null)
})

test('a session keeps its script as it was when it began: by the number that the profile names, or the published one', async () => {
  const flow = (await world.test('POST /v1/flows', { name: 'Script', kind: 'agent_script', graph: SCRIPT })).body
  const publish = () => world.test(`POST /v1/flows/${flow.id}/publish`, {})
  await publish()
  const running = await begin({ ...PROFILE, script: { flow_id: flow.id, version: 'published' } })
  const graph = JSON.parse(JSON.stringify(SCRIPT).replace('my bill', 'my parcel'))
  const { draft_rev } = (await world.test(`GET /v1/flows/${flow.id}`)).body
  const written = await world.test(`PUT /v1/flows/${flow.id}/draft`, {
    base_rev: draft_rev,
    graph,
  })
  assert.is(written.status, 200, written.text)
  assert.is((await publish()).status, 200)
  const script = async (path: string) => (await world.test(`GET ${path}`)).body.script
  await say(running.id, ['customer', 'It is about my bill'])
  assert.equal([(await script(running.path)).version, (await script(running.path)).node_key], [1, 'bill'])
  const pinned = await begin({ ...PROFILE, script: { flow_id: flow.id, version: 1 } })
  const newest = await begin({ ...PROFILE, script: { flow_id: flow.id, version: 'published' } })
  assert.equal([(await script(pinned.path)).version, (await script(newest.path)).version], [1, 2])
})

test.run()
