import * as assert from 'uvu/assert'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/copilot/copilot-profiles')

const STAGE = { key: 'open', label: 'Opening', checklist: [{ key: 'name', label: 'Ask for the name', required: true }] }

test('a profile needs a name; every other field has a default, in list items too', async () => {
  const { live, close } = await makeWholeApp()
  const made = await live('POST /v1/copilot_profiles', { name: 'Sales', language: 'he', stages: [STAGE] })
  assert.is(made.status, 201)
  assert.match(made.body.id, /^cop_/)
  assert.equal([made.body.version, made.body.template_id, made.body.language], [1, null, 'he'])
  assert.equal(made.body.stages, [
    {
      key: 'open',
      label: 'Opening',
      goal: '',
      checklist: [{ key: 'name', label: 'Ask for the name', ask: '', phrases: [], required: true }],
    },
  ])
  assert.equal(Object.keys(made.body), [
    'id',
    'object',
    'livemode',
    'name',
    'version',
    'template_id',
    'goal',
    'tone',
    'company',
    'product',
    'language',
    'stages',
    'objections',
    'fields',
    'alerts',
    'qa_rubric',
    'kb',
    'compliance',
    'coaching',
    'script',
    'model',
    'created',
    'updated',
  ])
  assert.equal((await live(`GET /v1/copilot_profiles/${made.body.id}`)).body, made.body)
  assert.equal((await live('GET /v1/copilot_profiles')).body.data, [made.body])
  assert.equal(refusal(await live('POST /v1/copilot_profiles', {})), [400, 'name', undefined])
  await close()
})

test('PATCH updates the fields sent: nested objects merge, lists replace, and the version goes up on every change', async () => {
  const { live, clock, close } = await makeWholeApp()
  const made = (await live('POST /v1/copilot_profiles', { name: 'Sales', stages: [STAGE] })).body
  clock.advance(1000)
  const path = `/v1/copilot_profiles/${made.id}`
  const change = {
    coaching: { wpm_max: 200 },
    model: { speculative: true, temperature: 1 },
    compliance: { forbidden_phrases: [{ phrase: 'guaranteed' }] },
    stages: [],
  }
  const second = (await live(`PATCH ${path}`, change)).body
  assert.equal(second, {
    ...made,
    version: 2,
    stages: [],
    coaching: { ...made.coaching, wpm_max: 200 },
    model: { ...made.model, speculative: true, temperature: 1 },
    compliance: {
      required_disclosures: [],
      forbidden_phrases: [{ phrase: 'guaranteed', instead: '', reason: '', severity: 'warning' }],
    },
    updated: '2026-11-21T10:00:01.000Z',
  })
  assert.is((await live(`PATCH ${path}`, { name: 'Service' })).body.version, 3)
  assert.is((await live(`PATCH ${path}`, { name: 'Service' })).body.version, 3, 'the same again is no change')
  assert.is((await live(`PATCH ${path}`, {})).body.version, 3)
  assert.is((await live('PATCH /v1/copilot_profiles/cop_none', {})).status, 404)
  await close()
})

/** As many as one list may have; fifty of these are all that a profile may. */
const MANY = Array.from({ length: 200 }, (_, i) => `example ${i}`)

test('a value out of its bounds, an unknown field and a key that is there twice answer 400 with the path', async () => {
  const { live, close } = await makeWholeApp()
  const { id } = (await live('POST /v1/copilot_profiles', { name: 'Sales' })).body
  for (const [body, param] of [
    [{ version: 7 }, 'version'],
    [{ stages: [{ ...STAGE, colour: 'red' }] }, 'stages[0].colour'],
    [{ stages: [STAGE, STAGE] }, 'stages[1].key'],
    [{ stages: [{ ...STAGE, checklist: [STAGE.checklist[0], STAGE.checklist[0]] }] }, 'stages[0].checklist[1].key'],
    [{ stages: [{ key: 'open' }] }, 'stages[0].label'],
    [{ kb: { min_score: 1.1 } }, 'kb.min_score'],
    [{ kb: { document_ids: ['kbd_none'] } }, 'kb.document_ids[0]'],
    [{ kb: { links: [{ label: 'x', url: 'javascript:1' }] } }, 'kb.links[0].url'],
    [{ coaching: { talk_ratio_max: -0.1 } }, 'coaching.talk_ratio_max'],
    [{ coaching: { wpm_min: 300 } }, 'coaching.wpm_min'],
    [{ script: { flow_id: 'flow_none' } }, 'script.flow_id'],
    [{ model: { api: 'soap' } }, 'model.api'],
    [{ model: { temperature: '1' } }, 'model.temperature'],
    [{ language: 'Hebrew please' }, 'language'],
    [
      { objections: Array.from({ length: 51 }, (_, i) => ({ key: `o${i}`, label: 'O', examples: MANY })) },
      'objections',
    ],
    [{ alerts: [{ key: 'a', label: 'A', kind: 'weather' }] }, 'alerts[0].kind'],
  ] as const) {
    assert.equal(refusal(await live(`PATCH /v1/copilot_profiles/${id}`, body)), [400, param, undefined])
  }
  assert.is((await live(`GET /v1/copilot_profiles/${id}`)).body.version, 1)
  await close()
})

