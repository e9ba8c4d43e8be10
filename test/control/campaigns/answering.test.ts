import * as assert from 'uvu/assert'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import type { Events } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { type CampaignWorld, MINUTE, makeCampaignWorld } from './campaign-world.ts'

const test = suite('control/campaigns/answering')
const [ANN, BOB, CYD, DAN] = ['+14155550101', '+14155550102', '+14155550103', '+14155550104']

type Answer = Omit<Events['leg.answered_by'], 'legId'>
const HUMAN: Answer = { answeredBy: 'human', cause: 'short_greeting', ms: 1200 }
const MACHINE: Answer = { answeredBy: 'machine', cause: 'long_greeting', ms: 2900 }
const FAX: Answer = { answeredBy: 'fax', cause: 'fax_tone', ms: 900 }
const UNKNOWN: Answer = { answeredBy: 'unknown', cause: 'no_voice', ms: 4000 }
const MESSAGE = { text: 'Please call us back.', language: 'en' }

/** Somebody answers, and it is found out who that is. */
async function answers({ world, leg }: CampaignWorld, phone: string, by: Answer): Promise<string> {
  const { legId } = leg(phone)!
  world.media.pickUp(legId)
  await world.settle()
  world.media.foundOut(legId, by)
  await world.settle()
  return legId
}

async function greetingEnds({ world }: CampaignWorld, legId: string, ended: 'beep' | 'silence' | 'timeout') {
  world.media.emit('leg.message_ended', { legId, ended, ms: 7000 })
  await world.settle()
}

const saidTo = ({ world }: CampaignWorld, legId: string) =>
  world.media.handled
    .filter(({ name, body }) => name === 'leg.play' && (body as { legId: string }).legId === legId)
    .map(({ body }) => body as { playId: string; sources: unknown[] })

const results = async ({ attempts }: CampaignWorld) =>
  (await attempts()).map(({ phone, answered_by, result }) => [phone, answered_by, result])

test('a person is connected; a machine, a fax and whoever is unknown are hung up where the campaign says so, and a machine is called again', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, ask, start, dial, later, end, leg, contact, dialled } = campaigns
  const id = await start([ANN, BOB, CYD, DAN], {
    answering_machine_detection: { on_machine: 'hang_up', on_unknown: 'hang_up' },
    retry_minutes: { machine: 30 },
  })
  await dial()
  await answers(campaigns, ANN, HUMAN)
  await answers(campaigns, BOB, MACHINE)
  await answers(campaigns, CYD, FAX)
  await answers(campaigns, DAN, UNKNOWN)
  assert.is((await contact(ANN)).status, 'connected')
  const gone = world.media.handled.flatMap(({ name, body }) => (name === 'leg.hangup' ? [body] : []))
  assert.equal(
    gone.map(body => (body as { reason: string }).reason),
    ['machine_detected', 'machine_detected', 'machine_detected'],
  )
  assert.equal([leg(BOB), leg(CYD), leg(DAN)], [undefined, undefined, undefined])
  await end(ANN, 'caller_hangup')
  assert.equal(await results(campaigns), [
    [ANN, 'human', 'answered'],
    [BOB, 'machine', 'machine'],
    [CYD, 'fax', 'fax'],
    [DAN, 'unknown', 'machine'],
  ])
  const statuses = await Promise.all([ANN, BOB, CYD, DAN].map(async phone => (await contact(phone)).status))
  assert.equal(statuses, ['completed', 'pending', 'failed', 'pending'])
  const stats = await ask(`GET /v1/campaigns/${id}/stats`)
  assert.equal([stats.attempts.total.machine, stats.attempts.total.fax, stats.answer_rate], [2, 1, 0.25])
  await later(30 * MINUTE)
  assert.equal(dialled().toSorted(), [ANN, BOB, BOB, CYD, DAN, DAN])
  const call = (await campaigns.attempts())[1]?.call_id
  const told = (await ask(`GET /v1/calls/${call}/events`)).data.map((event: { type: string }) => event.type)
  assert.equal(told.toSorted(), ['call.answered', 'call.answered_by', 'call.created', 'call.ended'])
  assert.equal((await ask(`GET /v1/campaigns/${id}/attempts?result=fax`)).data[0].answered_by, 'fax')
  await campaigns.close()
})

