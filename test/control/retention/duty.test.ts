import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import { formPath, recordingPath } from '../../../control/calls/capture/recording-files.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { RetentionDuty } from '../../../control/retention/duty.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { makeRecording, makeReviewedCall, makerOf, makeVoicemail } from '../conformance/objects.ts'
import { makeProduct } from '../conformance/product.ts'

const test = suite('control/retention/duty')
const DAY_MS = 86_400_000

test('what an organisation keeps for so many days is gone after them, rows and files, counted; what it keeps for ever stays', async () => {
  const world = await makeProduct()
  const { store, dataDir } = world
  const maker = makerOf(world)
  const scoped = forTenant(store.db, maker.tenant)
  const { id = '' } = await makeRecording(maker, 'ready')
  const running = await makeRecording(maker, 'recording')
  const message = await makeVoicemail(maker, 'ready')
  const form = formPath(dataDir, id, 'mono.ogg')
  mkdirSync(dirname(form), { recursive: true })
  writeFileSync(form, 'x')
  const partials = [id, `${id}.failed`].map(name => join(dirname(recordingPath(dataDir, id)), '.partial', name))
  for (const partial of partials) {
    mkdirSync(partial, { recursive: true })
    writeFileSync(join(partial, '0.raw'), 'x')
  }
  const row = await scoped.select('recordings').select('created').where('call_id', '=', id).executeTakeFirstOrThrow()
  const at = (days: number): Date => new Date(Date.parse(row.created) + days * DAY_MS)
  let now = at(29)
  const duty = new RetentionDuty({ store, dataDir, now: () => now, log: silent })
  await maker.ask('PATCH /v1/organisation', { retention: { recordings_days: 30 } })
  await duty.run()
  assert.is(duty.counters.recordingsDeleted, 0)
  assert.ok(existsSync(recordingPath(dataDir, id)))
  now = at(31)
  await duty.run()
  assert.ok(duty.counters.recordingsDeleted >= 1)
  assert.not(existsSync(recordingPath(dataDir, id)))
  assert.not(existsSync(form))
  assert.equal(partials.filter(existsSync), [], 'neither do raw channels stay')
  const kept = await scoped.select('recordings').select('call_id').execute()
  assert.equal(
    kept.map(({ call_id }) => call_id),
    [running.id],
    'what is being recorded stays',
  )
  assert.ok(await scoped.find('voicemails', message.id ?? ''))
  assert.ok(await scoped.find('calls', id))
  await maker.ask('PATCH /v1/organisation', { retention: { voicemails_days: 1, calls_days: 1 } })
  await scoped.update('calls').set({ ended_at: row.created }).where('id', '=', id).execute()
  await duty.run()
  assert.is(await scoped.find('voicemails', message.id ?? ''), undefined)
  assert.is(await scoped.find('calls', id), undefined)
  assert.is(duty.counters.callsDeleted, 1)
  const writing = await makeRecording(maker, 'ready')
  const ofCall = { id: writing.id ?? '', language: null, created: row.created }
  await scoped.insert('transcripts', { ...ofCall, status: 'running', duration_ms: null })
  await scoped.update('calls').set({ ended_at: row.created }).where('id', '=', ofCall.id).execute()
  await maker.ask('PATCH /v1/organisation', { retention: { transcripts_days: 1 } })
  await duty.run()
  assert.ok(await scoped.find('calls', ofCall.id), 'what is still being written keeps its call')
  await scoped.update('transcripts').set({ status: 'ready' }).where('id', '=', ofCall.id).execute()
  await duty.run()
  assert.is(duty.counters.transcriptsDeleted, 1)
  assert.is(await scoped.find('calls', ofCall.id), undefined)
  await world.close()
})

test('summaries and evaluations are kept as long as the organisation says; with the transcript all that quotes it goes', async () => {
  const world = await makeProduct()
  const { store, dataDir } = world
  const maker = makerOf(world)
  const scoped = forTenant(store.db, maker.tenant)
  await maker.ask('PATCH /v1/organisation', {
    qa_rubric: [{ key: 'greeting', label: 'Greets', check: { kind: 'phrases', phrases: ['hello'] } }],
    retention: { summaries_days: 10, evaluations_days: 20 },
  })
  const reviewed = async (): Promise<string> => {
    const { id = '' } = await makeReviewedCall(maker)
    await maker.ask(`POST /v1/calls/${id}/qa`)
    return id
  }
  const id = await reviewed()
  const kept = async () => [
    (await scoped.select('call_summaries').select('id').execute()).length,
    (await scoped.select('qa_evaluations').select('id').execute()).length,
    (
      await scoped
        .select('events')
        .select('id')
        .where('type', 'in', ['call.summary.ready', 'qa_evaluation.scored'])
        .execute()
    ).length,
  ]
  const [, , told = 0] = await kept()
  assert.ok(told >= 2)
  let days = 9
  const now = () => new Date(world.clock.now().getTime() + days * DAY_MS)
  const duty = new RetentionDuty({ store, dataDir, now, log: silent })
  await duty.run()
  assert.equal(await kept(), [1, 1, told])
  days = 11
  await duty.run()
  assert.equal(await kept(), [0, 1, told - 1])
  days = 21
  await duty.run()
  assert.equal(await kept(), [0, 0, 0])
  assert.equal([duty.counters.summariesDeleted, duty.counters.evaluationsDeleted], [1, 1])
  assert.ok(await scoped.find('transcripts', id))
  await reviewed()
  await maker.ask('PATCH /v1/organisation', {
    retention: { summaries_days: null, evaluations_days: null, transcripts_days: 5 },
  })
  await duty.run()
  assert.equal(await kept(), [0, 0, 0])
  await world.close()
})

test('calls have their turn while much is deleted', async () => {
  const world = await makeProduct()
  const { store, dataDir } = world
  const maker = makerOf(world)
  const scoped = forTenant(store.db, maker.tenant)
  for (let n = 0; n < 60; n++) {
    const row = { id: `call_${n}`, language: null, created: '2020-01-01T00:00:00.000Z', status: 'ready' }
    await scoped.insert('transcripts', { ...row, duration_ms: null } as never)
  }
  await maker.ask('PATCH /v1/organisation', { retention: { transcripts_days: 1 } })
  const duty = new RetentionDuty({ store, dataDir, now: () => world.clock.now(), log: silent })
  const left = new Set<number>()
  const look = (): void => {
    left.add(duty.counters.transcriptsDeleted)
    turn = setImmediate(look)
  }
  let turn = setImmediate(look)
  await duty.run()
  clearImmediate(turn)
  assert.is(duty.counters.transcriptsDeleted, 60)
  assert.ok(left.size >= 6, `${[...left]}`)
  await world.close()
})

test.run()
