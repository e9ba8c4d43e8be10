import * as assert from 'uvu/assert'
import type { ProgramInput } from '../../../control/assistants/input.ts'
import { insertInput, Stage } from '../../../control/assistants/stage.ts'
import { suite } from '../../harness.ts'
import { VAULT } from '../silent.ts'
import { callOf, makeFlow, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/stage')

const to = (next: string) => [{ condition: { kind: 'always' }, next }]
const input = { modes: ['dtmf'], timeout_ms: 60_000 }
const FLOW = {
  kind: 'ivr',
  variables: [{ name: 'it' }],
  nodes: [
    { key: 'start', type: 'start', transitions: to('asks') },
    { key: 'asks', type: 'collect', script: 'Yes?', save_as: 'it', input, transitions: to('end') },
    { key: 'end', type: 'end' },
  ],
}

const played = (playId: string): ProgramInput => ({ kind: 'played', playId, ended: 'played', heardMs: 900 })

test('what comes while the progress is being stored is kept until its own consequences are: a kill in between loses nothing', async () => {
  const world = await makeLiveWorld()
  await makeFlow(world, FLOW)
  world.media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await world.media.command('leg.collect', 'part_1')
  await world.media.committed()
  const { db } = world.store
  const row = await db.selectFrom('call_programs').selectAll().where('id', '=', callId).executeTakeFirstOrThrow()
  const call = await db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirstOrThrow()
  const parts = { store: world.store, vault: VAULT, now: () => new Date(), later: () => () => {} }
  const stage = new Stage(parts, undefined as never, row, call, null)
  const waiting = () => db.selectFrom('call_inputs').select('id').where('call_id', '=', callId).execute()
  for (const playId of ['first', 'second'])
    await world.store.transaction(trx => insertInput(trx, VAULT, row, played(playId)))
  const heard = [await stage.next()]
  const storing = stage.commit({ state: { heard } })
  heard.push(await stage.next())
  await storing
  assert.equal(stage.state(), { heard: [played('first')] })
  assert.is((await waiting()).length, 1, 'the second is not in what was stored')
  await stage.commit({ state: { heard } })
  assert.equal(stage.state(), { heard: [played('first'), played('second')] })
  assert.equal(await waiting(), [])
  await world.close()
})

test.run()
