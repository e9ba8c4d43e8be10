import * as assert from 'uvu/assert'
import { Conductor } from '../../../../control/calls/conductor/conductor.ts'
import { CallFaults } from '../../../../control/calls/conductor/faults.ts'
import type { Senders, Sent } from '../../../../control/calls/conductor/sender.ts'
import { setLeg } from '../../../../control/calls/legs.ts'
import { insertParty } from '../../../../control/calls/records.ts'
import { ALL_STEPS, type LegStep } from '../../../../control/calls/steps/table.ts'
import type { ParticipantRow } from '../../../../control/calls/tables.ts'
import { PocketMedia } from '../../../fakes/pocket-media.ts'
import { suite } from '../../../harness.ts'
import { makeWorld } from '../../app-harness.ts'
import { until } from '../../calls-world.ts'

const test = suite('control/calls/conductor/conductor')

const AT = '2026-11-21T10:00:00.000Z'

type All = Senders<'call'> & Senders<'room'> & Senders<'queue'>

/** Legs of calls of their own that hear an announcement, and what sends that; the IDs of those that were ended for a fault. */
async function announcing(legIds: readonly string[], send: (leg: ParticipantRow) => Promise<Sent>) {
  const world = await makeWorld()
  const { store, clock } = world
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  for (const legId of legIds) {
    const party = { callId: `call_of_${legId}`, legId, direction: 'inbound' as const, to: '1003', from: '1' }
    const rest = { target: 'announcement' as const, roomId: null, connectionId: null, metadata: {}, muted: false }
    await store.transaction(async trx => {
      await insertParty(trx, tenant, { ...party, ...rest, role: 'member' }, AT)
      await setLeg(trx, tenant, legId, { step: 'announcing' })
    })
  }
  const ended: string[] = []
  const warned: unknown[] = []
  const log = { warn: ({ legId }: { legId?: string }) => void warned.push(legId), error: () => {} }
  const centre = { end: async (_trx: unknown, legId: string) => void ended.push(legId) }
  const faults = new CallFaults({ store, log, centre, now: () => AT })
  const senders = Object.fromEntries(ALL_STEPS.map((step: LegStep) => [step, send])) as unknown as All
  const conductor = new Conductor({ store, log, faults, answer: async () => null }, senders)
  const media = new PocketMedia(clock.now)
  const drive = (legId: string) => conductor.drive(legId, media)
  return { store, tenant, media, ended, warned, faults, drive, idle: () => conductor.idle() }
}

/** Something that is waited for until it is let go. */
function gate() {
  let open = (): void => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, opened }
}

test('what is sent for a call is sent in order, and a call that waits holds up no other', async () => {
  const said: string[] = []
  const { open, opened } = gate()
  const begun = gate()
  const world = await announcing(['part_slow', 'part_swift'], async ({ id }) => {
    said.push(`${id} begins`)
    begun.open()
    if (id === 'part_slow') await opened
    said.push(`${id} ends`)
    return null
  })
  const first = world.drive('part_slow')
  await begun.opened
  const second = world.drive('part_slow')
  await world.drive('part_swift')
  assert.equal(said, ['part_slow begins', 'part_swift begins', 'part_swift ends'])
  open()
  await Promise.all([first, second])
  assert.equal(said.slice(3), ['part_slow ends', 'part_slow begins', 'part_slow ends'])
  await world.idle()
  await world.store.close()
})

test('a step that throws ends its call and no other', async () => {
  const said: string[] = []
  const world = await announcing(['part_broken', 'part_whole'], async ({ id }) => {
    if (id === 'part_broken') throw new Error('a bug')
    said.push(id)
    return null
  })
  await Promise.all([world.drive('part_broken'), world.drive('part_whole')])
  assert.equal([world.ended, said, world.faults.count], [['part_broken'], ['part_whole'], 1])
  await world.store.close()
})

test('what media could not do for a party that has left meanwhile is no warning; for one that is there, it is', async () => {
  const failure = { failure: 'not_found', message: 'no such leg' } as const
  const world = await announcing(['part_left', 'part_there'], async () => failure)
  const { store, media, tenant } = world
  // Its end has arrived with the reply, and is being committed.
  media.settled = () =>
    store.transaction(trx => setLeg(trx, tenant, 'part_left', { step: 'ended', left_at: AT, quality: null }))
  await Promise.all([world.drive('part_left'), world.drive('part_there')])
  await until(() => world.warned.length > 0)
  assert.equal(world.warned, ['part_there'])
  await world.store.close()
})

test.run()
