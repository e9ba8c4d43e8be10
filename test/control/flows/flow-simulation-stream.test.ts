import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { MAX_STREAMS_PER_KEY } from '../../../control/http/wire/open-streams.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import { addOrganisation } from '../../../control/wiring/first-start.ts'
import { suite } from '../../harness.ts'
import { ask, START } from '../app-harness.ts'
import { makeDatabase } from '../database.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/flows/flow-simulation-stream')

/** A model provider that takes questions and holds its tongue. */
const held: ServerResponse[] = []
let onQuestion = (): void => {}
const provider = createServer((_request, response) => {
  held.push(response)
  onQuestion()
})
const listening = (server: typeof provider) =>
  new Promise<number>(resolve => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
const question = () => new Promise<void>(resolve => (onQuestion = resolve))

const config = {
  allowPrivateUrls: [],
  dataDir: '/nowhere',
  httpHost: '127.0.0.1',
  httpPort: 8080,
  maxObjects: 1000,
  publicIps: [],
  sipHosts: ['127.0.0.1'],
  modelUrl: `http://127.0.0.1:${await listening(provider)}/v1`,
  modelKey: null,
  modelName: 'm',
}
const world = await makeWholeApp({ config })
const base = await world.app.listen({ port: 0, host: '127.0.0.1' })
test.after(async () => {
  world.app.server.closeAllConnections()
  await world.close()
  provider.closeAllConnections()
  provider.close()
})

const AI = {
  nodes: [
    { key: 's', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'ai' }] },
    { key: 'ai', type: 'ai', ai: { goal: 'Talk.' }, transitions: [{ condition: { kind: 'else' }, next: 'e' }] },
    { key: 'e', type: 'end' },
  ],
}
const flowId = (await world.live('POST /v1/flows', { name: 'AI', graph: AI })).body.id

/** Opens a stream that waits for the provider; its first event has come. */
async function openStream() {
  const abort = new AbortController()
  const asked = question()
  const response = await fetch(`${base}/v1/flows/${flowId}/simulate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.ours.keys.live}`, accept: 'text/event-stream' },
    signal: abort.signal,
  })
  const reader = response.body!.getReader()
  const first = new TextDecoder().decode((await reader.read()).value)
  await asked
  return { abort, simId: /"sim_id":"(sim_\w+)"/.exec(first)?.[1] }
}

const closed = (response: ServerResponse) => new Promise<void>(resolve => response.once('close', resolve))

/** The answer to a request that is refused while the simulation is being stopped. */
async function untilEnded(simId: string | undefined): Promise<string> {
  for (;;) {
    const { body } = await world.live(`POST /v1/flows/${flowId}/simulate`, { sim_id: simId })
    const reason = body.error.details.reason
    if (reason !== 'simulation_busy') return reason
    await new Promise(resolve => setImmediate(resolve))
  }
}

test('closing the connection stops the simulation, and what it was asking the model', async () => {
  const { abort, simId } = await openStream()
  const busy = await world.live(`POST /v1/flows/${flowId}/simulate`, { sim_id: simId })
  assert.equal([busy.status, busy.body.error.details.reason], [409, 'simulation_busy'])
  const gone = closed(held.at(-1)!)
  abort.abort()
  await gone
  assert.is(await untilEnded(simId), 'not_running')
})

test("a streamed answer counts against the key's stream limit: 429 stream_limit with Retry-After", async () => {
  const streams = []
  for (let n = 0; n < MAX_STREAMS_PER_KEY; n++) streams.push(await openStream())
  const asked = { headers: { accept: 'text/event-stream' } }
  const refused = await world.live(`POST /v1/flows/${flowId}/simulate`, {}, asked)
  assert.equal([refused.status, refused.body.error.code], [429, 'stream_limit'])
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  const other = await world.test('POST /v1/flows', { name: 'Other' })
  assert.is((await world.test(`POST /v1/flows/${other.body.id}/simulate`, {}, asked)).status, 200)
  for (const { abort } of streams) abort.abort()
  for (const { simId } of streams) await untilEnded(simId)
  const places = () => world.store.db.selectFrom('open_streams').select('id').execute()
  while ((await places()).length > 0) await new Promise(resolve => setImmediate(resolve))
  const again = await openStream()
  again.abort.abort()
  await untilEnded(again.simId)
})

test('a simulation survives a restart of control', async () => {
  const database = await makeDatabase()
  const first = await openStore(database.target)
  const { keys } = await first.transaction(trx => addOrganisation(trx, { name: 'A', pciEnabled: false, now: START }))
  const before = await makeWholeApp({ store: first })
  const graph = {
    nodes: [
      { key: 's', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'q' }] },
      { key: 'q', type: 'question', script: '?', transitions: [{ condition: { kind: 'always' }, next: 'e' }] },
      { key: 'e', type: 'end' },
    ],
  }
  const flow = await ask(before.app, 'POST /v1/flows', { key: keys.test, body: { name: 'F', graph } })
  const line = `POST /v1/flows/${flow.body.id}/simulate`
  const { body } = await ask(before.app, line, { key: keys.test, body: {} })
  await before.close()
  await first.close()
  const after = await makeWholeApp({ store: await openStore(database.target) })
  const next = await ask(after.app, line, { key: keys.test, body: { sim_id: body.id, message: 'hello' } })
  assert.equal([next.status, next.body.resumed, next.body.end_reason], [200, true, 'end_node'])
  await after.close()
  await database.remove()
})

test.run()
