import * as assert from 'uvu/assert'
import { releaseInterruptedJobs } from '../../../../control/kernel/jobs/claims.ts'
import { cancel, dueAtOf, enqueue } from '../../../../control/kernel/jobs/queue.ts'
import { type JobAttempt, JobRunner, type JobRunnerParts } from '../../../../control/kernel/jobs/runner.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeWorld, silent, type World } from '../../app-harness.ts'
import { until } from '../../calls-world.ts'
import { makeDatabase } from '../../database.ts'
import type { Note } from './kinds.ts'

const test = suite('control/kernel/jobs/runner')

const SECOND = 1000
const MINUTE = 60 * SECOND

type Run = (note: Note, attempt: JobAttempt) => Promise<void>
type More = Partial<JobRunnerParts> & { maxAttempts?: number }

const runnerOf = ({ store, clock }: World, run: Run, { maxAttempts = 3, ...more }: More = {}): JobRunner =>
  new JobRunner({
    store,
    now: clock.now,
    log: silent,
    handlers: { 'test.note': { run, maxAttempts, backoffMs: SECOND } },
    ...more,
  })

const note = (
  world: World,
  text: string,
  more: { dueAt?: Date; key?: string; organisationId?: string } = {},
): Promise<void> =>
  world.store.transaction(trx =>
    enqueue(trx, 'test.note', { text }, { now: world.clock.now(), organisationId: null, ...more }),
  )

const rowsOf = ({ store }: World) => store.db.selectFrom('jobs').selectAll().execute()

/** A promise that is resolved from outside. */
function gate() {
  let open = (): void => {}
  const opened = new Promise<void>(resolve => (open = resolve))
  return { open, opened }
}

test('a job runs at its time, not before, and once', async () => {
  const world = await makeWorld()
  const ran: string[] = []
  const runner = runnerOf(world, async ({ text }) => void ran.push(text))
  const at = (ms: number) => new Date(world.clock.now().getTime() + ms)
  await note(world, 'later', { dueAt: at(2 * MINUTE) })
  await note(world, 'sooner', { dueAt: at(MINUTE) })
  await note(world, 'now')
  assert.is(await runner.runDue(), 1)
  world.clock.advance(2 * MINUTE)
  assert.is(await runner.runDue(), 2)
  assert.is(await runner.runDue(), 0)
  assert.equal(ran.slice(0, 1), ['now'])
  assert.equal(ran.slice(1).sort(), ['later', 'sooner'])
  assert.equal([await rowsOf(world), runner.counters.done], [[], 3])
  await world.store.close()
})

test('a job of a transaction that is rolled back never was', async () => {
  const world = await makeWorld()
  await world.store
    .transaction(async trx => {
      await enqueue(trx, 'test.note', { text: 'never' }, { now: world.clock.now(), organisationId: null })
      throw new Error('rolled back')
    })
    .catch(() => {})
  assert.equal(await rowsOf(world), [])
  await world.store.close()
})

test('a kind that has no handler here is left to processes that know it', async () => {
  const world = await makeWorld()
  const runner = runnerOf(world, async () => {})
  await world.store.transaction(trx =>
    enqueue(trx, 'test.other', { text: 'theirs' }, { now: world.clock.now(), organisationId: null }),
  )
  assert.equal([await runner.runDue(), (await rowsOf(world)).length], [0, 1])
  await world.store.close()
})

test('a key is of one job per kind: enqueued again, the job has its new time and payload', async () => {
  const world = await makeWorld()
  const ran: string[] = []
  const runner = runnerOf(world, async ({ text }) => void ran.push(text))
  await note(world, 'first', { key: 'k' })
  const dueAt = new Date(world.clock.now().getTime() + MINUTE)
  await note(world, 'second', { key: 'k', dueAt })
  await note(world, 'without')
  await note(world, 'without')
  assert.equal(await dueAtOf(world.store.db, 'test.note', 'k'), dueAt)
  assert.is(await runner.runDue(), 2)
  world.clock.advance(MINUTE)
  assert.is(await runner.runDue(), 1)
  assert.equal(ran, ['without', 'without', 'second'])
  await world.store.close()
})

