import * as assert from 'uvu/assert'
import { buildDialler } from '../../../control/wiring/background.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { type LiveWorld, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { EAGER } from '../campaigns/campaign-world.ts'

const test = suite('control/do-not-call/whole-way')

const ANN = '+14155550101'
const EVIDENCE = { type: 'form', url: 'https://example.com/terms' }

interface Campaigns {
  world: LiveWorld
  /** A running campaign of an assistant to this number. */
  start(phone: string, settings?: object): Promise<string>
  /** What is due is dialled. */
  dial(): Promise<void>
  dialled(): number
  contact(campaignId: string): Promise<{ status: string; last_result: string | null }>
}

async function makeCampaigns(organisation: object = {}): Promise<Campaigns> {
  const world = await makeLiveWorld({})
  await world.make('/connections', { name: 'Trunk', kind: 'trunk', host: '93.184.216.34' })
  const assistant_id = await world.make('/assistants', { name: 'Caller', greeting: 'Hello.' })
  await world.ask('PATCH /v1/organisation', organisation)
  const dialler = buildDialler({ store: world.store, now: world.clock.now, log: silent })
  return {
    world,
    start: async (phone, settings = {}) => {
      const id = await world.make('/campaigns', { name: 'Reminders', assistant_id, ...EAGER, ...settings })
      await world.ask(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone }] })
      await world.ask(`POST /v1/campaigns/${id}/start`)
      return id
    },
    dial: async () => {
      await dialler.run({ state: 'ready', isDraining: false })
      await world.store.followUps.idle()
    },
    dialled: () => world.media.sent('leg.dial').length,
    contact: async id => (await world.ask(`GET /v1/campaigns/${id}/contacts`)).body.data[0],
  }
}

/** The first one who was dialled has answered and is greeted: the leg and the call. */
async function answered({ media }: LiveWorld) {
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await until(() => media.sent('leg.play').length > 0 && media.sent('leg.listen').length > 0)
  return { legId, callId: media.legs.get(legId)!.roomId! }
}

const statuses = async ({ ask }: LiveWorld): Promise<string[]> =>
  (await ask('GET /v1/consents')).body.data
    .map(({ purpose, status }: Record<string, string>) => `${purpose} ${status}`)
    .sort()

test('a revocation spoken in a call of a campaign stops the next dial: of this campaign, and of another', async () => {
  const campaigns = await makeCampaigns({ require_consent: ['call'] })
  const { world, start, dial, dialled, contact } = campaigns
  await world.make('/consents', { phone: ANN, purpose: 'call', evidence: EVIDENCE })
  const first = await start(ANN, { max_attempts: 3 })
  await dial()
  const { legId } = await answered(world)
  world.media.utter(legId, 'Please do not call me again.')
  await until(() => world.media.sent('leg.play').length > 1)
  world.media.hangUp(legId)
  await world.media.committed()
  const second = await start(ANN)
  world.clock.advance(24 * 60 * 60_000)
  await dial()
  assert.is(dialled(), 1)
  assert.equal([(await contact(second)).status, (await contact(second)).last_result], ['excluded', 'do_not_call'])
  assert.is.not((await contact(first)).status, 'pending')
  // Off the list again there is still no consent.
  const [{ id }] = (await world.ask('GET /v1/do_not_call')).body.data
  await world.ask(`DELETE /v1/do_not_call/${id}`)
  const third = await start(ANN)
  await dial()
  assert.equal([dialled(), (await contact(third)).last_result], [1, 'no_consent'])
  await world.close()
})

test('"do not record me", said to an assistant, revokes the consent by this call and ends its recording and transcript; the call goes on', async () => {
  const campaigns = await makeCampaigns({ require_consent: ['record'], record: true, transcribe: true })
  const { world, start, dial } = campaigns
  for (const purpose of ['call', 'record']) await world.make('/consents', { phone: ANN, purpose, evidence: EVIDENCE })
  await start(ANN)
  await dial()
  const { legId, callId } = await answered(world)
  const { media } = world
  world.media.utter(legId, 'Do not record my album before May.')
  await until(() => media.sent('leg.play').length > 1)
  assert.equal(await statuses(world), ['call active', 'record active'], 'it only sounds like it')
  media.utter(legId, 'Please stop recording this call.')
  await until(() => media.sent('recording.stop').some(({ recordingId }) => recordingId === callId))
  await until(() => media.sent('transcript.stop').some(({ transcriptId }) => transcriptId === callId))
  assert.equal(await statuses(world), ['call active', 'record revoked'])
  const [{ revocation }] = (await world.ask('GET /v1/consents?purpose=record')).body.data
  assert.is(revocation.call_id, callId)
  assert.ok(media.legs.has(legId))
  assert.equal((await world.ask('GET /v1/do_not_call')).body.data, [], 'he may be called')
  await world.close()
})

test('who agreed by the key takes that back by words, where the organisation demands nothing; what needs no consent goes on', async () => {
  const { world, start, dial } = await makeCampaigns({ record: true })
  await start(ANN)
  await dial()
  const { legId, callId } = await answered(world)
  world.media.utter(legId, 'Stop recording!')
  await until(() => world.media.sent('leg.play').length > 1)
  await world.media.committed()
  assert.equal(world.media.sent('recording.stop'), [], 'nobody was asked')
  const row = await world.store.db.selectFrom('calls').select('capture').where('id', '=', callId).executeTakeFirst()
  const agreed = JSON.stringify({ ...JSON.parse(row!.capture!), asked: 'agreed' })
  await world.store.db.updateTable('calls').set({ capture: agreed }).where('id', '=', callId).execute()
  world.media.utter(legId, 'Stop recording!')
  await until(() => world.media.sent('recording.stop').some(({ recordingId }) => recordingId === callId))
  await world.close()
})

test.run()
