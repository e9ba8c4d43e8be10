import * as assert from 'uvu/assert'
import { WorkerJobs } from '../../../media/kernel/worker-jobs.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/worker-jobs')

/** A thread that doubles numbers, and crashes at 13. */
const DOUBLER = `
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', ({ id, job }) => {
    if (job === 13) throw new Error('unlucky')
    parentPort.postMessage({ id, answer: { doubled: 2 * job } })
  })`
const entry = { url: new URL(`data:text/javascript,${encodeURIComponent(DOUBLER)}`), execArgv: [] }

type Answer = { doubled: number }

test('jobs are answered, each by its own answer', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  const answers = await Promise.all([1, 2, 3].map(n => jobs.run(n)))
  assert.equal(answers, [{ doubled: 2 }, { doubled: 4 }, { doubled: 6 }])
  await jobs.close()
})

test('a job that the thread dies of fails alone: what waits is done by another thread', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  assert.equal(await Promise.all([jobs.run(1), jobs.run(13), jobs.run(2)]), [
    { doubled: 2 },
    { error: 'unlucky' },
    { doubled: 4 },
  ])
  assert.is(jobs.lost, 1)
  assert.equal(await jobs.run(4), { doubled: 8 })
  await jobs.close()
})

test('a job that finds the queue full is refused at once, and counted', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry, { maxWaiting: 2 })
  const answers = [1, 2, 3].map(n => jobs.run(n))
  assert.is(jobs.waiting, 2)
  assert.equal(await Promise.all(answers), [{ doubled: 2 }, { doubled: 4 }, { error: 'too many jobs wait' }])
  assert.is(jobs.lost, 1)
  await jobs.close()
})

test('one who has 200 jobs waiting holds nobody up: the job of another one is next', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  const order: string[] = []
  const run = (who: string, n: number) => jobs.run(n, [], who).then(() => order.push(who))
  const all = Array.from({ length: 200 }, (_, n) => run('many', n + 100))
  all.push(run('one', 1), run('other', 2))
  await Promise.all(all)
  assert.is(order.length, 202)
  assert.equal(order.slice(0, 5), ['many', 'one', 'other', 'many', 'many'])
  await jobs.close()
})

test('where the queue is full of one, the job of another takes the place of its last', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry, { maxWaiting: 4 })
  const many = [1, 2, 3, 4].map(n => jobs.run(n, [], 'many'))
  const one = jobs.run(5, [], 'one')
  assert.is(jobs.waiting, 4)
  assert.equal(await one, { doubled: 10 })
  assert.equal(await Promise.all(many), [
    { doubled: 2 },
    { doubled: 4 },
    { doubled: 6 },
    { error: 'too many jobs wait' },
  ])
  assert.is(jobs.lost, 1)
  await jobs.close()
})

test('a thread that hangs over a job is ended, and the next job starts another', async () => {
  const hanging = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ id, job }) => {
      while (job === 13) {}
      parentPort.postMessage({ id, answer: { doubled: 2 * job } })
    })`
  const url = new URL(`data:text/javascript,${encodeURIComponent(hanging)}`)
  // Long enough for a thread to start on a busy machine.
  let maxMs = 30_000
  const jobs = new WorkerJobs<number, Answer>({ url, execArgv: [] }, { maxJobMs: () => maxMs })
  assert.equal(await jobs.run(1), { doubled: 2 })
  maxMs = 500
  const hung = jobs.run(13)
  maxMs = 30_000
  assert.equal(await hung, { error: 'the thread ended' })
  assert.equal(await jobs.run(4), { doubled: 8 })
  await jobs.close()
})

test('a module that is not there is an error value', async () => {
  const jobs = new WorkerJobs<number, Answer>({ url: new URL('file:///nowhere/worker.js'), execArgv: [] })
  assert.ok('error' in (await jobs.run(1)))
  await jobs.close()
})

test('after close no job is run, and what waited is answered', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  const waiting = jobs.run(1)
  await jobs.close()
  await jobs.close()
  assert.ok('error' in (await waiting))
  assert.equal(await jobs.run(1), { error: 'closed' })
})

test('ten thousand jobs may wait; a further one is refused and counted', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  const waiting = Array.from({ length: 10_000 }, (_, n) => jobs.run(n + 100))
  assert.equal(await jobs.run(0), { error: 'too many jobs wait' })
  assert.is(jobs.lost, 1)
  assert.equal((await Promise.all(waiting)).at(-1), { doubled: 2 * 10_099 })
  await jobs.close()
})

test.run()