test('a duplicate is a profile of its own, named with "(copy)" unless it is given a name', async () => {
  const { live, store, close } = await makeWholeApp()
  const made = (await live('POST /v1/copilot_profiles', { name: 'Sales', goal: 'Sell', stages: [STAGE] })).body
  await store.db.updateTable('copilot_profiles').set({ template_id: 'tpl_1', version: 4 }).execute()
  const path = `/v1/copilot_profiles/${made.id}/duplicate`
  const copy = await live(`POST ${path}`)
  assert.is(copy.status, 201)
  assert.not.equal(copy.body.id, made.id)
  assert.equal({ ...copy.body, id: made.id }, { ...made, name: 'Sales (copy)', template_id: 'tpl_1', version: 1 })
  assert.is((await live(`POST ${path}`, { name: 'Mine' })).body.name, 'Mine')
  await live(`PATCH /v1/copilot_profiles/${copy.body.id}`, { goal: 'Serve' })
  assert.is((await live(`GET /v1/copilot_profiles/${made.id}`)).body.goal, 'Sell')
  const long = (await live('POST /v1/copilot_profiles', { name: 'n'.repeat(200) })).body.id
  assert.is((await live(`POST /v1/copilot_profiles/${long}/duplicate`)).body.name.length, 200)
  assert.equal(refusal(await live(`POST ${path}`, { name: 7 })), [400, 'name', undefined])
  assert.is((await live('POST /v1/copilot_profiles/cop_none/duplicate')).status, 404)
  await close()
})

test('a profile that a queue uses is not deleted: 409 with the queue listed', async () => {
  const { live, close } = await makeWholeApp()
  const { id } = (await live('POST /v1/copilot_profiles', { name: 'Sales' })).body
  const queue = (await live('POST /v1/queues', { name: 'Support', copilot_profile_id: id })).body.id
  const refused = await live(`DELETE /v1/copilot_profiles/${id}`)
  assert.equal(refusal(refused), [409, null, 'in_use'])
  assert.equal(refused.body.error.details.used_by, [{ object: 'queue', id: queue, name: 'Support' }])
  await live(`PATCH /v1/queues/${queue}`, { copilot_profile_id: null })
  const gone = await live(`DELETE /v1/copilot_profiles/${id}`)
  assert.equal(gone.body, { object: 'copilot_profile', id, deleted: true, livemode: true })
  assert.is((await live(`DELETE /v1/copilot_profiles/${id}`)).status, 404)
  await close()
})

test('a profile and an assistant name documents of the knowledge base that are there', async () => {
  const { live, store, ours, close } = await makeWholeApp()
  const tables = forTenant(store.db, { organisationId: ours.organisationId, livemode: true })
  await tables.insert('kb_documents', {
    id: 'kbd_1',
    name: 'Prices',
    status: 'ready',
    error: null,
    size_bytes: 1,
    passage_count: 1,
    metadata: '{}',
    created: '2026-11-21T10:00:00.000Z',
  })
  const profile = await live('POST /v1/copilot_profiles', { name: 'Sales', kb: { document_ids: ['kbd_1'] } })
  assert.equal(profile.body.kb.document_ids, ['kbd_1'])
  const assistant = await live('POST /v1/assistants', { name: 'a', kb_document_ids: ['kbd_1'] })
  assert.equal(assistant.body.kb_document_ids, ['kbd_1'])
  // What is read can be written back, also once a document is gone.
  await live('DELETE /v1/kb/documents/kbd_1')
  for (const [path, body] of [
    [`copilot_profiles/${profile.body.id}`, (ids: string[]) => ({ kb: { document_ids: ids } })],
    [`assistants/${assistant.body.id}`, (ids: string[]) => ({ kb_document_ids: ids })],
  ] as const) {
    assert.is((await live(`PATCH /v1/${path}`, body(['kbd_1']))).status, 200)
    const refused = await live(`PATCH /v1/${path}`, body(['kbd_1', 'kbd_2']))
    assert.is(refused.status, 400)
    assert.match(refused.body.error.param, /document_ids\[1\]$/)
  }
  await close()
})

test.run()