test('a message is left behind the end of a machine’s greeting, whatever has ended it, and its contact is done; nobody hears a recording notice', async () => {
  for (const ended of ['beep', 'silence', 'timeout'] as const) {
    const campaigns = await makeCampaignWorld()
    const { world, ask, start, dial, contact } = campaigns
    await ask('PATCH /v1/organisation', { record: true, recording_announcement: 'This call is recorded.' })
    const id = await start([ANN], {
      answering_machine_detection: { on_machine: 'leave_message', message: MESSAGE },
    })
    await dial()
    const legId = await answers(campaigns, ANN, MACHINE)
    assert.equal(saidTo(campaigns, legId), [])
    await greetingEnds(campaigns, legId, ended)
    const [said, ...more] = saidTo(campaigns, legId)
    assert.equal(more, [])
    assert.equal(said?.sources, [{ kind: 'speech', text: MESSAGE.text, voice: null, language: 'en' }])
    assert.is(world.media.handled.filter(({ name }) => name === 'leg.collect').length, 0)
    world.media.heard(legId, said!.playId)
    await world.settle()
    assert.equal([(await contact(ANN)).status, (await contact(ANN)).last_result], ['completed', 'voicemail_left'])
    assert.equal(await results(campaigns), [[ANN, 'machine', 'voicemail_left']])
    const csv = (await campaigns.answer(`GET /v1/campaigns/${id}/results`)).text
    assert.match(csv, /voicemail_left/)
    await campaigns.close()
  }
})

test('a machine that hangs up before or in the message, or that nothing can be said to, has none', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, end, attempts } = campaigns
  const settings = { on_machine: 'leave_message', on_unknown: 'leave_message', message: MESSAGE }
  await start([ANN, BOB, CYD], { answering_machine_detection: settings, max_attempts: 1 })
  await dial()
  await answers(campaigns, ANN, MACHINE)
  await end(ANN, 'caller_hangup')
  const bob = await answers(campaigns, BOB, UNKNOWN)
  await greetingEnds(campaigns, bob, 'silence')
  assert.is(saidTo(campaigns, bob).length, 1)
  await end(BOB, 'caller_hangup')
  const cyd = await answers(campaigns, CYD, MACHINE)
  await greetingEnds(campaigns, cyd, 'beep')
  world.media.emit('play.finished', {
    legId: cyd,
    playId: saidTo(campaigns, cyd)[0]!.playId,
    ended: 'failed',
    heardMs: 0,
  })
  await world.settle()
  assert.equal(
    (await attempts()).map(({ result }) => result),
    ['machine', 'machine', 'machine'],
  )
  await campaigns.close()
})

test('who hangs up before it is known who that is has talked with nobody', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, end, leg } = campaigns
  await start([ANN], { answering_machine_detection: {}, max_attempts: 1 })
  await dial()
  world.media.pickUp(leg(ANN)!.legId)
  await world.settle()
  await end(ANN, 'caller_hangup')
  assert.equal(await results(campaigns), [[ANN, null, 'abandoned']])
  await campaigns.close()
})

