import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { callOf, type LiveWorld, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'

const test = suite('control/do-not-call/by-word')

const CALLER = '+15557654321'

/** A caller who has been greeted by an assistant. */
async function greeted(settings: object = {}) {
  const world = await makeLiveWorld({})
  const id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', ...settings })
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
  world.media.dialIn('part_1', '3000', CALLER)
  const callId = await callOf(world, 'part_1')
  await until(() => spoken(world).length === 1)
  return { world, callId }
}

const spoken = ({ media }: LiveWorld): string[] =>
  media.sent('leg.play').flatMap(({ sources }) => sources.map(source => ('text' in source ? source.text : source.kind)))

const listed = async (world: LiveWorld) => (await world.ask('GET /v1/do_not_call')).body.data

test('"do not call me again" to an assistant: the caller is on the do-not-call list, by this call, and hears so', async () => {
  const { world, callId } = await greeted()
  for (const purpose of ['call', 'marketing', 'record']) {
    await world.make('/consents', { phone: CALLER, purpose, evidence: { type: 'form', text: 'agreed' } })
  }
  world.media.utter('part_1', 'Please do not call me again.')
  await until(() => spoken(world).length === 2)
  assert.is(spoken(world)[1], 'You will not be called again.')
  const [entry, ...others] = await listed(world)
  assert.equal([entry.phone, entry.source, entry.call_id, others.length], [CALLER, 'call', callId, 0])
  const { data } = (await world.ask('GET /v1/consents')).body
  assert.equal(
    new Map(data.map((consent: Record<string, string>) => [consent.purpose, consent.status])),
    new Map([
      ['record', 'active'],
      ['marketing', 'revoked'],
      ['call', 'revoked'],
    ]),
  )
  const types = (await world.ask('GET /v1/events?limit=100')).body.data.map(({ type }: { type: string }) => type)
  assert.is(types.filter((type: string) => type === 'consent.revoked').length, 2)
  assert.is(types.filter((type: string) => type === 'do_not_call_number.created').length, 1)
  // Nobody calls that number any more, whoever asks for it.
  const refused = await world.ask('POST /v1/callbacks', { phone: CALLER })
  assert.equal([refused.status, refused.body.error.code], [403, 'do_not_call'])
  await world.close()
})

test('it is asked for once, and said twice; what only sounds like it lists nobody', async () => {
  const { world } = await greeted()
  world.media.utter('part_1', 'Do not call me before five.')
  await until(() => spoken(world).length === 2)
  assert.equal(await listed(world), [])
  for (const said of [3, 4]) {
    world.media.utter('part_1', 'Stop calling me!')
    await until(() => spoken(world).length === said)
  }
  assert.is((await listed(world)).length, 1)
  await world.close()
})

test('an assistant of another language understands and answers in that', async () => {
  const { world } = await greeted({ language: 'de', greeting: 'Guten Tag.' })
  world.media.utter('part_1', 'Rufen Sie mich nicht mehr an.')
  await until(() => spoken(world).length === 2)
  assert.is(spoken(world)[1], 'Wir rufen Sie nicht mehr an.')
  assert.is((await listed(world)).length, 1)
  await world.close()
})

test.run()