test('a job that is enqueued again while it runs runs again, after it', async () => {
  const world = await makeWorld()
  const ran: string[] = []
  const runner = runnerOf(world, async ({ text }) => {
    ran.push(text)
    if (text === 'first') await note(world, 'second', { key: 'k' })
    assert.equal(await runnerOf(world, async () => {}).runDue(), 0, 'not beside the first')
  })
  await note(world, 'first', { key: 'k' })
  assert.is(await runner.runDue(), 2)
  assert.equal(ran, ['first', 'second'])
  assert.equal(await rowsOf(world), [])
  await world.store.close()
})

test('a failure of the last attempt is told as the last, but not what was given up as the process stopped', async () => {
  const world = await makeWorld()
  const told: boolean[] = []
  const running = gate()
  const run: Run = async (_, { signal, isLast }) => {
    told.push(isLast())
    if (told.length < 3) throw new Error('not yet')
    running.open()
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    told.push(isLast())
    if (!isLast()) throw new Error('given up')
  }
  const runner = runnerOf(world, run)
  await note(world, 'n')
  for (let n = 0; n < 2; n++) {
    await runner.runDue()
    world.clock.advance(MINUTE)
  }
  void runner.runDue()
  await running.opened
  await runner.close()
  assert.equal(told, [false, false, true, false])
  const { attempts, due_at } = (await rowsOf(world))[0]!
  assert.is(attempts, 2)
  assert.is.not(due_at, null, 'another process makes it')
  await world.store.close()
})

test('a cancelled job does not run; one that is running is told', async () => {
  const world = await makeWorld()
  const { later, strike } = handClock()
  const { open, opened } = gate()
  let wasTold = false
  const run: Run = async (_, { signal }) => {
    signal.addEventListener('abort', () => (wasTold = true))
    await opened
  }
  const runner = runnerOf(world, run, { later })
  await note(world, 'a', { key: 'a' })
  assert.is(await world.store.transaction(trx => cancel(trx, 'test.note', 'a')), true)
  assert.is(await world.store.transaction(trx => cancel(trx, 'test.note', 'a')), false)
  assert.is(await runner.runDue(), 0)
  await note(world, 'b', { key: 'b' })
  runner.start()
  await strike('jobs')
  await world.store.transaction(trx => cancel(trx, 'test.note', 'b'))
  await strike('job leases')
  assert.ok(wasTold)
  open()
  await runner.close()
  assert.equal([runner.counters.lost, runner.counters.done], [1, 0])
  await world.store.close()
})

/** Clocks of the duties, struck by hand: `strike` resolves when the duty's run has ended. */
function handClock() {
  const waiting: { task: () => void; ms: number }[] = []
  const later = (task: () => void, ms: number) => {
    waiting.push({ task, ms })
    return () => {}
  }
  const PERIODS: Record<string, number> = { jobs: 250, 'job leases': 10_000, 'waiting jobs': 30_000 }
  const strike = async (name: string): Promise<void> => {
    const index = waiting.findIndex(({ ms }) => ms === PERIODS[name])
    const [due] = waiting.splice(index, 1)
    due?.task()
    while (!waiting.some(({ ms }) => ms === PERIODS[name])) await new Promise(resolve => setImmediate(resolve))
  }
  return { later, strike }
}