test('an agent gets persons alone: while a machine hears its message another contact is called for the agent, and it is neither answered nor abandoned', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, ask, start, dial, dialled, end, contact } = campaigns
  const ann = await world.addAgent('ann')
  const node = nodeOf(world.store.db)
  const page = { id: 'page', user_id: ann, node, origin: null, device: null, connected_at: '2026-11-21T10:00:00.000Z' }
  await forTenant(world.store.db, world.tenant).insert('browser_sessions', page)
  const queue_id = await world.addQueue({ member_user_ids: [ann], wrap_up_seconds: 0 })
  await world.setStatus(ann, 'available')
  const id = await start([ANN, BOB], {
    queue_id,
    answering_machine_detection: { on_machine: 'leave_message', message: MESSAGE },
  })
  await dial()
  assert.equal(dialled(), [ANN])
  const legId = await answers(campaigns, ANN, MACHINE)
  await greetingEnds(campaigns, legId, 'beep')
  assert.equal(world.ringing(ann), [])
  await dial()
  assert.equal(dialled(), [ANN, BOB])
  world.media.heard(legId, saidTo(campaigns, legId)[0]!.playId)
  await world.settle()
  await answers(campaigns, BOB, HUMAN)
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  await end(BOB, 'caller_hangup')
  assert.is((await contact(BOB)).last_result, 'answered')
  const stats = await ask(`GET /v1/campaigns/${id}/stats`)
  assert.equal([stats.answer_rate, stats.abandoned_rate], [0.5, 0])
  await campaigns.close()
})

test('control that dies at any command leaves no message twice, and decides each contact once', async () => {
  const campaigns = await makeCampaignWorld()
  const { world, start, dial, later } = campaigns
  for (let commands = 0.5; commands <= 2.5; commands += 0.5) {
    const phone = `+1415555${commands * 10}00`.padEnd(12, '0')
    await start([phone], { answering_machine_detection: { on_machine: 'leave_message', message: MESSAGE } })
    await dial()
    const legId = await answers(campaigns, phone, MACHINE)
    world.killAfter(commands)
    await greetingEnds(campaigns, legId, 'beep')
    await later(1000)
    const accepted = campaigns.leg(phone)
    assert.is(accepted?.playId, 'messaging', `killed after ${commands}`)
    world.media.heard(legId, 'messaging')
    await world.settle()
    await later(1000)
    assert.is((await campaigns.contact(phone)).last_result, 'voicemail_left', `killed after ${commands}`)
    assert.is(saidTo(campaigns, legId).length, 1, `killed after ${commands}`)
  }
  const finished = (await world.events()).filter(({ type }) => type === 'campaign.contact.finished')
  assert.is(finished.length, 5)
  await campaigns.close()
})

test('what would have no effect, or cannot be done, is refused', async () => {
  const campaigns = await makeCampaignWorld()
  const { answer, ask } = campaigns
  const param = 'answering_machine_detection'
  for (const [wrong, at] of [
    [{ on_machine: 'leave_message' }, `${param}.message`],
    [{ message: MESSAGE }, `${param}.message`],
    [{ on_machine: 'leave_message', message: MESSAGE, mode: 'detect' }, `${param}.mode`],
    [
      { on_machine: 'leave_message', message: { ...MESSAGE, audio_asset_id: 'aud_1' } },
      `${param}.message.audio_asset_id`,
    ],
    [{ on_machine: 'leave_message', message: { audio_asset_id: 'aud_1' } }, `${param}.message.audio_asset_id`],
    [{ hold_until_detected: false }, `${param}.hold_until_detected`],
    [{ on_fax: 'connect' }, `${param}.on_fax`],
  ] as const) {
    const refused = await answer('POST /v1/campaigns', { name: 'X', [param]: wrong })
    assert.equal([refused.status, refused.body.error?.param], [400, at], refused.text)
  }
  const { id } = await ask('POST /v1/campaigns', { name: 'X', [param]: { on_unknown: 'hang_up' } })
  const changed = await ask(`PATCH /v1/campaigns/${id}`, { [param]: { on_machine: 'leave_message', message: MESSAGE } })
  assert.equal([changed[param].on_unknown, changed[param].message.text], ['hang_up', MESSAGE.text])
  assert.is((await ask(`PATCH /v1/campaigns/${id}`, { [param]: null }))[param], null)
  await campaigns.close()
})

test.run()
