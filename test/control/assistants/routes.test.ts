import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/assistants/routes')

test('an assistant needs a name; every other field has a default', async () => {
  const { live, close } = await makeWholeApp()
  const made = await live('POST /v1/assistants', { name: 'Front desk', prompt: 'You answer the phone.' })
  assert.is(made.status, 201)
  assert.match(made.body.id, /^asst_/)
  assert.equal([made.body.object, made.body.livemode, made.body.prompt], ['assistant', true, 'You answer the phone.'])
  assert.equal(made.body.model, { model: 'default', fallback_model: null, temperature: 0.4, api: 'chat' })
  assert.equal((await live(`GET /v1/assistants/${made.body.id}`)).body, made.body)
  assert.equal(refusal(await live('POST /v1/assistants', {})), [400, 'name', undefined])
  await close()
})

test('GET /assistants lists assistants, newest first, page by page', async () => {
  const { live, test: inTest, close } = await makeWholeApp()
  for (const name of ['a', 'b', 'c']) await live('POST /v1/assistants', { name })
  await inTest('POST /v1/assistants', { name: 'other mode' })
  const names = (body: { data: { name: string }[] }) => body.data.map(item => item.name)
  const first = (await live('GET /v1/assistants?limit=2')).body
  assert.equal([first.object, first.url, first.has_more, names(first)], ['list', '/v1/assistants', true, ['c', 'b']])
  const second = (await live(`GET /v1/assistants?limit=2&starting_after=${first.next_cursor}`)).body
  assert.equal([second.has_more, second.next_cursor, names(second)], [false, null, ['a']])
  await close()
})

test('PATCH merges nested objects and replaces lists', async () => {
  const { live, close } = await makeWholeApp()
  const tool = { name: 'order', url: 'https://example.com/order' }
  const made = (await live('POST /v1/assistants', { name: 'a', tools: [tool], model: { temperature: 1 } })).body
  assert.equal(made.tools, [{ ...tool, description: '', parameters: {} }])
  const changed = await live(`PATCH /v1/assistants/${made.id}`, { model: { api: 'responses' }, tools: [], name: 'b' })
  assert.equal(changed.body, {
    ...made,
    name: 'b',
    model: { ...made.model, api: 'responses', temperature: 1 },
    tools: [],
  })
  assert.equal((await live(`PATCH /v1/assistants/${made.id}`, {})).body.model.api, 'responses')
  for (const [body, param] of [
    [{ model: { temperature: 2.1 } }, 'model.temperature'],
    [{ model: { api: 'soap' } }, 'model.api'],
    [{ turn: { silence_ms: 1 } }, 'turn.silence_ms'],
    [{ tools: [{ name: 'no url' }] }, 'tools[0].name'],
    [{ flow_id: 'flow_none' }, 'flow_id'],
    [{ kb_document_ids: ['kbd_none'] }, 'kb_document_ids[0]'],
    [{ mood: 'good' }, 'mood'],
  ] as const) {
    const [status, at] = refusal(await live(`PATCH /v1/assistants/${made.id}`, body))
    assert.is(status, 400)
    assert.ok(at === param || (param === 'tools[0].name' && at === 'tools[0].url'), `${param}: ${at}`)
  }
  await close()
})

test('two tools or hand-overs that the model would see under one name are refused with the place of the second', async () => {
  const { live, close } = await makeWholeApp()
  const tool = (name: string) => ({ name, url: 'https://93.184.216.34/' })
  const desk = { name: 'desk', target: { type: 'number', id: '+15550100100' } }
  for (const [param, body] of [
    ['tools[1].name', { tools: [tool('book'), tool('book')] }],
    ['tools[0].name', { tools: [tool('end_call')] }],
    ['hand_overs[1].name', { hand_overs: [desk, desk] }],
    ['hand_overs[0].name', { tools: [tool('transfer_to_desk')], hand_overs: [desk] }],
  ] as const) {
    const refused = await live('POST /v1/assistants', { name: 'Desk', ...body })
    assert.equal([refused.status, refused.body.error?.param], [400, param])
  }
  const { body: ending } = await live('POST /v1/tools', { kind: 'end_call', description: 'When all is said.' })
  const made = { name: 'Desk', tools: [tool('book')], hand_overs: [desk], tool_ids: [ending.id] }
  assert.is((await live('POST /v1/assistants', made)).status, 201)
  await close()
})

test('whom an assistant may give its calls to is looked up when it is written: 400 names who is not there', async () => {
  const { live, test: inTest, close } = await makeWholeApp()
  const queue = (await live('POST /v1/queues', { name: 'Help' })).body.id
  const room = (await live('POST /v1/conference_rooms', { name: 'Room' })).body.id
  const elsewhere = (await inTest('POST /v1/queues', { name: 'Help' })).body.id
  const { id } = (await live('POST /v1/assistants', { name: 'a' })).body
  const give = (...targets: [string, string][]) => {
    const hand_overs = targets.map(([type, of], index) => ({ name: `h${index}`, target: { type, id: of } }))
    return live(`PATCH /v1/assistants/${id}`, { hand_overs })
  }
  const there = await give(['queue', queue], ['room', room], ['assistant', id], ['number', '+15550100123'])
  assert.equal([there.status, there.body.hand_overs.length], [200, 4])
  for (const [type, of] of [
    ['queue', 'q_none'],
    ['queue', elsewhere],
    ['user', queue],
    ['flow', 'flow_none'],
    ['number', 'the desk'],
  ] as const) {
    assert.equal(refusal(await give(['queue', queue], [type, of])), [400, 'hand_overs[1].target.id', undefined], of)
  }
  await live(`PATCH /v1/conference_rooms/${room}`, { active: false })
  assert.equal(refusal(await give(['room', room])), [400, 'hand_overs[0].target.id', undefined])
  assert.is((await live(`PATCH /v1/assistants/${id}`, { name: 'b' })).status, 200, 'what was written before stays')
  await close()
})

test('an assistant that a queue uses is not deleted: 409 with the queue listed', async () => {
  const { live, close } = await makeWholeApp()
  const id = (await live('POST /v1/assistants', { name: 'a' })).body.id
  const overflow = { action: 'assistant', assistant_id: id }
  const queue = (await live('POST /v1/queues', { name: 'Support', overflow })).body.id
  const refused = await live(`DELETE /v1/assistants/${id}`)
  assert.equal(refusal(refused), [409, null, 'in_use'])
  assert.equal(refused.body.error.details.used_by, [{ object: 'queue', id: queue, name: 'Support' }])
  await live(`PATCH /v1/queues/${queue}`, { overflow: { action: 'busy', assistant_id: null } })
  const gone = await live(`DELETE /v1/assistants/${id}`)
  assert.equal(gone.body, { object: 'assistant', id, deleted: true, livemode: true })
  assert.is((await live(`GET /v1/assistants/${id}`)).status, 404)
  await close()
})

test.run()
