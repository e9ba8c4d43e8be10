import { setImmediate as turn } from 'node:timers/promises'
import type { PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely'
import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { idsFor, type Maker, makerOf, makeTrunk } from './objects.ts'
import { makeProduct } from './product.ts'
import { lineOf } from './requests.ts'

const test = suite('control/conformance/patches')
const world = await makeProduct()
const slowReads = { transformQuery: ({ node }: PluginTransformQueryArgs) => node, transformResult }

/** What is read outside of a transaction has grown old when it arrives: another request has read the same by then. */
async function transformResult({ result }: PluginTransformResultArgs) {
  await turn()
  return result
}
Object.assign(world.store, { db: world.store.db.withPlugin(slowReads) })
const patches = world.routes.filter(route => route.method === 'PATCH')

type Json = Record<string, unknown>

/** Two changes of each object that have nothing to do with each other, inside one nested object where there is one. */
const CHANGES: Record<string, (maker: Maker) => Promise<[Json, Json]> | [Json, Json]> = {
  correctCallSummary: () => [{ reason: 'An invoice.' }, { outcome: 'A refund.' }],
  updateAssistant: () => [{ model: { temperature: 0.5 } }, { greeting: 'Hello' }],
  updateAudioAsset: () => [{ name: 'Closed' }, { text: 'We are closed.' }],
  updateCallParticipant: () => [{ audio: { auto_gain: true } }, { audio: { gain_db: 6 } }],
  updateCallback: () => [{ metadata: { order: '7' } }, { metadata: { site: 'Haifa' } }],
  updateCampaign: () => [{ caps: { per_day: 100 } }, { caps: { per_number_per_week: 5 } }],
  updateConferenceParticipant: () => [{ role: 'moderator' }, { muted: true }],
  updateConferenceRoom: () => [{ settings: { record: true } }, { settings: { announce: false } }],
  updateConnection: () => [{ max_calls: 5 }, { name: 'Second' }],
  updateCopilotProfile: () => [{ coaching: { wpm_max: 190 } }, { coaching: { wpm_min: 90 } }],
  updateFlow: () => [{ record: true }, { transcribe: true }],
  updateInboundRoute: () => [{ priority: 3 }, { match: { from: '+14155550123' } }],
  updateOrganisation: () => [{ pci: { mask_dtmf: false } }, { pci: { max_seconds: 60 } }],
  updatePartnerOrganisation: () => [{ limits: { concurrent_calls: 5 } }, { limits: { requests_per_second: 7 } }],
  updatePhoneNumber: async maker => [{ connection_id: (await makeTrunk(maker)).id }, { payment_line: true }],
  updateQaEvaluation: () => [{ review: 'done' }, {}],
  updateQueue: () => [{ overflow: { action: 'voicemail' } }, { overflow: { when_no_agents: true } }],
  updateReport: () => [{ name: 'Weekly' }, { recipients: ['bob@example.com'] }],
  updateSecret: () => [{ metadata: { a: '1' } }, { description: 'Of the shop.' }],
  updateTool: () => [{ http: { retries: 2 } }, { http: { method: 'PUT' } }],
  updateSite: () => [{ fields: { name: 'required' } }, { fields: { message: 'hidden' } }],
  updateTeam: () => [{ name: 'Sales' }, {}],
  updateUser: () => [{ name: 'Ann' }, { extension: '4711' }],
  updateWebhookEndpoint: () => [{ metadata: { a: '1' } }, { metadata: { b: '2' } }],
}

/** Whether every value of `part` stands in `whole`. */
const holds = (whole: unknown, part: unknown): boolean =>
  typeof part === 'object' && part !== null && !Array.isArray(part)
    ? Object.entries(part).every(([name, value]) => holds((whole as Json | null)?.[name], value))
    : JSON.stringify(whole) === JSON.stringify(part)

test('every operation that changes an object is in the table of two changes at once', () => {
  assert.equal(patches.map(route => route.id).sort(), Object.keys(CHANGES).sort())
})

for (const route of patches) {
  test(`of two PATCHes at once neither is lost: ${route.path}`, async () => {
    const maker = makerOf(world)
    const ids = await idsFor(route.path, maker, route.method)
    const line = lineOf(route, ids)
    const changes = await CHANGES[route.id]!(maker)
    const key = world.ours.keys.live
    const answers = await Promise.all(changes.map(body => world.ask(line, { key, body })))
    assert.equal(
      answers.map(({ status }) => status),
      [200, 200],
      answers.map(({ text }) => text).join(),
    )
    // A PATCH of nothing reads.
    const { body } = await world.ask(line, { key, body: {} })
    for (const change of changes) assert.ok(holds(body, change), `${JSON.stringify(change)} in ${JSON.stringify(body)}`)
  })
}

for (const route of patches.filter(({ body }) => 'metadata' in ((body as { properties?: object })?.properties ?? {}))) {
  test(`of metadata null removes a pair, and the others stay: ${route.path}`, async () => {
    const maker = makerOf(world)
    const line = lineOf(route, await idsFor(route.path, maker, route.method))
    const patch = async (metadata: object) =>
      (await world.ask(line, { key: world.ours.keys.live, body: { metadata } })).body
    const all = Object.fromEntries(Array.from({ length: 48 }, (_, i) => [`k${i}`, '']))
    const before = (await patch({})).metadata
    assert.equal((await patch({ a: '1', ...all })).metadata, { ...before, a: '1', ...all })
    const none = Object.fromEntries(Object.keys(all).map(key => [key, null]))
    assert.equal((await patch({ ...none, b: '2' })).metadata, { ...before, a: '1', b: '2' })
    assert.equal((await patch({ a: null, b: null, never: null })).metadata, before)
  })
}

test.after(world.close)
test.run()