test('a job that fails is tried again, each time after twice the wait, and given up after its attempts; its key is free', async () => {
  const world = await makeWorld()
  const attempts: number[] = []
  const runner = runnerOf(world, async (_, { attempt }) => {
    attempts.push(attempt)
    throw new Error('no way')
  })
  await note(world, 'a', { key: 'k' })
  const runs: number[] = []
  for (const waitMs of [0, 999, 1, 1999, 1, MINUTE]) {
    world.clock.advance(waitMs)
    runs.push(await runner.runDue())
  }
  assert.equal(runs, [1, 0, 1, 0, 1, 0])
  assert.equal(attempts, [1, 2, 3])
  const [row] = await rowsOf(world)
  assert.equal([row?.due_at, row?.key, row?.last_error], [null, null, 'Error: no way'])
  assert.equal(runner.counters, { done: 0, retried: 2, givenUp: 1, lost: 0 })
  await note(world, 'b', { key: 'k' })
  assert.is(await runner.runDue(), 1)
  await world.store.close()
})

test('a clock that is set back makes no retry wait for longer than its backoff, and what was planned for later stays so', async () => {
  const world = await makeWorld()
  const clock = handClock()
  const attempts: number[] = []
  const run: Run = async ({ text }, { attempt }) => {
    attempts.push(attempt)
    if (text === 'again') throw new Error('no way')
  }
  const runner = runnerOf(world, run, { later: clock.later })
  runner.start()
  await note(world, 'again')
  await note(world, 'planned', { dueAt: new Date(world.clock.now().getTime() + MINUTE) })
  assert.is(await runner.runDue(), 1)
  await clock.strike('waiting jobs')
  assert.is(await runner.runDue(), 0, 'its backoff is not over')
  world.clock.advance(-60 * MINUTE)
  assert.is(await runner.runDue(), 0)
  await clock.strike('waiting jobs')
  assert.is(await runner.runDue(), 1)
  assert.equal(attempts, [1, 2])
  await runner.close()
  await world.store.close()
})

test('a job that takes its process down is given up after as many attempts', async () => {
  const world = await makeWorld()
  await note(world, 'a')
  const dead = () => new Promise<void>(() => {})
  for (let attempt = 1; attempt <= 3; attempt++) {
    // The clock of a dead process stands still: it must not look once more after the minute, and take the job again.
    const diedAt = world.clock.now()
    void runnerOf(world, dead, { now: () => diedAt }).runDue()
    while ((await rowsOf(world))[0]?.attempts !== attempt) await new Promise(resolve => setImmediate(resolve))
    world.clock.advance(MINUTE)
  }
  let ran = 0
  const runner = runnerOf(world, async () => {
    ran += 1
  })
  await runner.runDue()
  assert.equal([ran, runner.counters.givenUp, (await rowsOf(world))[0]?.due_at], [0, 1, null])
  await world.store.close()
})

test('two workers on one database never run a job at once, and none twice', async () => {
  const world = await makeWorld()
  await world.store.transaction(async trx => {
    for (let i = 0; i < 100; i++)
      await enqueue(trx, 'test.note', { text: `${i}` }, { now: world.clock.now(), organisationId: null })
  })
  const ran: string[] = []
  const run: Run = async ({ text }) => {
    ran.push(text)
    await new Promise(resolve => setImmediate(resolve))
  }
  const workers = [runnerOf(world, run), runnerOf(world, run), runnerOf(world, run)]
  const counts = await Promise.all(workers.map(worker => worker.runDue()))
  assert.is(
    counts.reduce((sum, n) => sum + n, 0),
    100,
  )
  assert.equal([ran.length, new Set(ran).size], [100, 100])
  await world.store.close()
})

test('of one organisation half as many jobs run at once as the runner may, and the others wait in the database', async () => {
  const world = await makeWorld()
  for (let i = 0; i < 7; i++) await note(world, `${i}`)
  let running = 0
  let most = 0
  const run: Run = async () => {
    running += 1
    most = Math.max(most, running)
    for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve))
    running -= 1
  }
  await runnerOf(world, run, { concurrency: 4 }).runDue()
  assert.is(most, 2)
  assert.equal(await rowsOf(world), [])
  await world.store.close()
})

