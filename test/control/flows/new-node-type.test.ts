import * as assert from 'uvu/assert'
import { NODE_TYPES } from '../../../control/flows/engine/node-types.ts'
import { notice } from '../../examples/node-types/notice.ts'
import { suite } from '../../harness.ts'

// Own process: a node type that is added stays.
const test = suite('control/flows/new-node-type')

Object.assign(NODE_TYPES, { notice })
// What the API says of node types is made when its schemas are loaded.
const { callOf, makeFlow, makeLiveWorld } = await import('../assistants/live-world.ts')

const always = (next: string) => ({ condition: { kind: 'always' }, next })
const graphOf = (script: string | undefined, more: object = {}) => ({
  nodes: [
    { key: 'start', type: 'start', transitions: [always('notice')] },
    { key: 'notice', type: 'notice', ...(script !== undefined && { script }), ...more, transitions: [always('bye')] },
    { key: 'bye', type: 'end' },
  ],
})
const NOTICE = 'Calls are recorded for training.'

test("CONTRIBUTING's example: one file and one line make a node type that is checked, simulated, documented and heard on a call", async () => {
  const world = await makeLiveWorld()

  const issuesOf = async (graph: object, kind = 'ivr'): Promise<string[]> => {
    const { body } = await world.ask('POST /v1/flows/validate', { graph: { kind, ...graph } })
    const issues: { code: string; severity: string; node_key: string }[] = body.issues
    return issues.filter(({ severity }) => severity !== 'task').map(issue => `${issue.code} ${issue.node_key}`)
  }
  assert.equal(await issuesOf(graphOf(NOTICE)), [])
  assert.equal(await issuesOf(graphOf(undefined)), ['missing_field notice'])
  assert.equal(await issuesOf(graphOf(NOTICE, { save_as: 'answer' })), ['unused_field notice'])
  assert.equal(await issuesOf(graphOf(NOTICE), 'agent_script'), ['kind_mismatch notice'])

  const id = await makeFlow(world, { kind: 'ivr', ...graphOf(NOTICE) })
  const { body: simulated } = await world.ask(`POST /v1/flows/${id}/simulate`, {})
  assert.equal(
    simulated.path.map((entry: { node_type: string }) => entry.node_type),
    ['start', 'notice', 'end'],
  )
  world.media.dialIn('part_1', '2000')
  await callOf(world, 'part_1')
  const { sources } = await world.media.command('leg.play', 'part_1')
  assert.match(JSON.stringify(sources), NOTICE)
  const document = await world.ask('GET /openapi.json')
  assert.match(document.text, `notice (ivr, voice): ${notice.means}`)
  await world.close()
})

test.run()
