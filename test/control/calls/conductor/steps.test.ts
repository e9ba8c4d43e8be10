import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { findLeg, hangUpLeg, StepFault, setLeg } from '../../../../control/calls/legs.ts'
import { insertParty } from '../../../../control/calls/records.ts'
import { before, isLeadable, type LegStep, mayFollow, STEPS } from '../../../../control/calls/steps/table.ts'
import type { Tenant } from '../../../../control/kernel/tenancy.ts'
import { suite } from '../../../harness.ts'
import { makeWorld, type World } from '../../app-harness.ts'
import { makeCallsWorld } from '../../calls-world.ts'

const test = suite('control/calls/conductor/steps')

const BEGIN: LegStep[] = ['answering', 'to_dial', 'dialing']
const ALL = Object.keys(STEPS) as LegStep[]
const nextOf = (step: LegStep): LegStep[] => ALL.filter(next => mayFollow(step, next))

/** All that can be reached from these, by `on`. */
function reached(from: readonly LegStep[], on: (step: LegStep) => readonly LegStep[]): Set<LegStep> {
  const found = new Set(from)
  for (const step of found) for (const next of on(step)) found.add(next)
  return found
}

const code = (names: readonly string[]): string =>
  names.length === 0 ? '—' : names.map(name => `\`${name}\``).join(', ')

const UNTIL = { begun: 'once', heard: 'until done', left: 'until left' }

/** As it is printed in docs/architecture.md. */
const printed = (): string =>
  [
    '| Step | A leg in it | Led by | Media is told | When | What may follow |',
    '| --- | --- | --- | --- | --- | --- |',
    ...ALL.map(step => {
      const { means, leads, sends, until } = STEPS[step]
      const when = sends.length === 0 ? '—' : UNTIL[until]
      return `| \`${step}\` | ${means} | ${leads} | ${code(sends)} | ${when} | ${code(nextOf(step))} |`
    }),
  ].join('\n')

test('the table of steps is printed in docs/architecture.md as it is', () => {
  const page = readFileSync(new URL('../../../../docs/architecture.md', import.meta.url), 'utf8')
  assert.ok(page.includes(printed()), `the table is:\n\n${printed()}\n`)
})

test('each step names steps only, comes after a beginning, and leads to the end', () => {
  for (const step of ALL) for (const next of STEPS[step].next) assert.ok(ALL.includes(next), `${step} → ${next}`)
  assert.equal([...reached(BEGIN, nextOf)].sort(), [...ALL].sort())
  assert.equal([...reached(['ended'], before)].sort(), [...ALL].sort())
  assert.equal(nextOf('ended'), [])
})

test('a call can be led elsewhere once it is answered, unless it is asked something or says goodbye', () => {
  assert.equal(ALL.filter(isLeadable), ['settled', 'announcing', 'queued', 'calling', 'connected', 'program'])
})

const LEG = 'part_steps'

async function withLeg(): Promise<{ world: World; tenant: Tenant }> {
  const world = await makeWorld()
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const ends = { callId: 'call_steps', legId: LEG, direction: 'inbound' as const, to: '+15550100000', from: '1' }
  const rest = { target: 'park' as const, roomId: null, connectionId: null, metadata: {}, role: 'member' as const }
  const at = '2026-11-21T10:00:00.000Z'
  await world.store.transaction(trx => insertParty(trx, tenant, { ...ends, ...rest, muted: false }, at))
  return { world, tenant }
}

test('a step that the table does not allow is not written, and throws', async () => {
  const { world, tenant } = await withLeg()
  const { store } = world
  const fault = await store
    .transaction(trx => setLeg(trx, tenant, LEG, { step: 'bridged' }))
    .then(
      () => null,
      (error: unknown) => error,
    )
  assert.instance(fault, StepFault)
  assert.is((await findLeg(store.db, tenant, LEG))?.step, 'answering')
  await store.close()
})

test('a leg that is on its way out stays on it, whatever was decided meanwhile', async () => {
  const { world, tenant } = await withLeg()
  const { store } = world
  await store.transaction(trx => setLeg(trx, tenant, LEG, { step: 'settled' }))
  await store.transaction(trx => hangUpLeg(trx, tenant, LEG, 'agent_hangup'))
  await store.transaction(trx => setLeg(trx, tenant, LEG, { step: 'connected' }))
  const leg = await findLeg(store.db, tenant, LEG)
  assert.equal([leg?.step, leg?.leave_reason], ['hanging_up', 'agent_hangup'])
  await store.close()
})

test('a call that is ended while its answer is on the way is led nowhere', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  const { body } = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', room_id: world.openRoom })
  const { legId } = await media.command('leg.dial')
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  await world.store.transaction(trx => hangUpLeg(trx, tenant, legId, 'api_hangup'))
  media.pickUp(legId)
  await media.committed()
  await control.idle()
  const reason = async () => (await control.ask(`GET /v1/calls/${body.id}`)).body.ended_reason
  for (let reads = 0; (await reason()) === null && reads < 1000; reads++) await control.idle()
  assert.is(await reason(), 'api_hangup')
  assert.is(media.sent('leg.move').length, 0)
  await world.close()
})

test.run()