test(`jobs of one organisation that hang hold up no other organisation's`, async () => {
  const world = await makeWorld()
  const { open, opened } = gate()
  const ran: string[] = []
  const { later, strike } = handClock()
  const running = runnerOf(
    world,
    async ({ text }) => {
      if (text.startsWith('hangs')) await opened
      ran.push(text)
    },
    { later },
  )
  for (let i = 0; i < 300; i++) await note(world, `hangs ${i}`, { organisationId: world.ours.organisationId })
  running.start()
  await strike('jobs')
  world.clock.advance(SECOND)
  await note(world, 'theirs', { organisationId: world.theirs.organisationId })
  await strike('jobs')
  await until(() => ran.length > 0)
  assert.equal(ran, ['theirs'])
  open()
  await running.close()
  await world.store.close()
})

test("a dead worker's job is taken over when its lease has run out, not before; a renewed lease keeps it", async () => {
  const world = await makeWorld()
  await note(world, 'a')
  const { open, opened } = gate()
  const { later, strike } = handClock()
  const first = runnerOf(world, () => opened, { later })
  first.start()
  await strike('jobs')
  let taken = 0
  const second = runnerOf(world, async () => {
    taken += 1
  })
  world.clock.advance(20 * SECOND)
  await strike('job leases')
  world.clock.advance(20 * SECOND)
  assert.is(await second.runDue(), 0, 'renewed 20 s ago')
  world.clock.advance(20 * SECOND)
  assert.is(await second.runDue(), 1, 'renewed 40 s ago')
  open()
  await first.close()
  assert.equal([taken, first.counters.lost, second.counters.done], [1, 1, 1])
  await world.store.close()
})

test('a node that is started anew has the jobs of its process before at once, and those of other nodes stay theirs', async () => {
  const { target, remove } = await makeDatabase()
  const world = await makeWorld(await openStore(target))
  const other = await openStore(target, 'other')
  const { open, opened } = gate()
  const ran: string[] = []
  const hangs = async ({ text }: Note): Promise<void> => {
    ran.push(text)
    await opened
  }
  await note(world, 'ours')
  const dead = runnerOf(world, hangs)
  const first = dead.runDue()
  await until(() => ran.length === 1)
  await releaseInterruptedJobs(other)
  const next = runnerOf(world, async ({ text }, { attempt }) => void ran.push(`${text} ${attempt}`))
  assert.is(await next.runDue(), 0)
  await releaseInterruptedJobs(world.store)
  assert.is(await next.runDue(), 1)
  assert.equal(ran, ['ours', 'ours 2'])
  open()
  await first
  await other.close()
  await world.store.close()
  await remove()
})

test('an effect in the transaction that finishes the job happens once, also when the lease was lost meanwhile', async () => {
  const world = await makeWorld()
  await note(world, 'a')
  const { open, opened } = gate()
  const effect = (name: string): Run => {
    return async (_, { finish }) => {
      if (name === 'slow') await opened
      await world.store.transaction(async trx => {
        await trx.insertInto('settings').values({ name, value: 'done' }).execute()
        await finish(trx)
      })
    }
  }
  const slow = runnerOf(world, effect('slow'))
  const ends = slow.runDue()
  while ((await rowsOf(world))[0]?.lease == null) await new Promise(resolve => setImmediate(resolve))
  world.clock.advance(MINUTE)
  await runnerOf(world, effect('quick')).runDue()
  open()
  await ends
  const effects = await world.store.db.selectFrom('settings').select('name').where('value', '=', 'done').execute()
  assert.equal(effects, [{ name: 'quick' }])
  assert.is(slow.counters.lost, 1)
  await world.store.close()
})

test('a worker that stops tells its jobs, and they are due again at once', async () => {
  const world = await makeWorld()
  await note(world, 'a')
  const run: Run = (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('told'))))
  const { later, strike } = handClock()
  const runner = runnerOf(world, run, { later })
  runner.start()
  await strike('jobs')
  await runner.close()
  const [row] = await rowsOf(world)
  assert.equal([row?.attempts, row?.lease, row?.due_at], [0, null, world.clock.now().toISOString()])
  await world.store.close()
})

test.run()
