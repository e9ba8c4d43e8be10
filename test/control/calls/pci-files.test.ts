import * as assert from 'uvu/assert'
import { Executed } from '../../executed.ts'
import { suite } from '../../harness.ts'
import { makeLiveWorld } from '../assistants/live-world.ts'
import { eventTypes } from '../calls-world.ts'

// Own process: it counts which files are executed. One database: the files of the store are the same for every operation.

const test = suite('control/calls/pci-files')

/** Before every operation's handler and after it. */
const IS_HTTP = /^control\/http\//

/** What every operation on a call passes before its handler: this one finds that there is no such call, and does nothing. */
const NOTHING = ['POST /v1/calls/call_nowhere/say', { text: 'Hello' }] as const

test('POST /calls/{id}/pci passes 12 files of control, from its handler to the channel and with the event back', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await world.ask('PATCH /v1/organisation', { pci: { enabled: true, max_seconds: 120, mask_dtmf: true } })
  await world.make('/inbound_routes', { match: { to: '1002' }, target: { type: 'echo' } })
  const { room } = await media.dialInUntil('leg.answer', 'part_1', '1002')
  const executed = new Executed()
  await executed.begin()
  const each = await executed.files(['control'], async () => {
    assert.is((await world.ask(...NOTHING)).status, 404)
  })
  const paying = await executed.files(['control'], async () => {
    assert.is((await world.ask(`POST /v1/calls/${room.roomId}/pci`, { action: 'pause' })).status, 200)
    await media.committed()
  })
  executed.end()
  assert.ok((await eventTypes(world, room.roomId)).includes('call.pci.paused'))
  const own = paying.filter(file => !each.includes(file) && !IS_HTTP.test(file))
  assert.ok(own.includes('control/calls/pci-routes.ts'))
  assert.ok(own.length <= 12, `${own.length}:\n${own.join('\n')}`)
  await world.close()
})

test.run()
